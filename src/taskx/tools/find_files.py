"""find_files: files by a glob."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from taskx.errors import ToolError
from taskx.protocol.base import Wire
from taskx.tools import listing
from taskx.tools.context import Call, ToolContext, ToolResult, bounded
from taskx.tools.registry import Tool


class FindFilesParams(Wire, frozen=True, kw_only=True):
    pattern: Annotated[
        str,
        Meta(
            description="Glob such as `*.py`, `src/**/test_*.ts` or `**/*.{js,ts}`. Without a "
            "slash it is looked for in every folder."
        ),
    ]
    limit: Annotated[int, Meta(description="At most so many paths, 1 to 5000. Default: 200.")] = 200


async def run(params: FindFilesParams, context: ToolContext, call: Call) -> ToolResult:
    if not 1 <= params.limit <= 5000:
        raise ToolError("invalidInput", "limit: expected 1 to 5000")
    matcher = listing.glob_matcher(params.pattern)
    found = [path for path in await listing.files(context) if matcher.match(path)]
    shown = [listing.show(path) for path in found[: params.limit]]
    rows = list(shown)
    if len(found) > len(shown):
        rows.append(f"[… {len(found) - len(shown)} more]")
    data = {"paths": shown, "total": len(found), "truncated": len(found) > len(shown)}
    return ToolResult(bounded("\n".join(rows) or "no file matches", context, call), data)


TOOL = Tool(
    name="find_files",
    tool_class="read",
    description="Finds files of the workspace by name, with a glob. Ignored files are not found.",
    params=FindFilesParams,
    run=run,
    parallel=True,
)
