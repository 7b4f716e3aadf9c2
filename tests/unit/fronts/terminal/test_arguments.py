"""What the protocol refuses, the commands refuse too: one line on stderr, exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TASKX = str(Path(sys.executable).with_name("taskx"))

REFUSED = [
    (["retrieve", ""], "query"),
    (["retrieve", "x", "--budget", "0"], "budgetTokens"),
    (["retrieve", "x", "--budget", "999999999"], "budgetTokens"),
    (["retrieve", "x", "--limit", "0"], "--limit"),
    (["symbols", ""], "query"),
    (["symbols", "x", "--limit", "0"], "limit"),
    (["graph", ".", "--depth", "9"], "depth"),
    (["graph", ".", "--max-nodes", "601"], "maxNodes"),
    (["graph", "no/such/folder"], "no/such/folder"),
]


@pytest.mark.parametrize(("arguments", "named"), REFUSED)
def test_W06_W07_a_value_out_of_range_is_named(
    tmp_path: Path, arguments: list[str], named: str
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    done = subprocess.run(
        [TASKX, *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "TASK_X_CACHE": "off"},
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert named in done.stderr
    assert len(done.stderr.splitlines()) == 1
