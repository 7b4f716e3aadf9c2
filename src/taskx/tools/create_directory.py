"""create_directory: a folder, with those above it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from taskx.edits import files
from taskx.edits.files import ABSENT, State
from taskx.edits.operation import Edit
from taskx.errors import ToolError
from taskx.protocol.base import Wire
from taskx.tools import writing
from taskx.tools.context import Call, ToolContext, ToolResult
from taskx.tools.registry import Tool


class CreateDirectoryParams(Wire, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="Path of the folder, relative to the workspace.")]


def plan(params: CreateDirectoryParams, context: ToolContext, call: Call) -> list[Edit]:
    place = writing.place_to_write(context, params.path, call)
    state, _ = files.look(context.root, place.rel)
    if state.kind == "directory":
        raise ToolError("invalidInput", f"{params.path} exists already")
    if state.kind != "absent":
        raise ToolError("invalidInput", f"{params.path} is a file")
    return [Edit(place.rel, ABSENT, State("directory"))]


async def run(params: CreateDirectoryParams, context: ToolContext, call: Call) -> ToolResult:
    return await writing.apply(
        context, call, "create_directory", lambda: plan(params, context, call)
    )


TOOL = Tool(
    name="create_directory",
    tool_class="write",
    description="Makes a folder. write_file and move_path make the folders they need themselves.",
    params=CreateDirectoryParams,
    run=run,
    preview=lambda params, context: f"make the folder {params.path}\n",
    touches=lambda params: [params.path],
)
