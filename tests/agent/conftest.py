"""The project that an agent works in, and the runtime that it works for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.play import project
from tests.process.client import Runtime


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = project(tmp_path / "project")
    (folder / "long.txt").write_text("a line of some length\n" * 2500)
    return folder


@pytest.fixture
def runtime(tmp_path: Path, root: Path) -> Iterator[Runtime]:
    """It has the project open; at the end nothing it kept may be open to others."""
    with Runtime(environment={"NO_PROXY": "127.0.0.1"}) as process:
        process.initialize(dataDir=str(tmp_path / "data"))
        process.result("workspace/open", {"root": str(root)})
        yield process
        assert "Traceback" not in process.stderr(), process.stderr()
    folders = [path for path in (tmp_path / "data").rglob("*") if path.is_dir()]
    assert {path.stat().st_mode & 0o777 for path in folders} <= {0o700}
