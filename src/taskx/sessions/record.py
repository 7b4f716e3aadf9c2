"""The session log: `dataDir/sessions/ID.jsonl`, one object a line, appended to and never rewritten
except to drop a torn last line.

Version history of the format:
1. `sessionStart {version, session, pid, time}`, `itemStart {item, kind, time}`,
   `itemEnd {item, status, time}`, `sessionEnd {reason, time}`.

Every `itemStart` gets exactly one `itemEnd`. A process that dies writes nothing; the next one that
opens the log closes what was open and adds the end that is missing.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter

from taskx.private_files import make_private_folder
from taskx.sessions.lease import Lease, LeaseTaken, is_held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION = 1
ITEM_KINDS = frozenset({"task", "toolCall", "command", "subagent"})
_VALID_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}\Z")


def valid_id(session_id: str) -> bool:
    """Whether it can name a session: 1 to 128 of letters, digits, `.`, `_`, `-`; no leading dot."""
    return _VALID_ID.match(session_id) is not None


def fresh_id() -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.urandom(4).hex()}"


def sessions_dir(data_dir: str) -> str:
    return os.path.join(data_dir, "sessions")


def is_live(data_dir: str, session_id: str) -> bool:
    """Whether a live process holds the session."""
    return valid_id(session_id) and is_held(_lock_path(data_dir, session_id))


def _log_path(data_dir: str, session_id: str) -> str:
    return os.path.join(sessions_dir(data_dir), f"{session_id}.jsonl")


def _lock_path(data_dir: str, session_id: str) -> str:
    return os.path.join(sessions_dir(data_dir), f"{session_id}.lock")


class Session:
    """An open session. Without a data dir it is ephemeral: it has an id and writes nothing."""

    def __init__(self, session_id: str, data_dir: str | None) -> None:
        """Takes the lease, closes what an earlier process left open, writes `sessionStart`.

        Raises LeaseTaken, or OSError when the log cannot be written.
        """
        self.id = session_id
        self.data_dir = data_dir
        self._open_items: Counter[str] = Counter()
        self._lease: Lease | None = None
        self._fd = -1
        if data_dir is None:
            return
        make_private_folder(sessions_dir(data_dir))
        self._lease = Lease(_lock_path(data_dir, session_id), session_id)
        try:
            self._fd = _open_log(_log_path(data_dir, session_id))
            self._write(
                {"type": "sessionStart", "version": VERSION, "session": self.id, "pid": os.getpid()}
            )
        except BaseException:
            self.abandon()
            raise

    @property
    def durable(self) -> bool:
        return self.data_dir is not None

    def start_item(self, item: str, kind: str) -> None:
        """item: need not be unique (models name their own calls); each start has its end."""
        if kind not in ITEM_KINDS:
            raise ValueError(f"unknown item kind {kind!r}")
        self._open_items[item] += 1
        self._write({"type": "itemStart", "item": item, "kind": kind})

    def end_item(self, item: str, status: str) -> None:
        """Ends an item; an end without a start is ignored."""
        if self._open_items[item] > 0:
            self._open_items[item] -= 1
            self._write({"type": "itemEnd", "item": item, "status": status})

    def close(self, reason: str) -> None:
        """The durable end: ends open items, writes `sessionEnd`, syncs. Raises OSError."""
        if self._fd < 0:
            return
        for item in list(self._open_items.elements()):
            self.end_item(item, "interrupted")
        self._write({"type": "sessionEnd", "reason": reason})
        os.fsync(self._fd)
        self.abandon()

    def abandon(self) -> None:
        """Lets go of the log and the lease, with no end record."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        if self._lease is not None:
            self._lease.release()
            self._lease = None

    def _write(self, entry: dict[str, Any]) -> None:
        if self._fd >= 0:
            _append(self._fd, entry)


def _append(fd: int, entry: dict[str, Any]) -> None:
    entry["time"] = int(time.time() * 1000)
    line = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
    while line:
        line = line[os.write(fd, line) :]


def _open_log(path: str) -> int:
    """Opens a log for appending, reconciled."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        _reconcile(fd)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _reconcile(fd: int) -> None:
    """Drops a torn last line, then adds the ends that a crash left out. Needs the lease."""
    size = os.fstat(fd).st_size
    if size == 0:
        return
    with open(fd, "rb", closefd=False) as file:
        data = file.read()
    whole = data.rfind(b"\n") + 1
    if whole < size:
        os.ftruncate(fd, whole)
    open_items, ended = _replay(data[:whole])
    if ended:
        return
    for item in open_items:
        _append(fd, {"type": "itemEnd", "item": item, "status": "interrupted"})
    if whole:
        _append(fd, {"type": "sessionEnd", "reason": "crashInferred"})


def _replay(data: bytes) -> tuple[list[str], bool]:
    """The items still open at the end of a log, and whether its last session ended."""
    open_items: Counter[str] = Counter()
    ended = True
    for line in data.splitlines():
        try:
            entry = json.loads(line)
            kind = entry["type"]
        except (ValueError, KeyError, TypeError):
            continue  # a damaged line: what it said is lost, the others stand
        if kind == "sessionStart":
            ended = False
        elif kind == "itemStart":
            open_items[str(entry.get("item"))] += 1
        elif kind == "itemEnd":
            open_items[str(entry.get("item"))] -= 1
        elif kind == "sessionEnd":
            ended = True
    return list(open_items.elements()), ended


def reconcile_dead(data_dir: str, session_id: str) -> None:
    """Reconciles the log of a session whose process died; leaves a live one's alone."""
    path = _log_path(data_dir, session_id)
    if not valid_id(session_id) or not os.path.exists(path):
        return
    try:
        lease = Lease(_lock_path(data_dir, session_id), session_id)
    except LeaseTaken:
        return
    try:
        os.close(_open_log(path))
    finally:
        lease.release()
