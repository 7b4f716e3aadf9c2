"""list_files: what is in a folder."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from msgspec import Meta

from taskx.edits.paths import resolve
from taskx.errors import ToolError
from taskx.protocol.base import Wire
from taskx.tools import listing
from taskx.tools.context import Call, ToolContext, ToolResult, bounded
from taskx.tools.registry import Tool

LIMIT = 2000


class ListFilesParams(Wire, frozen=True, kw_only=True):
    path: Annotated[
        str, Meta(description="Folder, relative to the workspace. Default: its root.")
    ] = "."
    depth: Annotated[int, Meta(description="How many levels to show, 1 to 10. Default: 1.")] = 1


async def run(params: ListFilesParams, context: ToolContext, call: Call) -> ToolResult:
    if not 1 <= params.depth <= 10:
        raise ToolError("invalidInput", "depth: expected 1 to 10")
    place = await asyncio.to_thread(resolve, context.root, params.path)
    paths = listing.below(await listing.files(context), place.rel)
    if not paths:
        import os

        if not await asyncio.to_thread(os.path.isdir, place.path):
            raise ToolError("notFound", f"no such folder: {params.path}")
    prefix = 0 if place.rel == "." else len(place.rel.encode("utf-8", "surrogateescape")) + 1
    counts: dict[str, int] = {}
    for path in paths:
        parts = listing.show(path[prefix:]).split("/")
        for level in range(1, min(len(parts), params.depth) + 1):
            name = "/".join(parts[:level]) + ("/" if level < len(parts) else "")
            counts[name] = counts.get(name, 0) + 1
    names = sorted(counts)
    rows = [f"{n} ({counts[n]} files)" if n.endswith("/") else n for n in names[:LIMIT]]
    if len(names) > LIMIT:
        rows.append(f"[… {len(names) - LIMIT} more]")
    entries: list[dict[str, Any]] = [
        {"name": n.rstrip("/"), "directory": True, "files": counts[n]}
        if n.endswith("/")
        else {"name": n, "directory": False}
        for n in names[:LIMIT]
    ]
    data = {"path": place.rel, "entries": entries, "truncated": len(names) > LIMIT}
    return ToolResult(bounded("\n".join(rows) or "(no files)", context, call), data)


TOOL = Tool(
    name="list_files",
    tool_class="read",
    description=(
        "Lists files and folders of the workspace, with the number of files in each folder. "
        "Ignored files (.gitignore) are not shown."
    ),
    params=ListFilesParams,
    run=run,
    parallel=True,
)
