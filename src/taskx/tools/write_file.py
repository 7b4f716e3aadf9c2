"""write_file: the whole content of a file."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from taskx.edits import text as texts
from taskx.edits.operation import Edit
from taskx.errors import ToolError
from taskx.protocol.base import Wire
from taskx.tools import writing
from taskx.tools.context import Call, ToolContext, ToolResult
from taskx.tools.registry import Tool


class WriteFileParams(Wire, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="Path of the file, relative to the workspace.")]
    content: Annotated[str, Meta(description="The whole new content.")]


def plan(params: WriteFileParams, context: ToolContext, call: Call, check: bool) -> list[Edit]:
    place = writing.place_to_write(context, params.path, call)
    state, old = writing.look(context, place, params.path, must_know=check)
    if state.kind == "absent" or texts.is_binary(old):
        new = texts.fresh(params.content)
    else:
        new = texts.whole(old, params.content)
    if state.kind == "file" and new == old:
        raise ToolError("invalidInput", f"{params.path} has this content already")
    return [writing.content_edit(place, state, old, new, None)]


async def run(params: WriteFileParams, context: ToolContext, call: Call) -> ToolResult:
    return await writing.apply(
        context, call, "write_file", lambda: plan(params, context, call, check=True)
    )


TOOL = Tool(
    name="write_file",
    tool_class="write",
    description=(
        "Writes a whole file; missing folders are made. An existing file must have been read in "
        "this task and keeps its encoding, line ends, and whether it ends with a newline. For "
        "changes to part of a file use replace_text or apply_patch."
    ),
    params=WriteFileParams,
    run=run,
    preview=lambda params, context: writing.diff_of(
        plan(params, context, writing.PREVIEW, check=False)
    ),
    touches=lambda params: [params.path],
)
