"""The bench of the scan runs."""

from __future__ import annotations

import runpy
from pathlib import Path

from tests.unit.workspace.files.trees import make

BENCH = Path(__file__).parents[2] / "bench" / "native" / "scan.py"


def test_the_bench_of_the_scan_gives_its_figures(tmp_path: Path) -> None:
    make(tmp_path, {"a/b.py": "", "c.py": ""})
    found = runpy.run_path(str(BENCH))["run"](str(tmp_path), 2, 2)
    assert found["files"] == 2
    assert set(found) >= {"find", "scan", "diff", "scan_to_find", "alone"}
