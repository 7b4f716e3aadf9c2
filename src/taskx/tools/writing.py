"""What the write tools share: a planned change from a path and its new content."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from taskx.edits import diff, files
from taskx.edits.files import State, digest_of
from taskx.edits.operation import Edit, Operation
from taskx.edits.paths import Place
from taskx.errors import ToolError
from taskx.tools import guard
from taskx.tools.context import Call, ToolContext, ToolResult, of_operation

NEW_MODE = 0o644


def look(context: ToolContext, place: Place, name: str, must_know: bool) -> tuple[State, bytes]:
    """The file as it is, checked against what the task has read. Raises ToolError."""
    state, data = files.look(context.root, place.rel)
    if state.kind == "directory":
        raise ToolError("invalidInput", f"{name} is a folder")
    context.reads.check(place.rel, state, must_know)
    return state, data


def content_edit(place: Place, state: State, old: bytes, new: bytes, mode: int | None) -> Edit:
    """A change of content; `mode` None keeps the file's own."""
    bits = mode if mode is not None else state.mode if state.kind == "file" else NEW_MODE
    return Edit(place.rel, state, State("file", digest_of(new), bits), old, new)


async def apply(
    context: ToolContext, call: Call, tool: str, plan: Callable[[], list[Edit]], note: str = ""
) -> ToolResult:
    """Plans and makes a change in a worker thread, then tells ledger and index.

    A change that has begun is completed even when the caller is cancelled meanwhile.
    """
    return await finish(
        context,
        lambda: context.edits.apply(plan(), tool=tool, task_id=context.task_id, call_id=call.id),
        note,
    )


async def finish(context: ToolContext, make: Callable[[], Operation], note: str = "") -> ToolResult:
    work = asyncio.create_task(asyncio.to_thread(make))
    try:
        operation = await asyncio.shield(work)
    except asyncio.CancelledError:
        # Whatever becomes of it, it must not go on unseen.
        await asyncio.wait({work})
        if not work.cancelled() and work.exception() is None:
            _note(context, work.result())
        raise
    _note(context, operation)
    await context.tell_changed([change.path for change in operation.changes])
    return of_operation(operation, note)


def _note(context: ToolContext, operation: Operation) -> None:
    for change in operation.changes:
        context.reads.saw(change.path, change.after)


def diff_of(edits: list[Edit]) -> str:
    """Unified diffs of planned changes, for a preview."""
    parts = []
    for edit in edits:
        old = edit.old if edit.before.kind in ("file", "link") else None
        new = edit.new if edit.after.kind in ("file", "link") else None
        text = diff.unified(edit.path, edit.path, old, new)
        if edit.before.mode != edit.after.mode and old is not None and new is not None:
            text += f"mode of {edit.path}: {edit.before.mode:o} -> {edit.after.mode:o}\n"
        parts.append(text)
    return "".join(parts)


def place_to_write(context: ToolContext, name: str, call: Call) -> Place:
    return guard.writable(context, name, call)


PREVIEW = Call(secrets_ok=True)
