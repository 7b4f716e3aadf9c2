"""get_dependencies: what a file uses and what uses it, from the project graph."""

from __future__ import annotations

import asyncio
from typing import Annotated

from msgspec import Meta

from taskx.edits.paths import resolve
from taskx.errors import InvalidParams, ToolError
from taskx.protocol.base import Wire
from taskx.tools.context import Call, ToolContext, ToolResult, bounded
from taskx.tools.registry import Tool
from taskx.tools.search_symbols import index_of, plain


class GetDependenciesParams(Wire, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="Path of the file, relative to the workspace.")]


async def run(params: GetDependenciesParams, context: ToolContext, call: Call) -> ToolResult:
    workspace = index_of(context)
    place = await asyncio.to_thread(resolve, context.root, params.path)
    graph = await workspace.graph()
    try:
        found = await plain(graph.file(place.rel))
    except (InvalidParams, KeyError):
        raise ToolError("notFound", f"{params.path} is not an indexed file") from None
    rows = []
    for title, key in (("depends on", "dependsOn"), ("used by", "usedBy")):
        rows.append(f"{title}:")
        rows += [
            f"  {e['path']} ({e['kind']}: {', '.join(e['symbols'][:8])})" for e in found[key]
        ] or ["  nothing"]
    if found["importCycle"]:
        rows.append("import cycle: " + " -> ".join(found["importCycle"]))
    return ToolResult(bounded("\n".join(rows), context, call), found)


TOOL = Tool(
    name="get_dependencies",
    tool_class="read",
    description=(
        "Shows which files a file imports or refers to, and which files use it, with the names "
        "that link them. Use it before changing what other files rely on."
    ),
    params=GetDependenciesParams,
    run=run,
    parallel=True,
)
