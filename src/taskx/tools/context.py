"""What a tool gets to work with, and what it gives back."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from taskx.edits.ledger import Ledger
from taskx.edits.log import EditLog
from taskx.edits.operation import Operation
from taskx.private_files import make_private_folder
from taskx.process.launch import Launcher
from taskx.process.output import Capture
from taskx.process.sandbox import Sandbox

ToolClass = Literal["read", "write", "execute", "destructive", "network", "agent"]
OnOutput = Callable[[str, str], None]

# A result longer than this is cut in the middle and kept whole in a file.
RESULT_LIMIT_BYTES = 64 * 1024


@dataclass(frozen=True)
class FileChange:
    """path: relative to the workspace. operation: its id in the edit log."""

    path: str
    operation: str
    kind: Literal["create", "modify", "delete", "move", "mode", "directory"]
    added: int
    removed: int


@dataclass
class ToolResult:
    """content: for the model, bounded. data: the same as JSON.

    background: of a command that goes on; its result is the command's. Cancelling it ends it.
    """

    content: str
    data: Any
    changes: list[FileChange] = field(default_factory=list)
    background: asyncio.Task[ToolResult] | None = None


@dataclass
class ToolContext:
    """One per task; one more for the client's own calls.

    root: real path. workspace: the open workspace's index, or None while there is none.
    sandbox: None when it is switched off. reads: what this task knows of files; shared by nobody.
    spill: folder for results that were too long. changed: told the paths that a tool changed, so
    that the index follows. diagnostics: the editor's, as it sent them.
    """

    root: Path
    edits: EditLog
    launcher: Launcher
    spill: Path
    workspace: Any = None
    sandbox: Sandbox | None = None
    task_id: str = ""
    command_timeout_ms: int = 120_000
    network: bool = False
    reads: Ledger = field(default_factory=Ledger)
    changed: Callable[[Sequence[str]], Awaitable[None]] | None = None
    diagnostics: Sequence[Any] = ()
    captures: dict[str, Capture] = field(default_factory=dict)

    def partial_output(self, call_id: str) -> str:
        """What a command of this call has printed so far, "" for other calls."""
        capture = self.captures.get(call_id)
        return capture.text() if capture is not None else ""

    async def tell_changed(self, paths: Sequence[str]) -> None:
        if self.changed is not None and paths:
            await self.changed(paths)


@dataclass(frozen=True)
class Call:
    """One call of a tool.

    secrets_ok: the user allowed this call to touch files that hold secrets.
    """

    id: str = ""
    on_output: OnOutput | None = None
    secrets_ok: bool = False

    def spill_path(self, context: ToolContext) -> Path:
        safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in self.id)[:80]
        return context.spill / f"{safe or 'result'}-{os.urandom(3).hex()}.txt"


def bounded(text: str, context: ToolContext, call: Call) -> str:
    """`text`, cut in the middle when it is long, with the name of the file that has it whole."""
    data = text.encode("utf-8", "replace")
    if len(data) <= RESULT_LIMIT_BYTES:
        return text
    path = call.spill_path(context)
    make_private_folder(path.parent)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as file:
        file.write(data)
    capture = Capture()
    capture.feed(data)
    return f"{capture.text()}\n{whole_in(path)}"


def whole_in(path: Path) -> str:
    return f"[the whole result is in {path}; read parts of it with read_file and line ranges]"


def changes_of(operation: Operation) -> list[FileChange]:
    """What an operation did to each file."""
    found = []
    for change in operation.changes:
        before, after = change.before, change.after
        kind: Literal["create", "modify", "delete", "move", "mode", "directory"]
        if "directory" in (before.kind, after.kind):
            kind = "directory"
        elif change.moved is not None and before.kind == "absent":
            kind = "move"
        elif before.kind == "absent":
            kind = "create"
        elif after.kind == "absent":
            kind = "delete"
        else:
            kind = "mode" if before.same(after) else "modify"
        found.append(FileChange(change.path, str(operation.id), kind, change.added, change.removed))
    return found


def summary(operation: Operation) -> str:
    """One line per changed file, for a model."""
    rows = []
    for change in changes_of(operation):
        counts = f" (+{change.added} -{change.removed})" if change.added or change.removed else ""
        rows.append(f"{change.kind} {change.path}{counts}")
    return "\n".join(rows)


def as_data(operation: Operation) -> dict[str, Any]:
    return {
        "operation": str(operation.id),
        "files": [
            {"path": c.path, "operation": c.kind, "added": c.added, "removed": c.removed}
            for c in changes_of(operation)
        ],
    }


def of_operation(operation: Operation, note: str = "") -> ToolResult:
    content = summary(operation) + (f"\n{note}" if note else "")
    return ToolResult(content, as_data(operation), changes_of(operation))
