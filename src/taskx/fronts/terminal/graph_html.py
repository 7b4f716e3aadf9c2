"""`taskx graph --html`: one self-contained page that draws the project graph.

The page's data: `levels` has what `graph/project` answers for `module` and `file`; `behind` maps
"from\\nto\\nkind" of an edge that is drawn to the file pairs behind it, `[from, to, [names]]`.
"""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import Any

import msgspec

from taskx.protocol.graph import ProjectParams, ProjectResult
from taskx.workspace.graph.graph import IMPORT, KIND_NAMES, REFERENCE, Graph

MAX_NODES = 600
MAX_PAIRS = 40
MAX_NAMES = 8


def page(graph: Graph, title: str) -> str:
    """The whole page as text; nothing in it is loaded from elsewhere. Blocks for its data."""
    levels = {
        "module": graph.project(ProjectParams(level="module", max_nodes=MAX_NODES)),
        "file": graph.project(ProjectParams(level="file", max_nodes=MAX_NODES)),
    }
    data = {
        "levels": msgspec.to_builtins(levels),
        "behind": {
            **behind_modules(graph, levels["module"]),
            **behind_files(graph, levels["file"]),
        },
    }
    parts = files("taskx.fronts.terminal").joinpath("graph_page")
    # A `<` in a script would end it early where a name holds `</script>`.
    encoded = msgspec.json.encode(data).decode().replace("<", "\\u003c")
    text = parts.joinpath("page.html").read_text(encoding="utf-8")
    for mark, value in (
        ("%TITLE%", escape(title)),
        ("%LIBRARY%", parts.joinpath("force-graph.min.js").read_text(encoding="utf-8")),
        ("%SCRIPT%", parts.joinpath("page.js").read_text(encoding="utf-8")),
        ("%DATA%", encoded),
    ):
        text = text.replace(mark, value)
    return text


def behind_files(graph: Graph, shown: ProjectResult) -> dict[str, list[Any]]:
    """The linked names of each file edge that is drawn."""
    nodes = [graph.node_of(node.id) for node in shown.nodes]
    names = graph.linked_names([node for node in nodes if node is not None])
    found: dict[str, list[Any]] = {}
    for edge in shown.edges:
        source, target = shown.nodes[edge.source].id, shown.nodes[edge.target].id
        start, end = nodes[edge.source], nodes[edge.target]
        linked: list[str] = []
        if start is not None and end is not None:
            linked = names.get((start, end, IMPORT if edge.kind == "import" else REFERENCE), [])
        found[f"{source}\n{target}\n{edge.kind}"] = [[source, target, linked[:MAX_NAMES]]]
    return found


def behind_modules(graph: Graph, shown: ProjectResult) -> dict[str, list[Any]]:
    """The file pairs behind each module edge that is drawn, at most MAX_PAIRS of them."""
    behind: dict[str, list[Any]] = {
        f"{shown.nodes[edge.source].id}\n{shown.nodes[edge.target].id}\n{edge.kind}": []
        for edge in shown.edges
    }
    pairs: list[tuple[list[Any], int, int, int]] = []
    for node in graph.shown:
        source = graph.path_of(node)
        for to, what in graph.outgoing(node):
            target = graph.path_of(to)
            kind = KIND_NAMES[what & 1]
            rows = behind.get(f"{folder(source)}\n{folder(target)}\n{kind}")
            if rows is not None and len(rows) < MAX_PAIRS:
                row: list[Any] = [source, target, []]
                rows.append(row)
                pairs.append((row, node, to, what & 1))
    names = graph.linked_names(sorted({node for _, node, _, _ in pairs}))
    for row, node, to, kind_code in pairs:
        row[2] = names.get((node, to, kind_code), [])[:MAX_NAMES]
    return behind


def folder(path: str) -> str:
    return path.rpartition("/")[0] or "."
