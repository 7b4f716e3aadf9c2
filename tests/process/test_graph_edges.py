"""graph/project, graph/file and graph/impact through the real process, on a tree of known edges."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.process.client import Runtime

FILES = {
    "app/__init__.py": "",
    "app/main.py": "from app.tools import helper, other\nfrom lib.deep import low\nhelper()\n",
    "app/tools.py": "import app.main\ndef helper(): pass\ndef other(): pass\n",
    "lib/__init__.py": "",
    "lib/deep.py": "def low(): pass\n",
    "web/index.ts": 'import { render } from "./view.js"\nrender()\n',
    "web/view.ts": "export function render(): void {}\n",
}
IMPORTS = {
    ("app/main.py", "app/tools.py"): 2,
    ("app/main.py", "lib/deep.py"): 1,
    ("app/tools.py", "app/main.py"): 1,
    ("web/index.ts", "web/view.ts"): 1,
}
REFERENCES = {
    ("app/main.py", "app/tools.py"): 2,
    ("app/main.py", "lib/deep.py"): 1,
    ("web/index.ts", "web/view.ts"): 1,
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for name, text in FILES.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return root


@pytest.fixture
def runtime(tmp_path: Path, tree: Path) -> Iterator[Runtime]:
    with Runtime(environment={"TASK_X_CACHE": None, "XDG_CACHE_HOME": str(tmp_path / "c")}) as run:
        run.initialize()
        run.result("workspace/open", {"root": str(tree)})
        yield run


def edges(result: Any, kind: str) -> dict[tuple[str, str], int]:
    ids = [node["id"] for node in result["nodes"]]
    return {
        (ids[edge["from"]], ids[edge["to"]]): edge["weight"]
        for edge in result["edges"]
        if edge["kind"] == kind
    }


def test_W07_I7_file_level_has_every_edge(runtime: Runtime) -> None:
    result = runtime.result("graph/project", {})
    assert edges(result, "import") == IMPORTS
    assert edges(result, "reference") == REFERENCES
    assert {node["id"] for node in result["nodes"]} == set(FILES)
    assert result["total"] == {"nodes": len(FILES), "edges": len(IMPORTS) + len(REFERENCES)}
    main = next(node for node in result["nodes"] if node["id"] == "app/main.py")
    assert main == {
        "id": "app/main.py", "language": "python", "symbols": main["symbols"], "files": 1,
        "degree": 2, "inCycle": True,
    }  # fmt: skip
    degrees = [node["degree"] for node in result["nodes"]]
    assert degrees == sorted(degrees, reverse=True)


def test_W07_imports_only_leaves_references_out(runtime: Runtime) -> None:
    result = runtime.result("graph/project", {"importsOnly": True})
    assert edges(result, "import") == IMPORTS
    assert edges(result, "reference") == {}
    assert result["total"]["edges"] == len(IMPORTS)


@pytest.mark.parametrize("limit", range(1, len(FILES) + 1))
def test_W07_I7_indexes_stay_in_range_after_the_cut(runtime: Runtime, limit: int) -> None:
    whole = runtime.result("graph/project", {})
    result = runtime.result("graph/project", {"maxNodes": limit})
    assert result["nodes"] == whole["nodes"][:limit]
    assert all(
        0 <= edge[end] < limit and edge["weight"] >= 1
        for edge in result["edges"]
        for end in ("from", "to")
    )
    assert result["total"] == whole["total"]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"maxNodes": 601}, "maxNodes"),
        ({"maxNodes": 0}, "maxNodes"),
        ({"depth": 5}, "depth"),
        ({"depth": 0}, "depth"),
        ({"level": "class"}, "level"),
        ({"focus": "no/such/file.py"}, "focus"),
        ({"focus": "../outside"}, "focus"),
        ({"focus": 3}, "focus"),
    ],
)
def test_W07_what_is_out_of_range_is_refused(
    runtime: Runtime, params: dict[str, object], field: str
) -> None:
    error = runtime.error("graph/project", params)
    assert error["code"] == -32602
    assert field in error["message"]


def test_W10_modules_add_their_files_up(runtime: Runtime) -> None:
    result = runtime.result("graph/project", {"level": "module"})
    assert {(n["id"], n["files"], n["degree"], n["inCycle"]) for n in result["nodes"]} == {
        ("app", 3, 1, True),
        ("lib", 2, 1, False),
        ("web", 2, 0, False),
    }
    assert edges(result, "import") == edges(result, "reference") == {("app", "lib"): 1}


@pytest.mark.parametrize(
    ("focus", "depth", "expected"),
    [
        ("lib/deep.py", 1, {"lib/deep.py", "app/main.py"}),
        ("lib/deep.py", 2, {"lib/deep.py", "app/main.py", "app/tools.py"}),
        ("web", 1, {"web/index.ts", "web/view.ts"}),
    ],
)
def test_W10_focus_shows_what_is_within_depth(
    runtime: Runtime, focus: str, depth: int, expected: set[str]
) -> None:
    result = runtime.result("graph/project", {"focus": focus, "depth": depth})
    assert {node["id"] for node in result["nodes"]} == expected
    assert result["total"]["nodes"] == len(expected)


def test_W11_stats_are_of_the_whole_graph(runtime: Runtime) -> None:
    stats = runtime.result("graph/project", {"maxNodes": 1})["stats"]
    build_ms = stats.pop("buildMs")
    assert build_ms >= 0
    assert stats == {
        "files": 7, "edges": 7, "importEdges": 4, "referenceEdges": 3, "modules": 3, "cycles": 1,
        "orphans": 2, "version": 1,
        "hubs": [
            {"path": path, "dependents": 1}
            for path in ("app/main.py", "app/tools.py", "lib/deep.py", "web/view.ts")
        ],
        "importCycles": [["app/main.py", "app/tools.py"]],
    }  # fmt: skip
    ready = [e for e in runtime.notifications("workspace/progress") if e["phase"] == "ready"]
    assert {**ready[-1]["graph"], "buildMs": 0} == {**stats, "buildMs": 0}


def test_W12_file_lists_both_directions(runtime: Runtime) -> None:
    assert runtime.result("graph/file", {"path": "app/main.py"}) == {
        "path": "app/main.py",
        "dependsOn": [
            {"path": "app/tools.py", "kind": "import", "symbols": ["helper", "other"]},
            {"path": "app/tools.py", "kind": "reference", "symbols": ["helper", "other"]},
            {"path": "lib/deep.py", "kind": "import", "symbols": ["low"]},
            {"path": "lib/deep.py", "kind": "reference", "symbols": ["low"]},
        ],
        "usedBy": [{"path": "app/tools.py", "kind": "import", "symbols": ["app.main"]}],
        "importCycle": ["app/main.py", "app/tools.py"],
    }


def test_W12_a_file_that_is_not_indexed_is_refused(runtime: Runtime) -> None:
    error = runtime.error("graph/file", {"path": "gone.py"})
    assert error["code"] == -32602
    assert "gone.py" in error["message"]


def test_impact_comes_likeliest_first(runtime: Runtime) -> None:
    result = runtime.result("graph/impact", {"paths": ["lib/deep.py"]})
    assert [(f["path"], f["distance"], f["via"]) for f in result["files"]] == [
        ("app/main.py", 1, "lib/deep.py"),
        ("app/tools.py", 2, "app/main.py"),
    ]
    scores = [f["score"] for f in result["files"]]
    assert scores == sorted(scores, reverse=True)


def test_graph_follows_a_changed_file(runtime: Runtime, tree: Path) -> None:
    (tree / "lib/deep.py").write_text("from app.tools import other\n")
    runtime.notify("workspace/filesChanged", {"paths": ["lib/deep.py"]})
    runtime.wait(
        lambda: any(e["phase"] == "updated" for e in runtime.notifications("workspace/progress")),
        what="updated",
    )
    result = runtime.result("graph/project", {})
    assert edges(result, "import") == {**IMPORTS, ("lib/deep.py", "app/tools.py"): 1}
    assert ("lib/deep.py", "app/tools.py") in edges(result, "reference")


def test_answers_are_the_same_bytes_every_time(runtime: Runtime) -> None:
    first = runtime.result("graph/project", {"focus": "app", "depth": 2})
    assert runtime.result("graph/project", {"focus": "app", "depth": 2}) == first


def test_W12_without_a_workspace_there_is_no_graph() -> None:
    with Runtime() as run:
        run.initialize()
        for method, params in (
            ("graph/project", {}),
            ("graph/file", {"path": "a"}),
            ("graph/impact", {"paths": ["a"]}),
        ):
            assert run.error(method, params)["code"] == -32004
