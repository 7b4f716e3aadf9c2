"""Who may import whom, and who may look at the environment."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from taskx import cli

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "taskx"


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield str(path.relative_to(SOURCE)), ast.parse(path.read_text())


def test_imports_point_down() -> None:
    done = subprocess.run(
        [os.path.join(os.path.dirname(sys.executable), "lint-imports"), "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_only_the_command_line_reads_the_environment() -> None:
    """The bench is a client: it hands its own environment on to the runtime that it measures."""
    readers = {
        name
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in ("environ", "environb", "getenv")
        and ast.unparse(node.value) == "os"
        and not name.startswith("bench/")
    }
    assert readers == {"cli.py"}


def test_native_code_has_wrappers_in_the_workspace_only() -> None:
    users = {
        name
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("taskx._native")
    }
    assert [name for name in sorted(users) if not name.startswith("workspace/")] == []


def test_modules_stay_small() -> None:
    long = [name for name, _ in modules() if len((SOURCE / name).read_text().splitlines()) > 600]
    assert long == []


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_its_parts(name: str) -> None:
    module = importlib.import_module(cli.COMMANDS[name][0])
    assert callable(module.add_arguments)
    assert callable(module.run)
    assert module.EXAMPLE.startswith(f"example: taskx {name}")
