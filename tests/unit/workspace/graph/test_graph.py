"""References, updates and storage of graphs of small trees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from taskx.workspace.graph.build import build
from taskx.workspace.graph.graph import Graph
from tests.unit.workspace.graph.trees import edges, graph_of, pairs, segment, snapshot, write

REFERENCES = {
    "python_through_package_and_alias": (
        {"pkg/__init__.py": "from .core import run\n", "pkg/core.py": "def run(): pass\n",
         "m.py": "import pkg as p\nfrom pkg import run as go\np.run(); go()\n"},
        "pkg/__init__.py -> pkg/core.py\nm.py -> pkg/core.py",
    ),
    "python_star": (
        {"a.py": "from b import *\nthing()\n", "b.py": "from c import *\n",
         "c.py": "def thing(): pass\n"},
        "a.py -> c.py",
    ),
    "typescript_barrels": (
        {"m.ts": 'import { deco } from "./index"; deco()\n', "index.ts": 'export * from "./core"\n',
         "core.ts": 'export { made as deco } from "./file"\n',
         "file.ts": "export function made() {}\n"},
        "core.ts -> file.ts\nm.ts -> file.ts",
    ),
    "go_one_package_is_one_scope": (
        {"go.mod": "module m\n", "a.go": "package m\nfunc A() { helper() }\n",
         "b.go": "package m\nfunc helper() {}\n", "c/c.go": "package c\nfunc helper() {}\n"},
        "a.go -> b.go",
    ),
    "c_declaration_leads_to_definition": (
        {"a.c": '#include "api.h"\nint main(void) { return work(LIMIT); }\n',
         "api.h": "#define LIMIT 3\nint work(int n);\n",
         "work.c": '#include "api.h"\nint work(int n) { return n; }\n',
         "other.c": "int main2(void) { return work(1); }\n"},
        "a.c -> api.h, work.c",
    ),
    "java_package_scope": (
        {"p/A.java": "package p;\nclass A { B b; }\n", "p/B.java": "package p;\nclass B {}\n",
         "q/B.java": "package q;\nclass B {}\n"},
        "p/A.java -> p/B.java",
    ),
    "languages_do_not_mix": (
        {"a.py": "render()\n", "b.js": "function render() {}\n"}, ""
    ),
    "I7_name_of_four_files_is_not_linked": (
        {f"{n}.rb": "class Shape\nend\n" for n in "abcd"} | {"use.rb": "Shape.new\n"}, ""
    ),
    "I7_name_of_three_files_links_to_each": (
        {f"{n}.rb": "class Shape\nend\n" for n in "abc"} | {"use.rb": "Shape.new\n"},
        "use.rb -> a.rb, b.rb, c.rb",
    ),
    "I7_import_makes_one_of_four_certain": (
        {f"{n}.py": "def shape(): pass\n" for n in "abcd"}
        | {"use.py": "from c import shape\nshape()\n"},
        "use.py -> c.py",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "expected"), REFERENCES.values(), ids=list(REFERENCES))
def test_W09_reference_edges(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    assert edges(graph_of(tmp_path, files), "reference") == pairs(expected)


TREE = {
    "pkg/__init__.py": "from .core import run\n",
    "pkg/core.py": "def run(): pass\nclass Box:\n    def lift(self): pass\n",
    "m.py": "from pkg import run\nimport pkg.core\nrun()\n",
    "a.c": '#include "a.h"\nint f(void) { return g(); }\n',
    "a.h": '#include "b.h"\n',
    "b.h": "int g(void);\n",
    "g.c": '#include "b.h"\nint g(void) { return 0; }\n',
    "go.mod": "module m\n",
    "x.go": "package m\nfunc X() { y() }\n",
    "y.go": "package m\nfunc y() {}\n",
}

CHANGES = {
    "body": {"m.py": "from pkg import run\nimport pkg.core\nrun(); run()\n"},
    "definition_goes": {"pkg/core.py": "class Box:\n    def lift(self): pass\n"},
    "definition_comes": {"m.py": "from pkg import run\nx = 1\n", "pkg/core.py": "x = 1\n"},
    "include_goes": {"a.h": "\n"},
    "include_comes": {"a.c": '#include "b.h"\nint f(void) { return g(); }\n'},
    "go_scope": {"y.go": "package m\nfunc z() {}\n"},
    "re_export_moves": {"pkg/__init__.py": "from .core import Box as run\n"},
    "file_is_added": {"h.c": '#include "b.h"\nint h(void) { return g(); }\n'},
    "manifest": {"go.mod": "module other\n"},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_an_update_equals_a_new_build(tmp_path: Path, change: dict[str, str]) -> None:
    before = graph_of(tmp_path, TREE)
    write(tmp_path, change)
    changed = segment(tmp_path, [os.fsencode(path) for path in change])
    after = build(before.snapshot.with_changes(changed, []), before)
    assert all_edges(after) == all_edges(build(snapshot(tmp_path)))
    write(tmp_path, TREE)
    back = segment(tmp_path, [os.fsencode(path) for path in change if path in TREE])
    gone = [os.fsencode(path) for path in change if path not in TREE]
    again = build(after.snapshot.with_changes(back, gone), after)
    assert all_edges(again) == all_edges(before)


def all_edges(graph: Graph) -> set[tuple[str, str, int]]:
    return {
        (graph.path_of(node), graph.path_of(target), what)
        for node in range(graph.n_nodes)
        for target, what in graph.outgoing(node)
    }


def test_a_stored_graph_is_read_back(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, TREE)
    data = graph.to_bytes()
    loaded = Graph.from_bytes(data, graph.snapshot)
    assert loaded is not None
    assert all_edges(loaded) == all_edges(graph)
    assert loaded.file("m.py") == graph.file("m.py")


@pytest.mark.parametrize("cut", [0, 7, 40, -1])
def test_a_damaged_stored_graph_is_refused(tmp_path: Path, cut: int) -> None:
    graph = graph_of(tmp_path, TREE)
    assert Graph.from_bytes(graph.to_bytes()[:cut], graph.snapshot) is None


def test_a_stored_graph_of_other_files_is_refused(tmp_path: Path) -> None:
    graph = graph_of(tmp_path / "a", TREE)
    other = graph_of(tmp_path / "b", {**TREE, "new.py": ""})
    assert Graph.from_bytes(graph.to_bytes(), other.snapshot) is None
