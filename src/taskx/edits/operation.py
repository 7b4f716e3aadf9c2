"""One entry of the edit log, and its form in the journal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from taskx.edits.files import State

Status = Literal["pending", "kept", "reverted", "undone"]


@dataclass(frozen=True)
class Edit:
    """A change that is planned. old, new: contents (a link's target for links)."""

    path: str
    before: State
    after: State
    old: bytes = b""
    new: bytes = b""


@dataclass
class Change:
    """A change that was made to one path.

    moved: the other path, when the file came from or went there.
    linked: whether `before` is what the log last left there: no foreign change lies between.
    temp: name beside the path that the step used. folders: those it made for the path.
    """

    path: str
    before: State
    after: State
    moved: str | None = None
    linked: bool = True
    added: int = 0
    removed: int = 0
    temp: str = ""
    folders: list[str] = field(default_factory=list)
    status: Status = "pending"


@dataclass
class Operation:
    """What one tool call changed. dropped: its contents are not kept any more."""

    id: int
    tool: str
    task_id: str
    call_id: str
    time_ms: int
    changes: list[Change]
    dropped: bool = False

    @property
    def status(self) -> Status:
        states = {change.status for change in self.changes}
        for status in ("pending", "kept", "reverted", "undone"):
            if status in states:
                return status
        return "kept"

    @property
    def settled(self) -> bool:
        return self.status != "pending"


def _state(state: State) -> list[Any]:
    return [state.kind, state.digest, state.mode]


def _to_state(row: list[Any]) -> State:
    return State(row[0], row[1], row[2])


def change_record(change: Change) -> dict[str, Any]:
    record: dict[str, Any] = {
        "path": change.path,
        "before": _state(change.before),
        "after": _state(change.after),
        "added": change.added,
        "removed": change.removed,
        "linked": change.linked,
        "status": change.status,
    }
    for name in ("moved", "temp", "folders"):
        if getattr(change, name):
            record[name] = getattr(change, name)
    return record


def change_from(record: dict[str, Any]) -> Change:
    return Change(
        path=record["path"],
        before=_to_state(record["before"]),
        after=_to_state(record["after"]),
        moved=record.get("moved"),
        linked=record["linked"],
        added=record["added"],
        removed=record["removed"],
        temp=record.get("temp", ""),
        folders=record.get("folders", []),
        status=record["status"],
    )


def operation_record(operation: Operation) -> dict[str, Any]:
    return {
        "id": operation.id,
        "tool": operation.tool,
        "task": operation.task_id,
        "call": operation.call_id,
        "time": operation.time_ms,
        "dropped": operation.dropped,
        "changes": [change_record(change) for change in operation.changes],
    }


def operation_from(record: dict[str, Any]) -> Operation:
    return Operation(
        id=record["id"],
        tool=record["tool"],
        task_id=record["task"],
        call_id=record["call"],
        time_ms=record["time"],
        dropped=record["dropped"],
        changes=[change_from(change) for change in record["changes"]],
    )
