"""search_symbols: definitions by name, from the index."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from taskx.errors import ToolError
from taskx.protocol.base import Wire
from taskx.tools.context import Call, ToolContext, ToolResult, bounded
from taskx.tools.registry import Tool


class SearchSymbolsParams(Wire, frozen=True, kw_only=True):
    query: Annotated[str, Meta(description="Name or part of a name; small mistakes are forgiven.")]
    kind: Annotated[
        str | None,
        Meta(description="Only this kind: function, method, class, interface, enum, constant, …"),
    ] = None
    limit: Annotated[int, Meta(description="At most so many, 1 to 200. Default: 40.")] = 40


def index_of(context: ToolContext) -> Any:
    """The open workspace. Raises ToolError `unavailable` while there is none."""
    if context.workspace is None:
        raise ToolError("unavailable", "the index is not ready; use find_files and search_text")
    return context.workspace


async def plain(value: Any) -> Any:
    """A result of the workspace, awaited if need be, as JSON-ready data."""
    if inspect.isawaitable(value):
        value = await value
    return msgspec.to_builtins(value)


async def run(params: SearchSymbolsParams, context: ToolContext, call: Call) -> ToolResult:
    if not params.query.strip():
        raise ToolError("invalidInput", "query is empty")
    if not 1 <= params.limit <= 200:
        raise ToolError("invalidInput", "limit: expected 1 to 200")
    workspace = index_of(context)
    found = await plain(workspace.symbols(params.query, params.kind, params.limit))
    symbols = found["symbols"] if isinstance(found, dict) else found
    rows = [
        f"{s['path']}:{s['startLine']}-{s['endLine']} {s['kind']} "
        + (f"{s['container']}." if s.get("container") else "")
        + s["name"]
        for s in symbols
    ]
    content = bounded("\n".join(rows) or "no such symbol", context, call)
    return ToolResult(content, {"symbols": symbols})


TOOL = Tool(
    name="search_symbols",
    tool_class="read",
    description=(
        "Finds where functions, methods, classes, constants and so on are defined, by name. "
        "Faster and more exact than search_text for definitions."
    ),
    params=SearchSymbolsParams,
    run=run,
    parallel=True,
)
