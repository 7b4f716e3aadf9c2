"""get_diagnostics: what the editor reports, and syntax errors that a parser finds."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from taskx.edits import files
from taskx.errors import ToolError
from taskx.protocol.base import Wire
from taskx.tools import guard
from taskx.tools.context import Call, ToolContext, ToolResult, bounded
from taskx.tools.registry import Tool

PATHS_LIMIT = 20
ERRORS_LIMIT = 20
PARSE_LIMIT_BYTES = 1 << 20


class GetDiagnosticsParams(Wire, frozen=True, kw_only=True):
    paths: Annotated[
        list[str] | None,
        Meta(description="At most 20 files. Default: all that the editor reports."),
    ] = None


async def run(params: GetDiagnosticsParams, context: ToolContext, call: Call) -> ToolResult:
    if params.paths is not None and len(params.paths) > PATHS_LIMIT:
        raise ToolError("invalidInput", f"paths: at most {PATHS_LIMIT}")
    rows: list[dict[str, Any]] = [
        row
        for given in context.diagnostics
        if isinstance(row := msgspec.to_builtins(given), dict)
        and (params.paths is None or row.get("path") in params.paths)
    ]
    for path in params.paths or []:
        place = await asyncio.to_thread(guard.readable, context, path, call)
        state, data = await asyncio.to_thread(files.look, place.root, place.rel)
        if state.kind != "file":
            raise ToolError("notFound", f"no such file: {path}")
        rows += await asyncio.to_thread(syntax_errors, place.rel, data)
    text = "\n".join(
        f"{row.get('path')}:{row.get('line', 1)}: {row.get('severity', 'error')}: "
        f"{row.get('message', '')}"
        for row in rows
    )
    return ToolResult(bounded(text or "no diagnostics", context, call), {"diagnostics": rows})


def syntax_errors(path: str, data: bytes) -> list[dict[str, Any]]:
    """Places where the file's grammar does not fit; [] without a grammar."""
    from taskx.workspace.files import languages

    language = languages.LANGUAGES[languages.detect(path, data[:256])]
    if not language.grammar or len(data) > PARSE_LIMIT_BYTES:
        return []
    from tree_sitter import Parser
    from tree_sitter_language_pack import get_language

    tree = Parser(get_language(language.grammar)).parse(data)  # type: ignore[arg-type]
    found: list[dict[str, Any]] = []
    stack = [tree.root_node]
    while stack and len(found) < ERRORS_LIMIT:
        node = stack.pop()
        if node.is_error or node.is_missing:
            what = f"missing {node.type}" if node.is_missing else "syntax error"
            found.append(
                {
                    "path": path,
                    "line": node.start_point[0] + 1,
                    "severity": "error",
                    "message": what,
                    "source": "parser",
                }
            )
        elif node.has_error:
            stack.extend(reversed(node.children))
    return found


TOOL = Tool(
    name="get_diagnostics",
    tool_class="read",
    description=(
        "Gives the editor's errors and warnings, and for named files also syntax errors in their "
        "present content. Use it after edits."
    ),
    params=GetDiagnosticsParams,
    run=run,
    parallel=True,
)
