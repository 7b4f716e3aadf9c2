"""The edit log on disk: a journal of checked lines, contents by their digest, one lock.

A line is `CRC32 JSON LF`. The first is a header. A reader takes lines up to the first that is
torn or wrong; the rest is set aside, so the last good state is there whatever happened.

Format versions: 1, the first.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from taskx.edits.files import digest_of
from taskx.errors import ToolError
from taskx.private_files import make_private_folder, write_atomically

VERSION = 1
LOCK_TIMEOUT_S = 10

Record = dict[str, Any]


class Store(Protocol):
    """Where the log keeps records and contents."""

    def locked(self) -> contextlib.AbstractContextManager[None]:
        """Excludes every other runtime meanwhile."""

    def read_new(self) -> tuple[bool, list[Record]]:
        """Records since the last call; True first when they start over. Only while locked."""

    def append(self, record: Record, sync: bool) -> None: ...

    def rewrite(self, records: list[Record]) -> None: ...

    def put(self, data: bytes) -> str: ...

    def get(self, digest: str) -> bytes: ...

    def forget(self, digest: str) -> None: ...


class MemoryStore:
    """For a runtime without a data dir."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        yield

    def read_new(self) -> tuple[bool, list[Record]]:
        return False, []

    def append(self, record: Record, sync: bool) -> None:
        pass

    def rewrite(self, records: list[Record]) -> None:
        pass

    def put(self, data: bytes) -> str:
        digest = digest_of(data)
        self._contents[digest] = data
        return digest

    def get(self, digest: str) -> bytes:
        try:
            return self._contents[digest]
        except KeyError:
            raise ToolError("unavailable", "the earlier content is not kept any more") from None

    def forget(self, digest: str) -> None:
        self._contents.pop(digest, None)


def encode(record: Record) -> bytes:
    body = json.dumps(record, separators=(",", ":"), ensure_ascii=True).encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def decode(line: bytes) -> Record | None:
    """The record of a line without its LF, None when it is damaged."""
    try:
        if line[8:9] != b" " or int(line[:8], 16) != zlib.crc32(line[9:]):
            return None
        record = json.loads(line[9:])
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


class DiskStore:
    """In `data_dir/checkpoints/<workspace>/`. Several runtimes may use one."""

    def __init__(self, data_dir: Path, root: Path) -> None:
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
        self.folder = data_dir / "checkpoints" / name
        self._contents = self.folder / "contents"
        make_private_folder(self._contents)
        self._journal = self.folder / "log"
        self._root = str(root)
        self._offset = 0
        self._inode = -1

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        fd = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            end = time.monotonic() + LOCK_TIMEOUT_S
            while True:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise ToolError(
                            "unavailable", "another runtime holds the edit log of this workspace"
                        ) from None
                    time.sleep(0.005)
            yield
        finally:
            os.close(fd)

    def read_new(self) -> tuple[bool, list[Record]]:
        try:
            status = os.stat(self._journal)
        except FileNotFoundError:
            self._start([])
            return True, []
        fresh = status.st_ino != self._inode or status.st_size < self._offset
        if fresh:
            self._offset = 0
            self._inode = status.st_ino
        elif status.st_size == self._offset:
            return False, []
        with open(self._journal, "rb") as file:
            file.seek(self._offset)
            data = file.read()
        records, good = _read(data)
        if good < len(data):
            self._set_aside(data[good:], self._offset + good)
        self._offset += good
        if not fresh:
            return False, records
        header = records[0] if records else {}
        if header.get("version") != VERSION or header.get("root") != self._root:
            os.replace(self._journal, self._free_name("log.bad"))
            self._start([])
            return True, []
        return True, records[1:]

    def _set_aside(self, rest: bytes, at: int) -> None:
        self._free_name("log.bad").write_bytes(rest)
        os.truncate(self._journal, at)

    def _free_name(self, stem: str) -> Path:
        number = 1
        while (path := self.folder / f"{stem}-{number}").exists():
            number += 1
        return path

    def _start(self, records: list[Record]) -> None:
        header = {"t": "header", "version": VERSION, "root": self._root}
        data = b"".join(encode(record) for record in [header, *records])
        write_atomically(self._journal, data)
        self._offset = len(data)
        self._inode = os.stat(self._journal).st_ino

    def append(self, record: Record, sync: bool) -> None:
        """sync: whether it must survive a power cut before the next step."""
        data = encode(record)
        fd = os.open(self._journal, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            written = os.write(fd, data)
            if written != len(data):
                os.ftruncate(fd, self._offset)
                raise ToolError("failed", "the edit log could not be written: the disk is full")
            if sync:
                os.fsync(fd)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(fd, self._offset)
            raise ToolError("failed", f"the edit log could not be written: {error}") from error
        finally:
            os.close(fd)
        self._offset += len(data)

    def rewrite(self, records: list[Record]) -> None:
        self._start(records)

    def put(self, data: bytes) -> str:
        digest = digest_of(data)
        path = self._path(digest)
        if not path.exists():
            path.parent.mkdir(exist_ok=True, mode=0o700)
            try:
                write_atomically(path, data)
            except OSError as error:
                raise ToolError("failed", f"the earlier content cannot be kept: {error}") from error
        return digest

    def get(self, digest: str) -> bytes:
        try:
            data = self._path(digest).read_bytes()
        except OSError as error:
            raise ToolError("unavailable", "the earlier content is not kept any more") from error
        if digest_of(data) != digest:
            raise ToolError("unavailable", "the kept content is damaged")
        return data

    def forget(self, digest: str) -> None:
        with contextlib.suppress(OSError):
            self._path(digest).unlink()

    def _path(self, digest: str) -> Path:
        return self._contents / digest[:2] / digest


def _read(data: bytes) -> tuple[list[Record], int]:
    """Good records at the start of `data`, and the length they take."""
    records = []
    good = 0
    while (end := data.find(b"\n", good)) >= 0:
        record = decode(data[good:end])
        if record is None:
            break
        records.append(record)
        good = end + 1
    return records, good
