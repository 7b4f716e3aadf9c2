"""Every row of the checklist has a test, and tests name only rows that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.requirements import ROWS

TESTS = Path(__file__).resolve().parents[1]
_ID = re.compile(r"(?<=_)([A-Z]\d{2})(?=_)")


def named_rows() -> Iterator[tuple[str, str]]:
    """(row, test) for each id in the name of each test function."""
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            name = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else ""
            if name.startswith("test_"):
                for row in _ID.findall(name):
                    yield row, f"{path.relative_to(TESTS)}::{name}"


def test_every_row_has_a_test() -> None:
    covered = {row for row, _ in named_rows()}
    assert sorted(set(ROWS) - covered) == []


def test_tests_name_rows_that_exist() -> None:
    families = {row[0] for row in ROWS}
    assert [
        (row, test) for row, test in named_rows() if row[0] in families and row not in ROWS
    ] == []
