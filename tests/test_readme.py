"""The README's commands are the ones that are run."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def commands() -> list[str]:
    return re.findall(r"```sh\n(.*?)\n", (ROOT / "README.md").read_text())


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert commands()[2] in (ROOT / ".ci" / "run").read_text().splitlines()


def test_the_first_command_installs_and_retrieves() -> None:
    first = commands()[0]
    assert first.startswith("python3 -m venv .venv && .venv/bin/pip install . && ")
    assert " taskx" not in first
    assert ".venv/bin/taskx retrieve" in first
