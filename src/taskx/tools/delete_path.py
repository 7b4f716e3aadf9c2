"""delete_path: a file, a link or a folder."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from taskx.edits.operation import Edit
from taskx.protocol.base import Wire
from taskx.tools import guard, trees, writing
from taskx.tools.context import Call, ToolContext, ToolResult
from taskx.tools.registry import Tool


class DeletePathParams(Wire, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="Path of the file or folder, relative to the workspace.")]


def plan(params: DeletePathParams, context: ToolContext, call: Call, check: bool) -> list[Edit]:
    place = guard.writable(context, params.path, call, follow=False)
    edits = trees.removals(place, params.path)
    if check:
        for edit in edits:
            context.reads.check(edit.path, edit.before, must_know=False)
    return edits


def preview(params: DeletePathParams, context: ToolContext) -> str:
    edits = plan(params, context, writing.PREVIEW, check=False)
    if len(edits) == 1:
        return writing.diff_of(edits) or f"delete {edits[0].path}\n"
    names = sorted(edit.path for edit in edits if edit.before.kind != "directory")
    return f"delete {params.path} with {len(names)} files:\n" + "\n".join(names)


async def run(params: DeletePathParams, context: ToolContext, call: Call) -> ToolResult:
    return await writing.apply(
        context, call, "delete_path", lambda: plan(params, context, call, check=True)
    )


TOOL = Tool(
    name="delete_path",
    tool_class="destructive",
    description=(
        "Deletes a file, a link (not its target) or a folder with all that is in it. It can be "
        "undone by the user."
    ),
    params=DeletePathParams,
    run=run,
    preview=preview,
    touches=lambda params: [params.path],
)
