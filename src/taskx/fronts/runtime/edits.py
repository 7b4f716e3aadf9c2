"""edits/*: the edit log of the open workspace."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path

from taskx.edits import text as texts
from taskx.edits.log import EditLog, Pending
from taskx.edits.operation import Operation
from taskx.errors import InvalidParams
from taskx.fronts.runtime.dispatch import Context
from taskx.protocol.base import UNSET
from taskx.protocol.edits import (
    EditedFile,
    EditOperation,
    KeepResult,
    PathsParams,
    PendingFile,
    RevertResult,
    UndoParams,
    UndoResult,
)
from taskx.tools.context import changes_of

# Of one file's diff, and of all in one answer; what is beyond is left out.
DIFF_LIMIT = 64 * 1024
LIST_LIMIT = 8 * 1024 * 1024
# Of both sides of all files in one answer.
CONTENT_LIMIT = 16 * 1024 * 1024


async def log_of(context: Context) -> EditLog:
    app = context.app
    return await asyncio.to_thread(app.tools.edits, Path(app.workspace.summary().root))


async def list_operations(context: Context, params: None) -> list[EditOperation]:
    log = await log_of(context)
    return await asyncio.to_thread(_operations, log)


def _operations(log: EditLog) -> list[EditOperation]:
    room = LIST_LIMIT
    rows = []
    # The newest first, so that the room for diffs goes to them.
    for operation in reversed(log.operations()):
        row, used = _row(log, operation, room)
        room -= used
        rows.append(row)
    return rows[::-1]


def _row(log: EditLog, operation: Operation, room: int) -> tuple[EditOperation, int]:
    files = []
    used = 0
    for change, shown in zip(operation.changes, changes_of(operation), strict=True):
        diff = log.diff(operation, change) if used < room else ""
        if len(diff) > DIFF_LIMIT:
            diff = f"{diff[:DIFF_LIMIT]}\n[… {len(diff) - DIFF_LIMIT} characters left out]\n"
        used += len(diff)
        files.append(
            EditedFile(
                path=change.path,
                kind=shown.kind,
                added=change.added,
                removed=change.removed,
                diff=diff,
                status=change.status,
                moved=UNSET if change.moved is None else change.moved,
            )
        )
    row = EditOperation(
        id=str(operation.id),
        tool=operation.tool,
        task_id=operation.task_id,
        call_id=operation.call_id,
        time_ms=operation.time_ms,
        status=operation.status,
        too_old=operation.dropped,
        files=files,
    )
    return row, used


async def pending(context: Context, params: None) -> list[PendingFile]:
    log = await log_of(context)
    return await asyncio.to_thread(lambda: _pending(log.pending()))


def _pending(rows: Iterable[Pending]) -> list[PendingFile]:
    room = CONTENT_LIMIT
    files = []
    for row in rows:
        sides = [side for side in (row.original, row.current) if side is not None]
        size = sum(map(len, sides))
        binary = size > room or any(map(texts.is_binary, sides))
        if not binary:
            room -= size
        files.append(
            PendingFile(
                path=row.path,
                original=_text(row.original, binary),
                current=_text(row.current, binary),
                added=row.added,
                removed=row.removed,
                operations=[str(number) for number in row.operations],
                binary=True if binary else UNSET,
            )
        )
    return files


def _text(side: bytes | None, binary: bool) -> str | None:
    return None if side is None or binary else texts.decode(side).text


def _paths(context: Context, params: PathsParams) -> list[str] | None:
    """The given paths relative to the root. Raises InvalidParams for one that is outside."""
    if not isinstance(params.paths, list):
        return None
    root = os.path.realpath(context.app.workspace.summary().root)
    found = []
    for name in params.paths:
        whole = os.path.normpath(os.path.join(root, name))
        if whole != root and not whole.startswith(f"{root}/"):
            raise InvalidParams(f"params.paths: {name} is outside the workspace")
        found.append(os.path.relpath(whole, root))
    return found


async def _changed(context: Context, paths: list[str]) -> None:
    changed = getattr(context.app.workspace, "files_changed", None)
    if changed is not None and paths:
        await changed(paths)


async def keep(context: Context, params: PathsParams) -> KeepResult:
    log, paths = await log_of(context), _paths(context, params)
    return KeepResult(kept=await asyncio.to_thread(log.keep, paths))


async def revert(context: Context, params: PathsParams) -> RevertResult:
    log, paths = await log_of(context), _paths(context, params)
    reverted, conflicts = await asyncio.to_thread(log.revert, paths)
    await _changed(context, reverted)
    return RevertResult(reverted=reverted, conflicts=conflicts)


async def undo(context: Context, params: UndoParams) -> UndoResult:
    try:
        number = int(params.operation)
    except ValueError:
        raise InvalidParams("params.operation: expected the id of an operation") from None
    log = await log_of(context)
    restored, conflicts = await asyncio.to_thread(log.undo, number)
    await _changed(context, restored)
    return UndoResult(restored=restored, conflicts=conflicts)
