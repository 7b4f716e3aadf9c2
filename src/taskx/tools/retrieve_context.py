"""retrieve_context: the excerpts of the workspace that answer a question best."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from taskx.errors import ToolError
from taskx.protocol.base import Wire
from taskx.tools.context import Call, ToolContext, ToolResult, bounded
from taskx.tools.registry import Tool
from taskx.tools.search_symbols import index_of, plain


class RetrieveContextParams(Wire, frozen=True, kw_only=True):
    query: Annotated[str, Meta(description="A question, or the names and words it is about.")]
    budget_tokens: Annotated[
        int, Meta(description="About how many tokens of excerpts, 200 to 16000. Default: 4000.")
    ] = 4000
    focus_paths: Annotated[list[str] | None, Meta(description="Files or folders to prefer.")] = None


async def run(params: RetrieveContextParams, context: ToolContext, call: Call) -> ToolResult:
    if not params.query.strip():
        raise ToolError("invalidInput", "query is empty")
    if not 200 <= params.budget_tokens <= 16000:
        raise ToolError("invalidInput", "budgetTokens: expected 200 to 16000")
    workspace = index_of(context)
    found = await plain(
        workspace.retrieve(params.query, params.budget_tokens, params.focus_paths or [])
    )
    retrieval = found.get("retrieval", found)
    rows = []
    for snippet in retrieval["snippets"]:
        rows.append(f"{snippet['path']}:{snippet['startLine']}-{snippet['endLine']}"
                    f" ({snippet['reason']})")  # fmt: skip
        rows.append(snippet["text"])
    return ToolResult(bounded("\n".join(rows) or "nothing found", context, call), retrieval)


TOOL = Tool(
    name="retrieve_context",
    tool_class="read",
    description=(
        "Finds the code that matters for a question or a task and gives whole definitions with "
        "path and lines, best first. Start here when you do not know where something is."
    ),
    params=RetrieveContextParams,
    run=run,
    parallel=True,
)
