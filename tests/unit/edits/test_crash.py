"""Kills at any moment, journals cut at any byte, full disks: the last good state is there."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from taskx.edits import files, recovery
from taskx.edits.files import ABSENT, State, digest_of
from taskx.edits.log import EditLog
from taskx.edits.operation import Edit
from taskx.edits.store import DiskStore
from taskx.errors import ToolError


def write_for_ever(root: Path, data: Path, seed: int) -> None:
    rng = random.Random(seed)
    log = EditLog(root, DiskStore(data, root))
    while True:
        edits = []
        for path in rng.sample(["a", "b", "d/c", "hard"], rng.randint(1, 3)):
            before, old = files.look(root, path)
            if before.kind == "file" and path != "hard" and rng.random() < 0.2:
                edits.append(Edit(path, before, ABSENT, old))
            else:
                new = (f"{path} {rng.random()}\n" * rng.choice([1, 9, 3000])).encode()
                after = State("file", digest_of(new), before.mode or 0o644)
                edits.append(Edit(path, before, after, old, new))
        operation = log.apply(edits, tool="write_file")
        if rng.random() < 0.2:
            log.undo(operation.id)
        elif rng.random() < 0.2:
            log.keep(["a"])


def whole(data: bytes, path: str) -> bool:
    """Whether a file holds one content that was written, not parts of two."""
    lines = data.split(b"\n")
    name = path.encode()
    return data == b"start\n" or (
        lines[-1] == b"" and len(set(lines[:-1])) == 1 and data.startswith((name, b"hard"))
    )


def test_E11_200_random_kills(tmp_path: Path) -> None:
    root, data = tmp_path / "ws", tmp_path / "data"
    root.mkdir()
    (root / "hard").write_bytes(b"start\n")
    os.link(root / "hard", tmp_path / "other")
    (root / "untouched").write_bytes(b"mine\n")
    rng = random.Random(11)
    known = 0
    for trial in range(200):
        pid = os.fork()
        if pid == 0:
            try:
                write_for_ever(root, data, trial)
            finally:
                os._exit(1)
        # The moment is random on purpose: this is what the test is about.
        time.sleep(rng.random() * 0.1)
        os.kill(pid, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
        log = EditLog(root, DiskStore(data, root))
        operations = log.operations()
        assert len(operations) >= known
        known = len(operations)
        left = {p.name for p in root.rglob("*") if p.name.endswith(files.SUFFIX)}
        assert left == set()
        for path in ("a", "b", "d/c", "hard"):
            state, content = files.look(root, path)
            assert state.kind == "absent" or whole(content, path), (trial, path)
            last = log._last.get(path)
            assert last is None or last.same(state), (trial, path)
        assert (root / "untouched").read_bytes() == b"mine\n"
        assert os.path.samefile(root / "hard", tmp_path / "other")
    assert known > 20
    log = EditLog(root, DiskStore(data, root))
    assert not list(data.rglob("log.bad*")) or log.operations()
    reverted, conflicts = log.revert()
    assert conflicts == []
    assert reverted or log.pending() == []


def small_log(root: Path, data: Path) -> tuple[DiskStore, list[int]]:
    store = DiskStore(data, root)
    log = EditLog(root, store)
    numbers = []
    for i in range(4):
        before, old = files.look(root, "f")
        new = b"%d\n" % i
        after = State("file", digest_of(new), 0o644)
        edits = [Edit("f", before, after, old, new)]
        numbers.append(log.apply(edits, tool="write_file").id)
    return store, numbers


def test_E11_journal_cut_at_each_byte(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    store, numbers = small_log(root, tmp_path / "data")
    journal = (store.folder / "log").read_bytes()
    ends = [i + 1 for i, byte in enumerate(journal) if byte == 10]
    for size in range(0, len(journal) + 1, 3):
        (store.folder / "log").write_bytes(journal[:size])
        for bad in store.folder.glob("log.bad*"):
            bad.unlink()
        (root / "f").write_bytes(b"3\n")
        log = EditLog(root, DiskStore(tmp_path / "data", root))
        found = [operation.id for operation in log.operations()]
        assert found == numbers[: len(found)]
        # header, then begin and end of each
        lines = sum(end <= size for end in ends)
        assert len(found) >= max(lines - 1, 0) // 2
        set_aside = b"".join(p.read_bytes() for p in store.folder.glob("log.bad*"))
        good = max([end for end in ends if end <= size], default=0)
        assert set_aside == journal[good:size]
        before, old = files.look(root, "f")
        after = State("file", digest_of(b"new"), 0o644)
        operation = log.apply([Edit("f", before, after, old, b"new")], tool="write_file")
        assert log.undo(operation.id) == (["f"], [])
        assert (root / "f").read_bytes() == old


def test_E11_damaged_middle_keeps_what_came_before(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    store, numbers = small_log(root, tmp_path / "data")
    journal = bytearray((store.folder / "log").read_bytes())
    lines = bytes(journal).split(b"\n")
    journal[sum(len(line) + 1 for line in lines[:5]) + 20] ^= 1
    (store.folder / "log").write_bytes(journal)
    log = EditLog(root, DiskStore(tmp_path / "data", root))
    assert [operation.id for operation in log.operations()] == numbers[:2]
    assert len(list(store.folder.glob("log.bad*"))) == 1


def test_log_of_another_version_is_set_aside(tmp_path: Path) -> None:
    from taskx.edits import store as stores

    root = tmp_path / "ws"
    root.mkdir()
    store, _ = small_log(root, tmp_path / "data")
    header = {"t": "header", "version": 99, "root": str(root)}
    (store.folder / "log").write_bytes(stores.encode(header))
    assert EditLog(root, DiskStore(tmp_path / "data", root)).operations() == []
    assert len(list(store.folder.glob("log.bad*"))) == 1


def test_damaged_content_is_no_undo(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    store, numbers = small_log(root, tmp_path / "data")
    digest = digest_of(b"2\n")
    (store.folder / "contents" / digest[:2] / digest).write_bytes(b"2")
    log = EditLog(root, DiskStore(tmp_path / "data", root))
    assert log.undo(numbers[-1]) == ([], ["f"])
    assert (root / "f").read_bytes() == b"3\n"


def test_E11_full_disk_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "f").write_bytes(b"old\n")
    store = DiskStore(tmp_path / "data", root)
    log = EditLog(root, store)
    before, old = files.look(root, "f")
    edit = Edit("f", before, State("file", digest_of(b"new\n"), 0o644), old, b"new\n")

    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(ToolError, match="edit log could not be written"):
            log.apply([edit], tool="write_file")
    assert (root / "f").read_bytes() == b"old\n"
    assert log.apply([edit], tool="write_file").id == 1


@pytest.mark.parametrize(
    ("data", "result"),
    [
        (b"NEWd text", True),
        (b"NEW", False),
        (b"NEW tex", False),
        (b"old text", True),
        (b"something else", False),
    ],
)
def test_half_written_in_place_is_recognised(data: bytes, result: bool) -> None:
    before, after = (b"old text", b"NEW") if data != b"NEWd text" else (b"oldd text", b"NEW")
    assert recovery.torn(data, before, after) is result


def test_killed_step_is_taken_back_when_a_file_is_foreign(tmp_path: Path) -> None:
    """Two files, the first done, the second changed by someone else: the first goes back."""
    root = tmp_path / "ws"
    root.mkdir()
    (root / "a").write_bytes(b"a")
    (root / "b").write_bytes(b"b")
    store = DiskStore(tmp_path / "data", root)
    log = EditLog(root, store)
    edits = []
    for name in ("a", "b"):
        before, old = files.look(root, name)
        after = State("file", digest_of(b"new"), 0o644)
        edits.append(Edit(name, before, after, old, b"new"))
    log.apply(edits, tool="apply_patch")
    journal = (store.folder / "log").read_bytes().split(b"\n")
    (store.folder / "log").write_bytes(b"\n".join(journal[:2]) + b"\n")
    (root / "b").write_bytes(b"user")
    log = EditLog(root, DiskStore(tmp_path / "data", root))
    assert log.operations() == []
    assert (root / "a").read_bytes() == b"a"
    assert (root / "b").read_bytes() == b"user"
    assert ABSENT.kind == "absent"
