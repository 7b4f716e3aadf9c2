"""What becomes of a step whose runtime was killed in the middle of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from taskx.edits import files
from taskx.edits.files import State
from taskx.edits.operation import Change
from taskx.errors import ToolError

Content = Callable[[State], bytes | None]


def recover(root: Path, changes: Sequence[Change], content: Content) -> bool:
    """True when every file is as the step wanted it; else what it had done is taken back.

    A file that is neither as before nor as wanted was changed by someone else, and stays; or it
    was half written in place, and is put back from its kept content.
    """
    for change in changes:
        _clear(root, change)
    states = [_look(root, change.path) for change in changes]
    if all(
        state is not None and _as_wanted(state, change.after)
        for (state, _), change in zip(states, changes, strict=True)
    ):
        return True
    for (state, data), change in zip(states, changes, strict=True):
        if state is not None:
            _restore(root, change, state, data, content)
    return False


def _look(root: Path, path: str) -> tuple[State | None, bytes]:
    try:
        return files.look(root, path)
    except ToolError:
        return None, b""


def _as_wanted(state: State, wanted: State) -> bool:
    return state.same(wanted) and (state.kind != "file" or state.mode == wanted.mode)


def _clear(root: Path, change: Change) -> None:
    """Removes the file beside the path that the step had not cleared away."""
    if not change.temp:
        return
    parent = change.path.rpartition("/")[0]
    beside = f"{parent}/{change.temp}" if parent else change.temp
    state, _ = _look(root, beside)
    if state is None or state.kind == "absent":
        return
    at, _ = _look(root, change.path)
    foreign = not state.same(change.before) and not state.same(change.after)
    swapped = at is not None and at.same(change.after) and change.before.kind == "file"
    removed = at is not None and at.kind == "absent" and change.after.kind == "absent"
    if foreign and (swapped or removed):
        # Someone's newer content was swapped out and not yet seen: it goes back.
        os.replace(os.path.join(root, beside), os.path.join(root, change.path))
    else:
        os.unlink(os.path.join(root, beside))


def _restore(root: Path, change: Change, state: State, data: bytes, content: Content) -> None:
    try:
        before, after = content(change.before) or b"", content(change.after) or b""
    except ToolError:
        return
    in_place = state.kind == change.before.kind == change.after.kind == "file"
    ours = state.same(change.after) or (in_place and torn(data, before, after))
    mode_only = state.same(change.before) and state.mode == change.after.mode
    if (ours and not state.same(change.before)) or (mode_only and in_place):
        with contextlib.suppress(ToolError):
            temp = files.temp_name(change.path)
            files.put(root, change.path, state, change.before, before, temp, [])


def torn(data: bytes, before: bytes, after: bytes) -> bool:
    """Whether `data` is a write of `after` over `before` in place that did not come to its end."""
    common = 0
    while common < min(len(data), len(after)) and data[common] == after[common]:
        common += 1
    return data[common:] == before[common:]
