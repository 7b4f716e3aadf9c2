"""graph/project and graph/file through the real process. Rows W07, W09 to W12."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.process.client import Runtime

FILES = {
    "a/one.py": "from a.two import second\n\n\ndef first():\n    return second()\n",
    "a/two.py": "from a import one\n\n\ndef second():\n    return one.first\n",
    "a/__init__.py": "",
    "b/main.py": "from a.one import first\n\nfirst()\n",
    "b/lone.py": "def nobody_calls_this():\n    pass\n",
    # Defined in four files: not linked by its name alone.
    **{f"many/m{n}.c": "int common_name(void) { return 1; }\n" for n in range(4)},
    "many/names.h": "int common_name(void);\nint rare_name(void);\n",
    "many/user.c": '#include "names.h"\nint user(void) { return common_name() + rare_name(); }\n',
    "many/rare.c": "int rare_name(void) { return 2; }\n",
}


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    for name, text in FILES.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    with Runtime() as run:
        run.initialize()
        run.result("workspace/open", {"root": str(tmp_path / "tree")})
        yield run


def edges(result: Any, kind: str) -> set[tuple[str, str]]:
    ids = [node["id"] for node in result["nodes"]]
    return {
        (ids[edge["from"]], ids[edge["to"]]) for edge in result["edges"] if edge["kind"] == kind
    }


def test_W07_W11_project_gives_nodes_edges_and_statistics(runtime: Runtime) -> None:
    result = runtime.result("graph/project")
    assert set(result) == {"nodes", "edges", "total", "stats"}
    assert edges(result, "import") >= {
        ("a/one.py", "a/two.py"),
        ("a/two.py", "a/one.py"),
        ("b/main.py", "a/one.py"),
    }
    nodes = {node["id"]: node for node in result["nodes"]}
    assert nodes["a/one.py"]["inCycle"] is True
    assert nodes["b/main.py"]["inCycle"] is False
    assert nodes["a/one.py"]["degree"] == 2
    stats = result["stats"]
    assert stats["cycles"] == 1
    assert [sorted(cycle) for cycle in stats["importCycles"]] == [["a/one.py", "a/two.py"]]
    assert stats["edges"] == stats["importEdges"] + stats["referenceEdges"]
    assert stats["hubs"][0] == {"path": "a/one.py", "dependents": 2}
    assert stats["orphans"] >= 1
    assert result["total"] == {"nodes": len(nodes), "edges": len(result["edges"])}
    ready = runtime.notification("workspace/progress", lambda params: params["phase"] == "ready")
    assert ready["graph"]["importCycles"] == stats["importCycles"]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"depth": 0}, "params.depth"),
        ({"depth": 5}, "params.depth"),
        ({"maxNodes": 601}, "params.maxNodes"),
        ({"maxNodes": 0}, "params.maxNodes"),
        ({"level": "folder"}, "params.level"),
        ({"focus": "no/such"}, "focus"),
    ],
)
def test_W07_numbers_out_of_range_are_refused(
    runtime: Runtime, params: dict[str, Any], field: str
) -> None:
    error = runtime.error("graph/project", params)
    assert error["code"] == -32602
    assert field in error["message"]


def test_W09_a_name_of_more_than_three_files_is_not_linked(runtime: Runtime) -> None:
    links = edges(runtime.result("graph/project"), "reference")
    used = {to for source, to in links if source == "many/user.c"}
    assert used == {"many/rare.c", "many/names.h"}
    only_imports = runtime.result("graph/project", {"importsOnly": True})
    assert edges(only_imports, "reference") == set()


def test_W10_modules_focus_and_cut(runtime: Runtime) -> None:
    modules = runtime.result("graph/project", {"level": "module"})
    assert {node["id"] for node in modules["nodes"]} == {"a", "b", "many"}
    assert edges(modules, "import") == {("b", "a")}
    near = runtime.result("graph/project", {"focus": "b/main.py"})
    assert {node["id"] for node in near["nodes"]} == {"b/main.py", "a/one.py"}
    further = runtime.result("graph/project", {"focus": "b/main.py", "depth": 2})
    assert {node["id"] for node in further["nodes"]} == {"b/main.py", "a/one.py", "a/two.py"}
    cut = runtime.result("graph/project", {"maxNodes": 1})
    assert [node["id"] for node in cut["nodes"]] == ["a/one.py"]
    assert cut["edges"] == []
    assert cut["total"]["nodes"] == len(FILES)


def test_W12_file_says_what_it_needs_and_who_needs_it(runtime: Runtime) -> None:
    result = runtime.result("graph/file", {"path": "a/one.py"})
    assert result["path"] == "a/one.py"
    needs = {(link["path"], link["kind"]): link["symbols"] for link in result["dependsOn"]}
    assert needs["a/two.py", "import"] == ["second"]
    assert {link["path"] for link in result["usedBy"]} == {"a/two.py", "b/main.py"}
    assert sorted(result["importCycle"]) == ["a/one.py", "a/two.py"]
    assert runtime.result("graph/file", {"path": "b/lone.py"})["importCycle"] == []
    assert runtime.error("graph/file", {"path": "no/such.py"})["code"] == -32602
    called = runtime.result(
        "tools/call", {"name": "get_dependencies", "input": {"path": "a/one.py"}}
    )
    assert "a/two.py" in str(called)
    assert "b/main.py" in str(called)
