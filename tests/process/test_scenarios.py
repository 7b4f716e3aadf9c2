"""The bench scenarios run, and the ratios that start-up and the wire are held to.

Both sides of a ratio are measured in one run, so that the machine and its load cancel out.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCENARIOS = Path(__file__).resolve().parents[2] / "bench" / "scenarios"


@pytest.mark.parametrize(
    ("scenario", "arguments"),
    [
        # Answering `initialize` takes no longer than a Python program's import of asyncio.
        ("startup.py", ["--rounds", "9", "--most", "1.0"]),
        # 25,000 requests a second, or three times a minimal asyncio and json echo server.
        ("rpc.py", ["--rounds", "3", "--requests", "10000", "--least", "3"]),
    ],
)
def test_P18_start_and_wire_are_fast(scenario: str, arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, str(SCENARIOS / scenario), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
