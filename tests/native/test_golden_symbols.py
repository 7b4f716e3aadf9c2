"""Symbols and imports of a sample of each of the twenty languages, every form of definition.

`pytest --update-golden` writes tests/golden/symbols/*.json anew; read the difference before
committing it. A known wrong line is kept as it comes, with a note in `NOTES`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from taskx.workspace.files.languages import LANGUAGES, detect
from taskx.workspace.index.symbols import KIND_NAMES, analyzer

FOLDER = Path(__file__).parent.parent / "golden" / "symbols"
SAMPLES = sorted(path for path in FOLDER.iterdir() if path.suffix != ".json")


def read(path: Path) -> dict[str, list[str]]:
    """Symbols as `line-range kind container.name flags`, imports as `line kind …`."""
    batch = analyzer().analyze_text(path.read_bytes(), detect(path.name))
    blob = bytes(batch.blob)
    names = [
        blob[batch.sym_name_off[i] :][: batch.sym_name_len[i]].decode()
        for i in range(batch.n_symbols)
    ]

    def text(column: str, i: int) -> str:
        start = getattr(batch, f"imp_{column}_off")[i]
        return blob[start : start + getattr(batch, f"imp_{column}_len")[i]].decode()

    symbols = []
    for i, name in enumerate(names):
        parent = batch.sym_parent[i]
        where = f"{batch.sym_start[i]}-{batch.sym_end[i]}@{batch.sym_line[i]}"
        holder = f"{names[parent]} > " if parent >= 0 else ""
        flags = batch.sym_flags[i]
        symbols.append(f"{where} {KIND_NAMES[batch.sym_kind[i]]} {holder}{name} [{flags}]")
    imports = [
        f"{batch.imp_line[i]} kind {batch.imp_kind[i]} level {batch.imp_level[i]} "
        f"flags {batch.imp_flags[i]} module={text('module', i)} name={text('name', i)} "
        f"alias={text('alias', i)} attr={text('attr', i)}"
        for i in range(batch.n_imports)
    ]
    return {"symbols": symbols, "imports": imports}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_golden_symbols_and_imports(sample: Path, request: pytest.FixtureRequest) -> None:
    golden = sample.with_suffix(sample.suffix + ".json")
    found = read(sample)
    if request.config.getoption("--update-golden", default=False):
        golden.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    assert found == json.loads(golden.read_text())


def test_every_language_with_rules_has_a_sample() -> None:
    assert {detect(path.name) for path in SAMPLES} == {row.id for row in LANGUAGES[1:21]}
