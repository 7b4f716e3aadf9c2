"""An index that followed changes equals one made anew from the same files."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taskx._native.cancel import CancelFlag
from taskx.errors import RequestCancelled
from taskx.workspace.files.columns import languages_of
from taskx.workspace.files.scan import Scanner
from taskx.workspace.index.builder import Counter
from taskx.workspace.index.index import Index
from taskx.workspace.index.journal import Journal, collect
from taskx.workspace.index.rows import BUDGET
from taskx.workspace.index.snapshot import Snapshot
from taskx.workspace.index.store import Store
from taskx.workspace.index.symbols import analyzer
from taskx.workspace.index.tables import COLUMNS

NAMES = ["a.py", "b.ts", "lib/c.go", "lib/d.rs", "lib/deep/e.c", "lib/deep/f.h", "g.md"]
TEXTS = [
    "def run():\n    return parse_header(1)\n",
    "export function run(a: number) { return other(a) }\n",
    "package x\nfunc Run() { other() }\n",
    "pub fn run() -> u8 { other() }\n",
    '#include "f.h"\nint run(void) { return other(1); }\n',
    "",
    "plain words about parse_header and run\n",
]


def index_of(root: Path, base: Path | None = None, threads: int = 2) -> Index:
    where = os.fsencode(os.path.realpath(root))
    store = Store(base, where) if base is not None else None
    return Index(where, Scanner(where), languages_of, analyzer, store, threads)


def opened(root: Path, base: Path | None = None, threads: int = 2) -> Index:
    index = index_of(root, base, threads)
    index.open(CancelFlag(), Counter())
    index.close()
    return index


def view(snapshot: Snapshot) -> dict[str, object]:
    """What readers can see, by path."""
    said: dict[str, object] = {}
    for fid in snapshot.file_ids():
        segment, at = snapshot.locate(fid)
        said[snapshot.path(fid)] = (
            [s[:2] + s[3:7] for s in snapshot.symbols_of(fid)],
            [i[1:] for i in snapshot.imports_of(fid)],
            segment.content_hash[at],
            segment.language[at],
            segment.n_terms[at],
        )
    for term in ("run", "header", "other", "parseheader"):
        said[f"?{term}"] = sorted(snapshot.path(f) for f, _ in snapshot.search([(term, 1.0)], 99))
    return said


edit = st.tuples(st.sampled_from(NAMES), st.sampled_from([*TEXTS, None]))


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(edit, max_size=6),
    st.lists(st.tuples(st.lists(edit, min_size=1, max_size=4), st.sampled_from("cfrs"))),
)
def test_following_equals_making_anew(
    tmp_path: Path, first: list[tuple[str, str | None]],
    rounds: list[tuple[list[tuple[str, str | None]], str]],
) -> None:  # fmt: skip
    root, base = tmp_path / "tree", tmp_path / "cache"
    for folder in (root, base):
        shutil.rmtree(folder, ignore_errors=True)
    root.mkdir()

    def apply(edits: list[tuple[str, str | None]]) -> None:
        for name, text in edits:
            path = root / name
            if text is None:
                path.unlink(missing_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)

    apply(first)
    index = opened(root, base)
    for edits, how in rounds:
        apply(edits)
        if how == "c":
            index.change([name.encode() for name, _ in edits], CancelFlag(), Counter())
        elif how == "f":
            index.change([b"lib", *(n.encode() for n, _ in edits)], CancelFlag(), Counter())
        elif how == "r":
            index.refresh(CancelFlag(), Counter())
        else:
            index.save()
            index.close()
            index = opened(root, base)
        assert view(index.snapshot) == view(opened(root).snapshot)
    index.close()


def make_tree(root: Path, n: int, lines: int = 40) -> None:
    for number in range(n):
        folder = root / f"pack{number % 17:02d}"
        folder.mkdir(parents=True, exist_ok=True)
        body = "".join(f"def f_{number}_{k}(a, b):\n    return g(a + {k})\n" for k in range(lines))
        (folder / f"m{number}.py").write_text(body)


def test_threads_do_not_show(tmp_path: Path) -> None:
    make_tree(tmp_path, 700)
    one, four = (opened(tmp_path, threads=n).snapshot.segments[0] for n in (1, 4))
    different = [
        name for name, _ in COLUMNS if getattr(one, name).tobytes() != getattr(four, name).tobytes()
    ]
    assert different == []


def test_a_file_changed_in_the_tick_of_the_scan_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("def one(): pass\n")
    index = opened(tmp_path)
    old = path.stat()
    (tick,) = index._scanned_ns
    for mtime, found in ((tick - 1000, True), (tick - 60 * 10**9 - 1, False)):
        path.write_text("def one(): pass\n")
        os.utime(path, ns=(mtime, mtime))
        index.change([b"a.py"], CancelFlag(), Counter())
        index._scanned_ns = [tick] * len(index._scanned_ns)
        path.write_text("def two(): pass\n")
        os.utime(path, ns=(mtime, mtime))
        assert path.stat().st_size == old.st_size
        outcome = index.refresh(CancelFlag(), Counter())
        assert (outcome.parsed == 1) == found
    # Told of it, the index always reads.
    assert index.change([b"a.py"], CancelFlag(), Counter()).parsed == 1
    fid = index.snapshot.file_id("a.py")
    assert fid is not None
    assert [s.name for s in index.snapshot.symbols_of(fid)] == ["two"]


def test_a_refresh_without_changes_keeps_the_snapshot(tmp_path: Path) -> None:
    make_tree(tmp_path, 20)
    index = opened(tmp_path)
    before = index.snapshot
    assert not index.refresh(CancelFlag(), Counter()).changed
    assert index.snapshot is before


def test_a_cancelled_open_ends_soon_and_leaves_nothing(tmp_path: Path) -> None:
    make_tree(tmp_path, 3000)
    index = index_of(tmp_path)
    flag, counter = CancelFlag(), Counter()
    ended: list[float] = []

    def work() -> None:
        with pytest.raises(RequestCancelled):
            index.open(flag, counter)
        ended.append(time.monotonic())

    thread = threading.Thread(target=work)
    thread.start()
    while counter.parsed == 0 and thread.is_alive():
        time.sleep(0.001)
    start = time.monotonic()
    flag.set()
    thread.join()
    # 200 ms is the bar; a busy machine gets more.
    assert ended
    assert ended[0] - start < 1
    assert index.snapshot.n_files == 0


def test_an_index_of_another_version_is_built_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its symbols are what other rules made of the files."""
    root, base = tmp_path / "tree", tmp_path / "cache"
    make_tree(root, 5)
    for version, from_cache in (("1", False), ("1", True), ("2", False), ("2", True)):
        monkeypatch.setattr("taskx.workspace.index.store.__version__", version)
        index = index_of(root, base)
        outcome = index.open(CancelFlag(), Counter())
        assert outcome.from_cache is from_cache
        assert index.save()
        index.close()


