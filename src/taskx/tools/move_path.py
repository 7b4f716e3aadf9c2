"""move_path: renames or moves a file, a link or a folder."""

from __future__ import annotations

import os
from typing import Annotated

import msgspec
from msgspec import Meta

from taskx.edits import files
from taskx.edits.files import ABSENT
from taskx.edits.operation import Edit, Operation
from taskx.errors import ToolError
from taskx.protocol.base import Wire
from taskx.tools import guard, trees, writing
from taskx.tools.context import Call, ToolContext, ToolResult
from taskx.tools.registry import Tool


class MovePathParams(Wire, frozen=True, kw_only=True):
    source: Annotated[
        str, Meta(description="Path of what is moved, relative to the workspace.")
    ] = msgspec.field(name="from")
    to: Annotated[str, Meta(description="Its new path, not the folder it goes into.")]


def plan(
    params: MovePathParams, context: ToolContext, call: Call
) -> tuple[list[Edit], tuple[str, str]]:
    source = guard.writable(context, params.source, call, follow=False)
    target = guard.writable(context, params.to, call, follow=False)
    if target.rel == source.rel or target.rel.startswith(f"{source.rel}/"):
        raise ToolError("invalidInput", f"{params.to} is {params.source} itself or inside it")
    at, _ = files.look(context.root, target.rel)
    if at.kind == "directory":
        raise ToolError(
            "invalidInput",
            f"{params.to} is a folder; name the new path in it: "
            f"{params.to.rstrip('/')}/{os.path.basename(source.rel)}",
        )
    if at.kind != "absent" and not os.path.samefile(source.path, target.path):
        raise ToolError("invalidInput", f"{params.to} exists already")
    edits = []
    for edit in trees.removals(source, params.source):
        context.reads.check(edit.path, edit.before, must_know=False)
        moved = target.rel + edit.path[len(source.rel) :]
        edits += [edit, Edit(moved, ABSENT, edit.before, b"", edit.old)]
    return edits, (source.rel, target.rel)


async def run(params: MovePathParams, context: ToolContext, call: Call) -> ToolResult:
    def make() -> Operation:
        edits, pair = plan(params, context, call)
        return context.edits.apply(
            edits,
            tool="move_path",
            task_id=context.task_id,
            call_id=call.id,
            renames=[pair],
        )

    return await writing.finish(context, make)


TOOL = Tool(
    name="move_path",
    tool_class="write",
    description="Renames or moves a file, link or folder; missing folders are made.",
    params=MovePathParams,
    run=run,
    preview=lambda params, context: f"move {params.source} to {params.to}\n",
    touches=lambda params: [params.source, params.to],
)
