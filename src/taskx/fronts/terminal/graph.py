"""`taskx graph`: what depends on what, as a table, JSON or one page to look at."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from taskx.fronts.terminal.output import checked, count, duration, fail, print_json, size
from taskx.fronts.terminal.workspace import add_root, with_workspace

if TYPE_CHECKING:
    from taskx.protocol.graph import ProjectResult
    from taskx.workspace.workspace import Workspace

EXAMPLE = "example: taskx graph ~/src/django --level module --focus django/db"


def add_arguments(parser: ArgumentParser) -> None:
    add_root(parser, positional=True)
    parser.add_argument("--level", choices=("file", "module"), default="file")
    parser.add_argument("--focus", metavar="PATH", help="only what is near this file or folder")
    parser.add_argument(
        "--depth", type=int, default=1, metavar="N", help="steps around the focus, 1-4"
    )
    parser.add_argument(
        "--max-nodes", type=int, default=250, metavar="N", help="at most N nodes (250)"
    )
    parser.add_argument("--imports-only", action="store_true", help="no reference edges")
    parser.add_argument("--html", metavar="FILE", help="write one self-contained page to look at")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: Namespace) -> int:
    if arguments.html is not None:
        return draw(arguments)

    given = {
        "level": arguments.level,
        "depth": arguments.depth,
        "maxNodes": arguments.max_nodes,
        "importsOnly": arguments.imports_only,
    }
    if arguments.focus is not None:
        given["focus"] = arguments.focus
    params = checked(given, "ProjectParams")

    async def ask(workspace: Workspace) -> ProjectResult:
        graph = await workspace.graph()
        return graph.project(params)

    result = with_workspace(arguments, ask)
    if arguments.json:
        print_json(result)
    else:
        show(result)
    return 0


def draw(arguments: Namespace) -> int:
    """Writes the page; says where it is."""

    async def make(workspace: Workspace) -> str:
        from taskx.fronts.terminal.graph_html import page

        graph = await workspace.graph()
        return await workspace.read(page, graph, f"{workspace.root.name}: what depends on what")

    text = with_workspace(arguments, make)
    try:
        Path(arguments.html).write_text(text, encoding="utf-8")
    except OSError as error:
        fail(f"{arguments.html}: {error.strerror}", code=1)
    print(f"wrote {arguments.html} ({size(len(text))})")
    return 0


def show(result: ProjectResult) -> None:
    stats = result.stats
    print(
        f"{count(stats.files)} files, {count(stats.import_edges)} import edges,"
        f" {count(stats.reference_edges)} reference edges, {count(stats.cycles)} import cycles,"
        f" built in {duration(stats.build_ms)}"
    )
    print("hubs (files that most others depend on):")
    for hub in stats.hubs:
        print(f"  {count(hub.dependents):>8}  {hub.path}")
    print("edges:")
    for edge in sorted(result.edges, key=lambda edge: -edge.weight)[:20]:
        source, target = result.nodes[edge.source], result.nodes[edge.target]
        print(f"  {source.id} -> {target.id}  {edge.kind}, {edge.weight} symbols")