def die_over(index: Index, path: bytes) -> None:
    """Leaves a journal as the death of a process leaves it: unlocked, not removed."""
    journal = Journal(index.store.folder if index.store else None, 1)
    slot = journal.slot(0)
    journal.begin(0, path)
    slot[0] = 0
    del slot
    journal._map.close()
    os.close(journal._descriptor)


def test_a_file_at_hand_when_a_process_was_killed_once_is_parsed_again(tmp_path: Path) -> None:
    root, base = tmp_path / "tree", tmp_path / "cache"
    make_tree(root, 5)
    whole = view(opened(root).snapshot)
    for _ in range(3):  # also again and again
        index = index_of(root, base)
        die_over(index, b"pack01/m1.py")
        index.open(CancelFlag(), Counter())
        index.close()
        assert index._strikes == {}
        assert view(index.snapshot) == whole
        assert index.store is not None
        assert json.loads((index.store.folder / "suspects.json").read_bytes()) == {}
        (index.store.folder / "current.json").unlink(missing_ok=True)


def test_a_file_that_kills_again_is_spared(tmp_path: Path) -> None:
    root, base = tmp_path / "tree", tmp_path / "cache"
    make_tree(root, 5)
    index = index_of(root, base)
    die_over(index, b"pack01/m1.py")
    assert index.store is not None
    assert collect(index.store.folder, index.root) == {b"pack01/m1.py": 1}
    for strikes, n_files, symbols in ((2, 5, 0), (3, 4, None)):
        die_over(index, b"pack01/m1.py")
        index = index_of(root, base)
        index.open(CancelFlag(), Counter())
        index.close()
        assert index._strikes == {b"pack01/m1.py": strikes}
        snapshot = index.snapshot
        assert snapshot.n_files == n_files
        fid = snapshot.file_id("pack01/m1.py")
        if symbols is None:
            assert fid is None
        else:
            assert fid is not None
            segment, at = snapshot.locate(fid)
            assert segment.status[at] == BUDGET
            assert snapshot.symbols_of(fid) == []
            assert fid in [f for f, _ in snapshot.search([("f10", 1.0)], 9)]


def test_many_small_changes_make_few_overlays(tmp_path: Path) -> None:
    make_tree(tmp_path, 200, lines=2)
    index = opened(tmp_path)
    for number in range(120):
        path = tmp_path / f"pack{number % 17:02d}" / f"m{number}.py"
        path.write_text(f"def changed_{number}(): pass\n")
        index.change([os.fsencode(path)], CancelFlag(), Counter())
    assert len(index.snapshot.segments) <= 5
    assert view(index.snapshot) == view(opened(tmp_path).snapshot)
    index.close()
