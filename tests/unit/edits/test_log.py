"""The edit log on real files: what undo, revert and keep give back, and what they leave alone."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from taskx.edits import files
from taskx.edits.files import ABSENT, State, digest_of
from taskx.edits.ledger import Ledger
from taskx.edits.log import OPERATIONS_KEPT, EditLog
from taskx.edits.operation import Edit
from taskx.edits.paths import resolve
from taskx.edits.store import DiskStore
from taskx.errors import ToolError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    return folder


def edit(log: EditLog, path: str, new: bytes | None, mode: int | None = None) -> Edit:
    before, old = files.look(log.root, path)
    if new is None:
        return Edit(path, before, ABSENT, old)
    given = mode if mode is not None else before.mode or 0o644
    return Edit(path, before, State("file", digest_of(new), given), old, new)


def write(log: EditLog, path: str, new: bytes | None, mode: int | None = None) -> int:
    return log.apply([edit(log, path, new, mode)], tool="write_file").id


def tree(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


LINES = [f"{i}\n".encode() for i in range(1, 100)]


def text(**lines: bytes) -> bytes:
    return b"".join(lines.get(f"n{i}", line) for i, line in enumerate(LINES, 1))


def e8_far(log: EditLog, path: Path) -> int:
    path.write_bytes(text())
    first = write(log, "f", text(n1=b"one\n"))
    write(log, "f", text(n1=b"one\n", n90=b"ninety\n"))
    return first


def e8_same_line(log: EditLog, path: Path) -> int:
    path.write_bytes(text())
    first = write(log, "f", text(n1=b"one\n"))
    write(log, "f", text(n1=b"ONE\n"))
    return first


def e8_created_then_edited(log: EditLog, path: Path) -> int:
    first = write(log, "f", b"agent\n")
    path.write_bytes(b"user\n")
    return first


def e8_deleted_then_recreated(log: EditLog, path: Path) -> int:
    path.write_bytes(b"old\n")
    first = write(log, "f", None)
    path.write_bytes(b"user\n")
    return first


def e8_user_edits_elsewhere(log: EditLog, path: Path) -> int:
    path.write_bytes(text())
    first = write(log, "f", text(n1=b"one\n"))
    path.write_bytes(text(n1=b"one\n", n90=b"user\n"))
    return first


def e8_plain(log: EditLog, path: Path) -> int:
    path.write_bytes(b"a\r\nb\xe9")
    return write(log, "f", b"x\r\nb\xe9")


def e8_created(log: EditLog, path: Path) -> int:
    return write(log, "f", b"x")


def e8_deleted(log: EditLog, path: Path) -> int:
    path.write_bytes(b"x")
    return write(log, "f", None)


@pytest.mark.parametrize(
    ("story", "restored", "content"),
    [
        (e8_far, True, text(n90=b"ninety\n")),
        (e8_same_line, False, text(n1=b"ONE\n")),
        (e8_created_then_edited, False, b"user\n"),
        (e8_deleted_then_recreated, False, b"user\n"),
        (e8_user_edits_elsewhere, False, text(n1=b"one\n", n90=b"user\n")),
        (e8_plain, True, b"a\r\nb\xe9"),
        (e8_created, True, None),
        (e8_deleted, True, b"x"),
    ],
)
@pytest.mark.parametrize("reload", [False, True])
def test_E8_undo(
    story: Any, restored: bool, content: bytes | None, reload: bool, root: Path, tmp_path: Path
) -> None:
    log = EditLog(root, DiskStore(tmp_path / "data", root))
    number = story(log, root / "f")
    if reload:
        log = EditLog(root, DiskStore(tmp_path / "data", root))
    assert log.undo(number) == ((["f"], []) if restored else ([], ["f"]))
    assert tree(root) == ({} if content is None else {"f": content})
    if restored:
        with pytest.raises(ToolError, match="undone already"):
            log.undo(number)


def test_undo_of_both_in_either_order(root: Path) -> None:
    for order in ([0, 1], [1, 0]):
        log = EditLog(root)
        (root / "f").write_bytes(text())
        numbers = [
            write(log, "f", text(n1=b"one\n")),
            write(log, "f", text(n1=b"one\n", n90=b"ninety\n")),
        ]
        for index in order:
            assert log.undo(numbers[index]) == (["f"], [])
        assert (root / "f").read_bytes() == text()
        assert log.pending() == []


def test_A10_revert_keep_and_pending(root: Path) -> None:
    log = EditLog(root)
    (root / "a").write_bytes(b"1\n2\n")
    (root / "b").write_bytes(b"b\n")
    (root / "gone").write_bytes(b"g\n")
    numbers = [
        write(log, "a", b"1\nx\n"),
        write(log, "a", b"1\ny\nz\n"),
        write(log, "b", b"bb\n"),
        write(log, "new/deep/c", b"c\n"),
        write(log, "gone", None),
    ]
    seen = [
        (p.path, p.original, p.current, p.added, p.removed, p.operations) for p in log.pending()
    ]
    assert seen == [
        ("a", b"1\n2\n", b"1\ny\nz\n", 2, 1, numbers[:2]),
        ("b", b"b\n", b"bb\n", 1, 1, [numbers[2]]),
        ("gone", b"g\n", None, 0, 1, [numbers[4]]),
        ("new/deep/c", None, b"c\n", 1, 0, [numbers[3]]),
    ]
    assert log.keep(["b"]) == ["b"]
    assert log.keep(["b"]) == []
    (root / "gone").write_bytes(b"user\n")
    assert log.revert() == (["a", "new/deep/c"], ["gone"])
    assert tree(root) == {"a": b"1\n2\n", "b": b"bb\n", "gone": b"user\n"}
    assert not (root / "new").exists()
    assert [operation.status for operation in log.operations()] == [
        "reverted", "reverted", "kept", "reverted", "pending",
    ]  # fmt: skip
    assert log.undo(numbers[2]) == (["b"], [])
    assert (root / "b").read_bytes() == b"b\n"


def test_A10_changed_after_the_edit_is_never_reverted(root: Path) -> None:
    log = EditLog(root)
    (root / "f").write_bytes(b"1\n2\n3\n")
    write(log, "f", b"1\n2\nagent\n")
    (root / "f").write_bytes(b"user\n2\nagent\n")
    assert log.revert(["f"]) == ([], ["f"])
    write(log, "f", b"user\n2\nagent again\n")
    assert log.revert(["f"]) == ([], ["f"])
    assert (root / "f").read_bytes() == b"user\n2\nagent again\n"


def test_several_files_are_one_operation_or_none(root: Path) -> None:
    log = EditLog(root)
    (root / "a").write_bytes(b"a")
    edits = [edit(log, "a", b"A"), edit(log, "d/b", b"B"), edit(log, "c", b"C")]
    (root / "c").write_bytes(b"user")
    with pytest.raises(ToolError) as caught:
        log.apply(edits, tool="apply_patch")
    assert caught.value.kind == "stale"
    assert tree(root) == {"a": b"a", "c": b"user"}
    assert log.operations() == []
    number = log.apply(edits[:2], tool="apply_patch").id
    assert log.undo(number) == (["a", "d/b"], [])
    assert tree(root) == {"a": b"a", "c": b"user"}
    assert not (root / "d").exists()


def test_move_is_taken_back_whole(root: Path) -> None:
    log = EditLog(root)
    (root / "a").write_bytes(b"x")
    os.chmod(root / "a", 0o750)
    state, data = files.look(root, "a")
    edits = [Edit("a", state, ABSENT, data), Edit("d/b", ABSENT, state, b"", data)]
    log.apply(edits, tool="move_path", renames=[("a", "d/b")])
    assert tree(root) == {"d/b": b"x"}
    assert log.revert(["d/b"]) == (["a", "d/b"], [])
    assert tree(root) == {"a": b"x"}
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o750


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o644, 0o444])
def test_E5_mode_and_attributes_stay(mode: int, root: Path) -> None:
    log = EditLog(root)
    path = root / "f"
    path.write_bytes(b"a")
    os.setxattr(path, "user.note", b"kept")
    os.chmod(path, mode)
    os.chown(path, 12345, 54321)
    os.chmod(path, mode)
    number = write(log, "f", b"b")
    for content in (b"b", b"a"):
        status = path.stat()
        assert (status.st_uid, status.st_gid) == (12345, 54321)
        assert stat.S_IMODE(status.st_mode) == mode
        assert os.getxattr(path, "user.note") == b"kept"
        assert path.read_bytes() == content
        if content == b"b":
            log.undo(number)


def test_mode_changes_are_undone(root: Path) -> None:
    log = EditLog(root)
    (root / "f").write_bytes(b"a")
    os.chmod(root / "f", 0o644)
    number = write(log, "f", b"a", 0o755)
    assert stat.S_IMODE((root / "f").stat().st_mode) == 0o755
    assert "new mode 755" in log.diff(log.operations()[0], log.operations()[0].changes[0])
    assert log.undo(number) == (["f"], [])
    assert stat.S_IMODE((root / "f").stat().st_mode) == 0o644


def test_E5_links(root: Path, tmp_path: Path) -> None:
    log = EditLog(root)
    (root / "dir").mkdir()
    (root / "dir/real").write_bytes(b"a")
    os.symlink("dir/real", root / "one")
    os.symlink("one", root / "two")
    os.symlink("loop2", root / "loop1")
    os.symlink("loop1", root / "loop2")
    os.symlink("dir/none", root / "dangling")
    os.symlink(tmp_path, root / "out")
    os.symlink(tmp_path / "nowhere", root / "out2")
    os.link(root / "dir/real", root / "hard")
    for name in ("one", "two", "dir/real", "dir/../two", str(root / "one")):
        assert resolve(root, name).rel == "dir/real"
    assert resolve(root, "dangling").rel == "dir/none"
    assert resolve(root, "one", follow=False).rel == "one"
    for name, kind in (
        ("loop1", "invalidInput"),
        ("out/x", "outsideWorkspace"),
        ("out2", "outsideWorkspace"),
        ("../x", "outsideWorkspace"),
        ("/etc/passwd", "outsideWorkspace"),
        ("dir/../../ws2/x", "outsideWorkspace"),
        ("", "invalidInput"),
        ("a\0b", "invalidInput"),
        ("x" * 300, "invalidInput"),
        ("\ud83d", "invalidInput"),
    ):
        with pytest.raises(ToolError) as caught:
            resolve(root, name)
        assert caught.value.kind == kind, name
    number = write(log, resolve(root, "two").rel, b"b")
    inode = (root / "hard").stat().st_ino
    for content in (b"b", b"a"):
        assert (root / "hard").read_bytes() == content
        assert (root / "hard").stat().st_ino == (root / "dir/real").stat().st_ino == inode
        assert os.readlink(root / "two") == "one"
        if content == b"b":
            log.undo(number)


def test_link_is_deleted_as_a_link(root: Path) -> None:
    log = EditLog(root)
    (root / "real").write_bytes(b"a")
    os.symlink("real", root / "link")
    number = write(log, "link", None)
    assert not os.path.lexists(root / "link")
    assert (root / "real").read_bytes() == b"a"
    assert log.undo(number) == (["link"], [])
    assert os.readlink(root / "link") == "real"


def test_E6_stale(root: Path) -> None:
    log, ledger = EditLog(root), Ledger()
    path = root / "f"
    path.write_bytes(b"one")
    status = path.stat()
    state, _ = files.look(root, "f")
    with pytest.raises(ToolError, match="read it first"):
        ledger.check("f", state, must_know=True)
    ledger.check("f", state, must_know=False)
    ledger.saw("f", state)
    ledger.check("f", state, must_know=True)
    planned = edit(log, "f", b"new")
    path.write_bytes(b"two")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(ToolError, match="has changed since"):
        ledger.check("f", files.look(root, "f")[0], must_know=False)
    with pytest.raises(ToolError) as caught:
        log.apply([planned], tool="write_file")
    assert caught.value.kind == "stale"
    assert tree(root) == {"f": b"two"}


def test_E6_writer_between_the_check_and_the_rename_loses_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = EditLog(root)
    (root / "f").write_bytes(b"one")
    planned = edit(log, "f", b"agent")
    exchange = files._exchange

    def late(fd: int, a: str, b: str) -> bool:
        if (root / "f").read_bytes() == b"one":
            (root / "f").write_bytes(b"user")
        return exchange(fd, a, b)

    monkeypatch.setattr(files, "_exchange", late)
    with pytest.raises(ToolError) as caught:
        log.apply([planned], tool="write_file")
    assert caught.value.kind == "stale"
    assert tree(root) == {"f": b"user"}


def test_E6_threads_never_lose_an_update(root: Path) -> None:
    log = EditLog(root)
    (root / "f").write_bytes(b"")

    kinds = set()

    def add(name: bytes) -> None:
        done = 0
        while done < 10:
            before, old = files.look(root, "f")
            new = old + name
            after = State("file", digest_of(new), before.mode)
            try:
                log.apply([Edit("f", before, after, old, new)], tool="write_file")
                done += 1
            except ToolError as error:
                kinds.add(error.kind)

    threads = [threading.Thread(target=add, args=(name,)) for name in (b"a", b"b", b"c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    data = (root / "f").read_bytes()
    assert kinds <= {"stale"}
    assert sorted(data) == sorted(b"a" * 10 + b"b" * 10 + b"c" * 10)
    assert len(log.operations()) == 30
    assert set(os.listdir(root)) == {"f"}


def test_A10_more_than_500_operations(root: Path, tmp_path: Path) -> None:
    store = DiskStore(tmp_path / "data", root)
    log = EditLog(root, store)
    first = write(log, "held", b"unsettled")
    numbers = [write(log, "f", b"%d\n" % i) for i in range(OPERATIONS_KEPT + 20)]
    assert log.undo(numbers[-1]) == (["f"], [])
    assert log.keep(["f"]) == ["f"]
    for again in (log, EditLog(root, DiskStore(tmp_path / "data", root))):
        with pytest.raises(ToolError, match="too old to undo"):
            again.undo(numbers[0])
        assert len(again.operations()) == OPERATIONS_KEPT + 21
    kept = sum(len(names) for _, _, names in os.walk(store.folder / "contents"))
    assert kept <= OPERATIONS_KEPT + 3
    assert log.undo(first) == (["held"], [])
    assert log.undo(numbers[-2]) == (["f"], [])


def test_two_runtimes_share_one_log(root: Path, tmp_path: Path) -> None:
    one = EditLog(root, DiskStore(tmp_path / "data", root))
    two = EditLog(root, DiskStore(tmp_path / "data", root))
    a = write(one, "a", b"1")
    b = write(two, "b", b"2")
    c = write(one, "a", b"3")
    assert len({a, b, c}) == 3
    assert [p.path for p in two.pending()] == ["a", "b"]
    assert two.revert() == (["a", "b"], [])
    assert one.pending() == []
    assert tree(root) == {}


def test_E10_names_of_one_file(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a disk that tells names apart there are two files; else the listed name stands for both.

    A patched lstat stands in for the disk that folds names: all spellings reach one inode.
    """
    from taskx.edits import paths

    (root / "Foo.py").write_bytes(b"x")
    assert resolve(root, "foo.py").rel == "foo.py"
    assert resolve(root, "caf\u00e9").rel != resolve(root, "cafe\u0301").rel
    monkeypatch.setattr(paths, "_EXACT", {})
    real = os.lstat
    aliases = {str(root / name): str(root / "Foo.py") for name in ("foo.py", "FOO.PY", "fOO.PY")}
    monkeypatch.setattr(paths.os, "lstat", lambda path: real(aliases.get(str(path), path)))
    assert paths.spelled(root, "foo.py") == "Foo.py"
    assert paths.spelled(root, "Foo.py") == "Foo.py"


def test_symlink_swapped_in_leads_nowhere(root: Path, tmp_path: Path) -> None:
    log = EditLog(root)
    (root / "d").mkdir()
    (tmp_path / "out").mkdir()
    planned = edit(log, "d/f", b"x")
    (root / "d").rmdir()
    os.symlink(tmp_path / "out", root / "d")
    with pytest.raises(ToolError):
        log.apply([planned], tool="write_file")
    assert os.listdir(tmp_path / "out") == []
