"""Types of `edits/list`, `edits/pending`, `edits/keep`, `edits/revert` and `edits/undo`."""

from __future__ import annotations

from typing import Literal

from taskx.protocol.base import UNSET, UnsetType, Wire

EditStatus = Literal["pending", "kept", "reverted", "undone"]


class EditedFile(Wire, frozen=True, kw_only=True):
    """One file of an operation. diff: unified, "" when its contents are not kept any more.

    moved: the other path of a move.
    """

    path: str
    kind: Literal["create", "modify", "delete", "move", "mode", "directory"]
    added: int
    removed: int
    diff: str
    status: EditStatus
    moved: str | UnsetType = UNSET


class EditOperation(Wire, frozen=True, kw_only=True):
    """An entry of the edit log: what one tool call changed. too_old: it cannot be undone."""

    id: str
    tool: str
    task_id: str
    call_id: str
    time_ms: int
    status: EditStatus
    too_old: bool
    files: list[EditedFile]


class PendingFile(Wire, frozen=True, kw_only=True):
    """Net unsettled change of one file. None for an absent side; binary: neither is given."""

    path: str
    original: str | None
    current: str | None
    added: int
    removed: int
    operations: list[str]
    binary: bool | UnsetType = UNSET


class PathsParams(Wire, frozen=True, kw_only=True):
    """paths: files or folders, absolute or relative to the root. Default: all."""

    paths: list[str] | UnsetType | None = UNSET


class KeepResult(Wire, frozen=True, kw_only=True):
    kept: list[str]


class RevertResult(Wire, frozen=True, kw_only=True):
    """conflicts: files that changed after the edit; they are left as they are."""

    reverted: list[str]
    conflicts: list[str]


class UndoParams(Wire, frozen=True, kw_only=True):
    operation: str | int


class UndoResult(Wire, frozen=True, kw_only=True):
    restored: list[str]
    conflicts: list[str]
