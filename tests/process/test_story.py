"""An editor's whole session on Django's source distribution, from two clients over real pipes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import parts

RUNTIME = Path(sys.executable).with_name("task-x-runtime")
STORY = Path(__file__).with_name("story.mjs")
MIDDLEWARE = "django/contrib/sessions/middleware.py"


@pytest.fixture
def django(tmp_path: Path) -> Path:
    """A copy that the story may edit."""
    return Path(shutil.copytree(parts.source_distribution("django"), tmp_path / "django"))


def check_story(seen: dict[str, Any]) -> None:
    assert seen["initialize"]["protocolVersion"] == 1
    assert seen["initialize"]["serverInfo"]["name"] == "task-x-runtime"
    assert seen["open"]["files"] > 6_000
    assert seen["open"]["symbols"] > 30_000
    assert seen["inspect"] == seen["open"]
    assert seen["ready"]["graph"]["files"] > 2_500
    assert {"indexing", "ready", "updated"} <= set(seen["phases"])
    assert MIDDLEWARE in seen["first"][:3]
    for level in ("file", "module"):
        assert 100 <= seen[level]["nodes"] <= 250
        assert seen[level]["edges"] > 100
        assert seen[level]["stats"]["importEdges"] > 3_000
    depends_on = {entry["path"] for entry in seen["dependencies"]["dependsOn"]}
    assert "django/utils/deprecation.py" in depends_on
    assert seen["second"][0]["path"] == MIDDLEWARE
    assert "def quokka_counter(visits):" in seen["second"][0]["text"]
    assert seen["cancelled"] == {"code": -32800, "data": {"kind": "cancelled"}}
    assert seen["shutdown"] is None
    assert seen["rejected"] == -32600
    assert seen["exit"] == {"code": 0, "signal": None}


def test_an_extension_client_tells_the_whole_story(django: Path, tmp_path: Path) -> None:
    told = subprocess.run(
        [parts.node(), str(STORY), str(RUNTIME), str(django), str(tmp_path / "data")],
        env=parts.node_environment(parts.node_modules()),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert told.returncode == 0, told.stderr.decode()
    seen = json.loads(told.stdout)
    check_story(seen)
    assert seen["stderr"] == ""
