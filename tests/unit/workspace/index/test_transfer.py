"""An index made on one machine and opened on another."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from taskx._native.cancel import CancelFlag
from taskx.workspace.files.scan import scan
from taskx.workspace.index.builder import Counter
from taskx.workspace.index.segment_file import Damaged
from taskx.workspace.index.store import Store
from taskx.workspace.index.transfer import export_index, import_index
from tests.unit.workspace.index.test_index import index_of, make_tree, opened, view


def moved(tmp_path: Path) -> tuple[Path, Path]:
    """An export of a tree, and a copy of the tree with times of its own."""
    here, there = tmp_path / "here", tmp_path / "there"
    make_tree(here, 30)
    index = opened(here)
    (here / "pack03/m3.py").write_text("def late(): pass\n")
    index.change([b"pack03/m3.py"], CancelFlag(), Counter())
    index.close()
    export_index(index.snapshot, tmp_path / "index.taskx")
    shutil.copytree(here, there, copy_function=shutil.copyfile)
    return tmp_path / "index.taskx", there


def test_only_files_that_differ_are_parsed(tmp_path: Path) -> None:
    file, there = moved(tmp_path)
    # One of another size, one of the same size with other content.
    (there / "pack01/m1.py").write_text("def other(): pass\n")
    same_size = there / "pack02/m2.py"
    same_size.write_text(same_size.read_text().replace("return", "yields"))
    root = os.fsencode(os.path.realpath(there))
    store = Store(tmp_path / "cache", root)
    assert import_index(file, root, scan(root), store) == 28
    index = index_of(there, tmp_path / "cache")
    outcome = index.open(CancelFlag(), Counter())
    index.close()
    assert (outcome.parsed, outcome.from_cache) == (2, True)
    assert view(index.snapshot) == view(opened(there).snapshot)


@pytest.mark.parametrize("data", [b"", b"no archive", b"\x1f\x8b" + bytes(100)])
def test_what_is_no_export_is_refused(tmp_path: Path, data: bytes) -> None:
    make_tree(tmp_path / "tree", 1)
    root = os.fsencode(tmp_path / "tree")
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(Damaged):
        import_index(tmp_path / "file", root, scan(root), Store(tmp_path / "cache", root))
    assert not (tmp_path / "cache").exists()


def test_a_cut_export_gives_nothing_wrong(tmp_path: Path) -> None:
    file, there = moved(tmp_path)
    root = os.fsencode(os.path.realpath(there))
    data = file.read_bytes()
    refused = 0
    for size in range(0, len(data), len(data) // 6):
        file.write_bytes(data[:size])
        try:
            # What is cut may be the padding behind the last segment.
            assert import_index(file, root, scan(root), Store(tmp_path / "cache", root)) == 30
        except (Damaged, OSError):
            refused += 1
    assert refused >= 5
