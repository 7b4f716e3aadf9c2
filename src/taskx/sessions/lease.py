"""One live process per session: an OS lock, with the owner readable beside it.

The lock dies with its process, so that a lock file left behind is free. The file is never removed:
removing a locked file would let two processes hold "the same" lock.
"""

from __future__ import annotations

import fcntl
import json
import os
import time


class LeaseTaken(Exception):
    """Another live process holds the session; `owner_pid` where it is known."""

    def __init__(self, session_id: str, owner_pid: int | None) -> None:
        owner = f"process {owner_pid}" if owner_pid else "another process"
        super().__init__(f"session {session_id} is in use by {owner}")
        self.owner_pid = owner_pid


class Lease:
    """A held lock. `release` or the end of the process frees it."""

    __slots__ = ("_fd",)

    def __init__(self, path: str, session_id: str) -> None:
        """Raises LeaseTaken, or OSError when the lock file cannot be used."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _owner(fd)
            os.close(fd)
            raise LeaseTaken(session_id, owner) from None
        except OSError:
            os.close(fd)
            raise
        text = json.dumps({"pid": os.getpid(), "startTime": _now()})
        os.ftruncate(fd, 0)
        os.pwrite(fd, text.encode(), 0)
        self._fd = fd

    def release(self) -> None:
        if self._fd >= 0:
            os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = -1


def is_held(path: str) -> bool:
    """Whether a live process holds the lock at `path`."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _owner(fd: int) -> int | None:
    try:
        owner = json.loads(os.pread(fd, 4096, 0))["pid"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return owner if isinstance(owner, int) else None


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
