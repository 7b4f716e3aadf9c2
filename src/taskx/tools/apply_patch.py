"""apply_patch: several changes in several files, all or none."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from taskx.edits import patch
from taskx.edits import text as texts
from taskx.edits.files import ABSENT, State, digest_of
from taskx.edits.operation import Edit
from taskx.edits.patch import FilePatch
from taskx.errors import ToolError
from taskx.protocol.base import Wire
from taskx.tools import writing
from taskx.tools.context import Call, ToolContext, ToolResult
from taskx.tools.registry import Tool


class ApplyPatchParams(Wire, frozen=True, kw_only=True):
    patch: Annotated[
        str,
        Meta(
            description="A unified diff (`--- a/path`, `+++ b/path`, `@@` hunks), or the form "
            "`*** Begin Patch`, `*** Update File: path`, `*** Add File: path`, "
            "`*** Delete File: path`, `*** Move to: path`, `*** End Patch`."
        ),
    ]


def plan(params: ApplyPatchParams, context: ToolContext, call: Call) -> list[Edit]:
    # A patch may name a file more than once: later parts see what earlier ones made.
    plans: dict[str, Edit] = {}
    for file in patch.parse(params.patch):
        _plan_file(file, context, call, plans)
    edits = [edit for edit in plans.values() if edit.before != edit.after]
    if not edits:
        raise ToolError("invalidInput", "the patch leaves every file as it is")
    return edits


def _now(context: ToolContext, path: str, call: Call, plans: dict[str, Edit]) -> Edit:
    """The file as it is after the parts before, as a change that changes nothing more."""
    place = writing.place_to_write(context, path, call)
    if place.rel in plans:
        return plans[place.rel]
    state, data = writing.look(context, place, path, must_know=False)
    return Edit(place.rel, state, state, data, data)


def _plan_file(file: FilePatch, context: ToolContext, call: Call, plans: dict[str, Edit]) -> None:
    edit = _now(context, file.path, call, plans)
    exists = edit.after.kind != "absent"
    if file.kind == "add":
        if exists:
            raise ToolError("invalidInput", f"{file.path} exists already; update it instead")
        new = texts.fresh(patch.added(file))
        _put(plans, edit, new, file.mode or writing.NEW_MODE)
        return
    if not exists:
        raise ToolError("notFound", f"no such file: {file.path}")
    if file.kind == "delete":
        plans[edit.path] = Edit(edit.path, edit.before, ABSENT, edit.old)
        return
    if texts.is_binary(edit.new) and file.hunks:
        raise ToolError("invalidInput", f"{file.path} is a binary file")
    new = patch.apply(edit.new, file) if file.hunks else edit.new
    mode = file.mode if file.mode is not None else edit.after.mode
    if file.move_to is None:
        _put(plans, edit, new, mode)
        return
    target = _now(context, file.move_to, call, plans)
    if target.path == edit.path:
        _put(plans, edit, new, mode)
        return
    if target.after.kind != "absent":
        raise ToolError("invalidInput", f"{file.move_to} exists already")
    plans[edit.path] = Edit(edit.path, edit.before, ABSENT, edit.old)
    _put(plans, target, new, mode)


def _put(plans: dict[str, Edit], edit: Edit, new: bytes, mode: int) -> None:
    after = State("file", digest_of(new), mode)
    plans[edit.path] = Edit(edit.path, edit.before, after, edit.old, new)


def touches(params: ApplyPatchParams) -> list[str]:
    files = patch.parse(params.patch)
    return [path for file in files for path in (file.path, file.move_to) if path is not None]


async def run(params: ApplyPatchParams, context: ToolContext, call: Call) -> ToolResult:
    return await writing.apply(context, call, "apply_patch", lambda: plan(params, context, call))


TOOL = Tool(
    name="apply_patch",
    tool_class="write",
    description=(
        "Applies a patch to one or more files: all of it, or nothing when one hunk does not fit. "
        "Give three lines of context around each change; line numbers need not be right. Can add, "
        "delete and rename files."
    ),
    params=ApplyPatchParams,
    run=run,
    preview=lambda params, context: writing.diff_of(plan(params, context, writing.PREVIEW)),
    touches=touches,
)
