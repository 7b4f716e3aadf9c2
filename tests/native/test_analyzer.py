"""The analyzer's columns on small texts: symbols, imports, identifiers, status of odd files."""

import array
import itertools
from pathlib import Path

import pytest

from taskx._native.cancel import CancelFlag
from taskx._native.symbols import Batch
from taskx.workspace.files.languages import IDS
from taskx.workspace.index.symbols import KIND_NAMES, analyzer, hash_names


def symbols(batch: Batch) -> list[tuple[str, str, int, int, int]]:
    """(kind, name, first line, last line, line of the name) of each symbol."""
    blob = bytes(batch.blob)
    return [
        (
            KIND_NAMES[batch.sym_kind[i]],
            blob[batch.sym_name_off[i] :][: batch.sym_name_len[i]].decode(),
            batch.sym_start[i],
            batch.sym_end[i],
            batch.sym_line[i],
        )
        for i in range(batch.n_symbols)
    ]


def imports(batch: Batch) -> list[tuple[int, int, str, str, str]]:
    """(kind, level, module, name, alias) of each import row."""
    blob = bytes(batch.blob)

    def text(column: str, i: int) -> str:
        start = getattr(batch, f"imp_{column}_off")[i]
        return blob[start : start + getattr(batch, f"imp_{column}_len")[i]].decode()

    return [
        (
            batch.imp_kind[i],
            batch.imp_level[i],
            text("module", i),
            text("name", i),
            text("alias", i),
        )
        for i in range(batch.n_imports)
    ]


def analyze(language: str, text: str) -> Batch:
    return analyzer().analyze_text(text.encode(), IDS[language])


def analyze_files(
    root: Path, paths: list[bytes], ids: list[int], cancel: CancelFlag | None = None
) -> Batch:
    offsets = array.array("I", [0, *itertools.accumulate(len(path) for path in paths)])
    return analyzer().analyze(bytes(root), b"".join(paths), offsets, array.array("h", ids), cancel)


def test_W04_one_text_gives_every_column() -> None:
    batch = analyze(
        "python", "from ..a.b import c as d\n\n@x\nclass A(c):\n    y = 1\n    def f(self): pass\n"
    )
    assert symbols(batch) == [
        ("class", "A", 3, 6, 4),
        ("field", "y", 5, 5, 5),
        ("method", "f", 6, 6, 6),
    ]
    assert imports(batch) == [(2, 2, "a.b", "c", "d")]
    hashes = array.array("Q", hash_names([b"A", b"self", b"f"]))
    known = list(batch.idt_hash)
    assert known == sorted(known)
    assert all(value in known for value in hashes)
    assert list(batch.sym_parent) == [-1, 0, 0]


def test_W01_odd_files_get_a_status_and_no_error(tmp_path: Path) -> None:
    files = {
        b"a.py": b"def f(): pass\n",
        b"binary.c": bytes(range(256)) * 64,
        b"large.c": b"x" * (4 * 1024 * 1024 + 1),
        b"min.js": b"var a=1;" * 4000,
        b"text.txt": b"some words here\n",
        b"latin.c": b"/* \xe9t\xe9 */ int f(void) { return 1; }\n",
        b"wide.py": "def g(): pass\n".encode("utf-16"),
    }
    languages = {b"txt": 0, b"py": IDS["python"], b"c": IDS["c"], b"js": IDS["javascript"]}
    for name, data in files.items():
        (tmp_path / name.decode()).write_bytes(data)
    paths = [*files, b"gone.py"]
    ids = array.array("h", [languages[path.rpartition(b".")[2]] for path in paths])
    batch = analyze_files(tmp_path, paths, list(ids))
    assert list(batch.status) == [0, 2, 3, 4, 1, 0, 0, 6]
    assert list(batch.encoding) == [0, 0, 0, 0, 0, 1, 2, 0]
    assert [name for _, name, *_ in symbols(batch)] == ["f", "f", "g"]


def test_W01_cancel_ends_a_batch_early(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 1\n")
    cancel = CancelFlag()
    cancel.set()
    batch = analyze_files(tmp_path, [b"a.py"] * 3, [1] * 3, cancel)
    assert batch.cancelled
    assert batch.n_files == 0


def test_wrong_language_ids_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="2 paths, but 1 language ids"):
        analyze_files(tmp_path, [b"a", b"b"], [1])
