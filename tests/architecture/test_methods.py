"""The method table agrees with the handlers, the page, and the error tree."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from taskx import cli
from taskx.fronts.runtime.dispatch import Context
from taskx.protocol import capabilities
from taskx.protocol.methods import METHODS, Method
from taskx.protocol.schema import error_codes

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "protocol.md").read_text()

HANDLED = [row for row in METHODS.values() if row.handler is not None]


def handler_of(row: Method) -> Any:
    module, _, name = str(row.handler).partition(":")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("row", HANDLED, ids=lambda row: row.name)
def test_a_handler_takes_what_its_row_says(row: Method) -> None:
    handler = handler_of(row)
    parameters = list(inspect.signature(handler).parameters)
    assert len(parameters) == 2
    hints = get_type_hints(handler, localns={"Context": Context})
    assert hints[parameters[0]] is Context
    assert hints[parameters[1]] == (row.params or type(None))
    if row.kind == "notification":
        assert inspect.iscoroutinefunction(handler)
    if row.exclusive is not None:
        assert inspect.iscoroutinefunction(handler)


def test_only_the_session_and_the_client_have_no_handler() -> None:
    without = {row.name for row in METHODS.values() if row.handler is None}
    here = {row.name for row in METHODS.values() if row.direction == "server"}
    assert without & here == {"initialize", "shutdown", "exit", "$/cancelRequest"}


def test_the_page_describes_every_method_and_no_other() -> None:
    headings = "\n".join(re.findall(r"^#+ .*$", PAGE, re.MULTILINE))
    described = set(re.findall(r"`([a-z$]+/[A-Za-z]+|initialize|shutdown|exit)`", headings))
    assert described == set(METHODS)


def test_the_page_lists_every_error_code() -> None:
    listed = {int(code) for code in re.findall(r"^\| `(-\d+)` \|", PAGE, re.MULTILINE)}
    assert listed == set(error_codes().values())


def test_the_page_lists_every_exit_code() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d) \|", PAGE, re.MULTILINE)}
    assert listed == {value for name, value in vars(cli).items() if name.startswith("EXIT_")}


# What must not be imported before `initialize` is answered: each costs more than all of the start.
SLOW = (
    "asyncio", "msgspec", "orjson", "uvloop", "logging", "typing", "dataclasses", "pathlib",
    "subprocess", "httpx", "argparse", "taskx._native",
)  # fmt: skip


def test_start_up_imports_nothing_slow() -> None:
    program = (
        "import sys, taskx.__main__, taskx.fronts.runtime.start\nprint('\\n'.join(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    loaded = done.stdout.split()
    assert "taskx.fronts.runtime.start" in loaded
    assert [name for name in loaded if name in SLOW or name.startswith("taskx._native")] == []


def test_the_languages_of_initialize_are_those_of_the_index() -> None:
    from taskx.workspace.files.languages import LANGUAGES

    assert [language.name for language in LANGUAGES[1:21]] == capabilities.LANGUAGES
