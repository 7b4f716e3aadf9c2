"""Which file is being parsed, written where a crash leaves it behind.

Each process that indexes has a file `journal-*` in the store's folder, locked while it lives and
mapped: one slot per worker, with the paths of its batch and the number of the file at hand, which
the analyzer keeps up to date by a plain store. Death of the process, of whatever kind, leaves the
page with the kernel. The next process finds the journal unlocked and remembers the file in
`suspects.json` with its size and mtime. One death proves nothing, as any process may be killed at
any moment: a file with one strike is parsed again, and its strike is taken back when that goes
well. As long as its size and mtime hold, a file with TEXT_STRIKES is read as plain text, one with
more is left out. Strikes are forgotten after FORGET_DAYS.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import mmap
import os
import secrets
import struct
import time
from collections.abc import Iterable
from pathlib import Path

from taskx.private_files import make_private_folder, write_atomically

SLOT = 65536
HEAD = struct.Struct("<iI")
FORGET_DAYS = 7
TEXT_STRIKES = 2
IDLE = -1


class Journal:
    """The journal of this process. Without a folder it lives in memory only."""

    def __init__(self, folder: Path | None, workers: int) -> None:
        self._path: Path | None = None
        self._descriptor = -1
        size = SLOT * workers
        if folder is not None:
            with contextlib.suppress(OSError):
                make_private_folder(folder)
                path = folder / f"journal-{secrets.token_hex(8)}"
                self._descriptor = os.open(
                    path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600
                )
                self._path = path
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Allocated, not only sized: a full disk must fail here and not as a signal.
                os.posix_fallocate(self._descriptor, 0, size)
                self._map = mmap.mmap(self._descriptor, size)
                self._reset(workers)
                return
        self.close()
        self._map = mmap.mmap(-1, size)
        self._reset(workers)

    def _reset(self, workers: int) -> None:
        for worker in range(workers):
            HEAD.pack_into(self._map, worker * SLOT, IDLE, 0)

    def slot(self, worker: int) -> memoryview[int]:
        """int32[1]: the number of the file at hand in the batch begun last, or -1."""
        view = memoryview(self._map)
        return view[worker * SLOT : worker * SLOT + 4].cast("i")

    def begin(self, worker: int, paths: bytes) -> None:
        """A batch is about to be parsed. paths: joined by NUL; cut when there are very many."""
        start = worker * SLOT
        data = paths[: SLOT - HEAD.size]
        HEAD.pack_into(self._map, start, IDLE, len(data))
        self._map[start + HEAD.size : start + HEAD.size + len(data)] = data

    def close(self) -> None:
        """The process is done with parsing: nothing is left behind."""
        if self._path is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._path, self._descriptor = None, -1


def collect(folder: Path, root: bytes) -> dict[bytes, int]:
    """Strikes by path, of files that still are as they were when a process died over them."""
    suspects = _read(folder / "suspects.json")
    now = int(time.time())
    changed = False
    try:
        journals = [e for e in os.scandir(folder) if e.name.startswith("journal-")]
    except OSError:
        return {}
    for entry in journals:
        for path in _dead(entry.path):
            identity = _identity(root, path)
            if identity is None:
                continue
            old = suspects.get(path.hex())
            strikes = old[0] + 1 if old is not None and old[1:3] == identity else 1
            suspects[path.hex()] = [strikes, *identity, now]
            changed = True
    kept = {
        name: row
        for name, row in suspects.items()
        if now - row[3] < FORGET_DAYS * 86400 and _identity(root, bytes.fromhex(name)) == row[1:3]
    }
    if changed or len(kept) != len(suspects):
        _write(folder, kept)
    return {bytes.fromhex(name): row[0] for name, row in kept.items()}


def forgive(folder: Path, paths: Iterable[bytes]) -> None:
    """Takes back the strikes of files that were parsed to the end."""
    suspects = _read(folder / "suspects.json")
    parsed = {path.hex() for path in paths}
    kept = {name: row for name, row in suspects.items() if name not in parsed}
    if len(kept) != len(suspects):
        _write(folder, kept)


def _write(folder: Path, suspects: dict[str, list[int]]) -> None:
    with contextlib.suppress(OSError):
        write_atomically(folder / "suspects.json", json.dumps(suspects).encode(), sync=False)


def _read(path: Path) -> dict[str, list[int]]:
    try:
        rows = json.loads(path.read_bytes())
        return {
            str(name): [int(row[0]), int(row[1]), int(row[2]), int(row[3])]
            for name, row in rows.items()
            if bytes.fromhex(name)
        }
    except (OSError, ValueError, TypeError, AttributeError, IndexError, KeyError):
        return {}


def _identity(root: bytes, path: bytes) -> list[int] | None:
    try:
        status = os.lstat(os.path.join(root, path))
    except (OSError, ValueError):
        return None
    return [status.st_size, status.st_mtime_ns]


def _dead(path: str) -> list[bytes]:
    """The files that a dead process had at hand; its journal is removed. [] while it lives."""
    found = []
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return []
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        data = os.pread(descriptor, SLOT * 64, 0)
        for start in range(0, len(data) - HEAD.size, SLOT):
            number, length = HEAD.unpack_from(data, start)
            names = data[start + HEAD.size : start + HEAD.size + length].split(b"\0")
            if 0 <= number < len(names) and names[number]:
                found.append(names[number])
        os.unlink(path)
    except OSError:
        pass
    finally:
        os.close(descriptor)
    return found
