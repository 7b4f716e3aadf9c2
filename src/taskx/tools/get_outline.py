"""get_outline: the definitions of one file, nested."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from msgspec import Meta

from taskx.edits.paths import resolve
from taskx.errors import ToolError
from taskx.protocol.base import Wire
from taskx.tools.context import Call, ToolContext, ToolResult, bounded
from taskx.tools.registry import Tool
from taskx.tools.search_symbols import index_of, plain


class GetOutlineParams(Wire, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="Path of the file, relative to the workspace.")]


async def run(params: GetOutlineParams, context: ToolContext, call: Call) -> ToolResult:
    workspace = index_of(context)
    place = await asyncio.to_thread(resolve, context.root, params.path)
    if workspace.snapshot.file_id(place.rel) is None:
        raise ToolError("notFound", f"{params.path} is not an indexed file")
    outline = await plain(workspace.outline(place.rel))
    rows: list[str] = []
    _rows(outline["symbols"], 0, rows)
    content = "\n".join(rows) or "no definitions"
    return ToolResult(bounded(content, context, call), outline)


def _rows(symbols: list[dict[str, Any]], depth: int, rows: list[str]) -> None:
    for symbol in symbols:
        where = f"{symbol['startLine']}-{symbol['endLine']}"
        rows.append(f"{'  ' * depth}{symbol['kind']} {symbol['name']} {where}")
        _rows(symbol.get("children") or [], depth + 1, rows)


TOOL = Tool(
    name="get_outline",
    tool_class="read",
    description=(
        "Lists the definitions of one file with their line ranges, nested as in the file. Use it "
        "to decide which lines of a long file to read."
    ),
    params=GetOutlineParams,
    run=run,
    parallel=True,
)
