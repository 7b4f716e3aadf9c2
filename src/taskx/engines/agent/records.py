"""A task on disk, saved after every turn, and read back to list, load or continue it.

Messages are encoded once: a record costs what is new plus one write.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from taskx.engines import tasks
from taskx.private_files import make_private_folder, write_atomically
from taskx.protocol.agent import StoredTask, Summary, TaskEntry
from taskx.protocol.chat import Message

MAX_TITLE_CHARS = 80


class Record:
    """Writes one task's file. `data_dir` None keeps nothing."""

    def __init__(
        self, data_dir: Path | None, task_id: str, session: str, title: str, created_ms: int
    ) -> None:
        self._data_dir = data_dir
        self._task_id = task_id
        self._session = session
        self._title = title
        self._created_ms = created_ms
        self._encoded: dict[int, tuple[Message, bytes]] = {}

    def write(self, summary: Summary, messages: Sequence[Message]) -> None:
        """Blocking; call it in a thread. Replaces the file atomically."""
        if self._data_dir is None:
            return
        fields = {
            "session": self._session,
            "taskId": self._task_id,
            "title": self._title,
            "createdMs": self._created_ms,
            "updatedMs": now_ms(),
            "summary": msgspec.to_builtins(summary),
        }
        body = b",".join(self._encode(message) for message in messages)
        head = json.dumps(fields, separators=(",", ":")).encode("utf-8", "replace")
        record = b'{"version":%d,"status":"%s",%s,"messages":[%s]}' % (
            tasks.VERSION,
            summary.status.encode(),
            head[1:-1],
            body,
        )
        folder = tasks.tasks_dir(str(self._data_dir))
        make_private_folder(folder)
        write_atomically(os.path.join(folder, f"{self._task_id}.json"), record)

    def _encode(self, message: Message) -> bytes:
        known = self._encoded.get(id(message))
        if known is None:
            # The message is kept beside its bytes, so that its id stays its own.
            known = self._encoded[id(message)] = (message, msgspec.json.encode(message))
        return known[1]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def title_of(prompt: str) -> str:
    """The first line of a prompt, short enough for a list."""
    line = next((line.strip() for line in prompt.splitlines() if line.strip()), "task")
    return line if len(line) <= MAX_TITLE_CHARS else line[: MAX_TITLE_CHARS - 1] + "…"


def load(data_dir: Path, task_id: str) -> dict[str, Any] | None:
    """A record as plain data; None when there is none or it cannot be read."""
    try:
        record = json.loads((tasks_folder(data_dir) / f"{task_id}.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and record.get("taskId") == task_id else None


def stored(data_dir: Path, task_id: str) -> StoredTask | None:
    record = load(data_dir, task_id)
    if record is None:
        return None
    try:
        return StoredTask(
            summary=msgspec.convert(record.get("summary"), Summary),
            messages=msgspec.convert(record.get("messages"), list[dict[str, Any]]),
            title=str(record.get("title", "")),
        )
    except msgspec.ValidationError:
        return None


@dataclass(slots=True)
class Kept:
    """What a task that goes on takes over from its record; empty when there is none."""

    messages: list[Message] = field(default_factory=list)
    title: str = ""
    created_ms: int = 0


def kept(data_dir: Path, task_id: str) -> Kept:
    """The conversation of a stored task with its name and age; empty when it cannot be read."""
    record = load(data_dir, task_id) or {}
    try:
        return Kept(
            msgspec.convert(record.get("messages", []), list[Message]),
            msgspec.convert(record.get("title", ""), str),
            msgspec.convert(record.get("createdMs", 0), int),
        )
    except msgspec.ValidationError:
        return Kept()


def entries(data_dir: Path) -> list[TaskEntry]:
    """The list, newest first. A record that cannot be read is left out."""
    found = []
    for path in tasks_folder(data_dir).glob("*.json"):
        record = load(data_dir, path.stem)
        if record is None:
            continue
        try:
            summary = msgspec.convert(record.get("summary"), Summary)
            created_ms, updated_ms = int(record["createdMs"]), int(record["updatedMs"])
        except (msgspec.ValidationError, KeyError, TypeError, ValueError):
            continue
        found.append(
            TaskEntry(
                task_id=path.stem,
                title=str(record.get("title", "")),
                status=summary.status,
                model=summary.model,
                created_ms=created_ms,
                updated_ms=updated_ms,
                cost_usd=summary.metrics.cost_usd,
            )
        )
    return sorted(found, key=lambda entry: (-entry.updated_ms, entry.task_id))


def delete(data_dir: Path, task_id: str) -> bool:
    """Whether there was such a record."""
    try:
        (tasks_folder(data_dir) / f"{task_id}.json").unlink()
    except FileNotFoundError:
        return False
    return True


def tasks_folder(data_dir: Path) -> Path:
    return Path(tasks.tasks_dir(str(data_dir)))
