"""Stored tasks: `dataDir/tasks/ID.json`, written whole and atomically.

Version history of the format:
1. `{"version": 1, "status", "session", "taskId", ...}`, in this order: the status of a task is
   known from the first bytes of its file.

Imported before `initialize` is answered, so it needs little.
"""

from __future__ import annotations

import json
import os

from taskx.private_files import write_atomically
from taskx.sessions import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION = 1
INTERRUPTED = "the runtime ended while the task was running"

_HEAD = b'{"version":1,"status":"'


def tasks_dir(data_dir: str) -> str:
    return os.path.join(data_dir, "tasks")


def mark_interrupted(data_dir: str, own_session: str) -> list[str]:
    """Marks every task still `running` as `failed`, unless a live process holds its session.

    Nothing can be running before the first request, so such a record belongs to a runtime that was
    killed; its session log is reconciled with it. A record that cannot be read is set aside as
    `*.bad`. Returns the ids that were marked. Source: protocol v1, `initialize`.
    """
    marked = []
    try:
        entries = sorted(os.scandir(tasks_dir(data_dir)), key=lambda entry: entry.name)
    except FileNotFoundError:
        return []
    for entry in entries:
        if not entry.name.endswith(".json") or not entry.is_file():
            continue
        if _status(entry.path) != "running":
            continue
        task = _load(entry.path)
        if task is None or task.get("status") != "running":
            continue
        session = str(task.get("session", ""))
        if session != own_session and record.is_live(data_dir, session):
            continue
        task["status"] = "failed"
        task["error"] = {"message": INTERRUPTED}
        summary = task.get("summary")
        if isinstance(summary, dict):
            summary["status"] = "failed"
            summary["error"] = {"message": INTERRUPTED}
        write_atomically(entry.path, json.dumps(task, separators=(",", ":")).encode())
        if session != own_session:
            record.reconcile_dead(data_dir, session)
        marked.append(entry.name.removesuffix(".json"))
    return marked


def _status(path: str) -> str:
    """The status in a record's first bytes; "running" when it must be read whole to know."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    head = os.read(fd, 64)
    os.close(fd)
    if not head.startswith(_HEAD):
        return "running"
    return head[len(_HEAD) :].partition(b'"')[0].decode("ascii", "replace")


def _load(path: str) -> dict[str, Any] | None:
    try:
        with open(path, "rb") as file:
            task = json.load(file)
    except (ValueError, RecursionError):
        task = None
    if not isinstance(task, dict):
        os.replace(path, f"{path}.bad")
        return None
    return task
