"""The probe runtime as a fixture."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.process.client import Runtime

ROOT = Path(__file__).resolve().parents[2]


class StartProbe(Protocol):
    def __call__(self, *arguments: str, **options: Any) -> Runtime: ...


@pytest.fixture
def probe() -> Iterator[StartProbe]:
    """Starts the real runtime with the methods of `tests/process/probe.py`, initialized."""
    with ExitStack() as stack:

        def start(*arguments: str, initialize: bool = True, **options: Any) -> Runtime:
            command = (sys.executable, "-m", "tests.process.probe")
            runtime = Runtime(*arguments, command=command, cwd=ROOT, **options)
            stack.enter_context(runtime)
            if initialize:
                runtime.initialize()
            return runtime

        yield start
