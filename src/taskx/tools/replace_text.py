"""replace_text: one place in a file, found by its text."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from taskx.edits import place as places
from taskx.edits import text as texts
from taskx.edits.operation import Edit
from taskx.errors import ToolError
from taskx.protocol.base import Wire
from taskx.tools import writing
from taskx.tools.context import Call, ToolContext, ToolResult
from taskx.tools.registry import Tool


class ReplaceTextParams(Wire, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="Path of the file, relative to the workspace.")]
    old_text: Annotated[
        str, Meta(description="The text to replace, with enough around it to be found once.")
    ]
    new_text: Annotated[str, Meta(description="What takes its place.")]
    all: Annotated[bool, Meta(description="Replace every exact occurrence. Default: false.")] = (
        False
    )


def plan(params: ReplaceTextParams, context: ToolContext, call: Call) -> list[Edit]:
    place = writing.place_to_write(context, params.path, call)
    state, old = writing.look(context, place, params.path, must_know=False)
    if state.kind == "absent":
        raise ToolError("notFound", f"no such file: {params.path}")
    if texts.is_binary(old):
        raise ToolError("invalidInput", f"{params.path} is a binary file")
    new, _ = places.replace(old, params.old_text, params.new_text, params.all)
    return [writing.content_edit(place, state, old, new, None)]


async def run(params: ReplaceTextParams, context: ToolContext, call: Call) -> ToolResult:
    return await writing.apply(context, call, "replace_text", lambda: plan(params, context, call))


TOOL = Tool(
    name="replace_text",
    tool_class="write",
    description=(
        "Replaces oldText by newText in a file. oldText must be in the file exactly once (or set "
        "`all`); copy it from read_file, several whole lines are best. If it is not there exactly, "
        "lines that differ only in white space at their ends or in a common indentation are "
        "taken, when there is one such place. Everything else in the file stays as it is."
    ),
    params=ReplaceTextParams,
    run=run,
    preview=lambda params, context: writing.diff_of(plan(params, context, writing.PREVIEW)),
    touches=lambda params: [params.path],
)
