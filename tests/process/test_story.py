"""An editor's whole session on Django's source distribution, from two clients over real pipes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import parts
from tests.process.client import Runtime

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


def tell(root: Path, data_dir: Path) -> dict[str, Any]:
    """The same story as `story.mjs`, from the Python client."""
    seen: dict[str, Any] = {}
    with Runtime(environment={"TASK_X_CACHE": None}) as runtime:
        seen["initialize"] = runtime.initialize(dataDir=str(data_dir))
        seen["open"] = runtime.result("workspace/open", {"root": str(root)}, timeout=60)["stats"]
        seen["ready"] = runtime.notification("workspace/progress", of_phase("ready"))
        seen["inspect"] = runtime.result("context/inspect")["stats"]
        seen["first"] = [
            snippet["path"]
            for snippet in ask(runtime, "how does the session middleware save the session")
        ]
        for level in ("file", "module"):
            graph = runtime.result("graph/project", {"level": level})
            seen[level] = {
                "nodes": len(graph["nodes"]),
                "edges": len(graph["edges"]),
                "stats": graph["stats"],
            }
        seen["dependencies"] = runtime.result("graph/file", {"path": MIDDLEWARE})
        with (root / MIDDLEWARE).open("a") as file:
            file.write("\n\ndef quokka_counter(visits):\n    return visits + 1\n")
        runtime.notify("workspace/filesChanged", {"paths": [MIDDLEWARE]})
        runtime.notification("workspace/progress", of_phase("updated"))
        seen["second"] = ask(runtime, "quokka_counter")[:1]
        refresh = runtime.start("workspace/refresh")
        runtime.notify("$/cancelRequest", {"id": refresh})
        error = runtime.reply(refresh)["error"]
        seen["cancelled"] = {"code": error["code"], "data": error["data"]}
        seen["shutdown"] = runtime.result("shutdown")
        seen["rejected"] = runtime.error("context/inspect")["code"]
        runtime.notify("exit")
        seen["exit"] = {"code": runtime.exit_code(), "signal": None}
        seen["phases"] = [event["phase"] for event in runtime.notifications("workspace/progress")]
        seen["stderr"] = runtime.stderr()
    return seen


def of_phase(phase: str) -> Callable[[Any], bool]:
    return lambda event: bool(event["phase"] == phase)


def ask(runtime: Runtime, query: str) -> list[dict[str, Any]]:
    result = runtime.result("context/retrieve", {"query": query, "budgetTokens": 4000})
    snippets: list[dict[str, Any]] = result["retrieval"]["snippets"]
    return snippets


def test_a_python_client_tells_the_same_story(django: Path, tmp_path: Path) -> None:
    seen = tell(django, tmp_path / "data")
    check_story(seen)
    assert seen["stderr"] == ""
