"""What a command printed: head and tail in memory, the whole in a file."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from pathlib import Path

from taskx.private_files import make_private_folder

HEAD_BYTES = 16 * 1024
TAIL_BYTES = 48 * 1024
# A command that prints for ever must not fill the disk.
FILE_LIMIT_BYTES = 64 * 1024 * 1024


def decode(data: bytes) -> str:
    """Text of a command's bytes. What is not UTF-8, half a surrogate pair too, becomes U+FFFD."""
    return data.decode("utf-8", "replace")


def whole_characters(data: bytes) -> int:
    """Length of `data` without an incomplete UTF-8 sequence at its end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(data) - back if needed > back else len(data)
    return len(data)


class Capture:
    """Collects output; memory stays at head + tail whatever is printed.

    path: file that gets everything up to FILE_LIMIT_BYTES, made when head + tail overflow.
    """

    def __init__(
        self, path: Path | None = None, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES
    ) -> None:
        self._path = path
        self._head_bytes = head_bytes
        self._tail_bytes = tail_bytes
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_held = 0
        self._fd: int | None = None
        self._written = 0
        self.total_bytes = 0

    def feed(self, data: bytes) -> None:
        self.total_bytes += len(data)
        if self._fd is not None:
            self._write(data)
        room = self._head_bytes - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if not data:
            return
        self._tail.append(data)
        self._tail_held += len(data)
        if self._fd is None and self._tail_held > self._tail_bytes:
            self._spill()
        while self._tail_held - len(self._tail[0]) >= self._tail_bytes:
            self._tail_held -= len(self._tail.popleft())

    def _spill(self) -> None:
        if self._path is None:
            return
        make_private_folder(self._path.parent)
        self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._write(bytes(self._head))
        for piece in self._tail:
            self._write(piece)

    def _write(self, data: bytes) -> None:
        room = FILE_LIMIT_BYTES - self._written
        if self._fd is None or room <= 0:
            return
        # A full disk costs the tail of the file, not the command.
        with contextlib.suppress(OSError):
            self._written += os.write(self._fd, data[:room])

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    @property
    def cut(self) -> bool:
        return self.total_bytes > self._head_bytes + self._tail_bytes

    @property
    def file(self) -> Path | None:
        """The file with the whole output, when it did not fit."""
        return self._path if self.cut and self._written else None

    def text(self) -> str:
        """The output, with a note where its middle was left out."""
        tail = b"".join(self._tail)
        if not self.cut:
            return decode(bytes(self._head) + tail)
        tail = tail[-self._tail_bytes :]
        head = bytes(self._head[: whole_characters(bytes(self._head))])
        start = next((i for i in range(min(4, len(tail))) if tail[i] & 0xC0 != 0x80), 0)
        omitted = self.total_bytes - len(head) - len(tail) + start
        return f"{decode(head)}\n[… {omitted} bytes left out …]\n{decode(tail[start:])}"


class Deltas:
    """Turns one stream's bytes into bounded pieces of text for a live view.

    At most LIMIT_BYTES are kept between two `take` calls; what came before them is counted.
    """

    LIMIT_BYTES = 8 * 1024

    def __init__(self) -> None:
        self._held = b""
        self._dropped = 0

    def feed(self, data: bytes) -> None:
        held = self._held + data
        if len(held) > self.LIMIT_BYTES:
            self._dropped += len(held) - self.LIMIT_BYTES
            held = held[-self.LIMIT_BYTES :]
        self._held = held

    def take(self, last: bool = False) -> str:
        """What came since the last call; an incomplete character waits for its rest."""
        length = len(self._held) if last else whole_characters(self._held)
        text = decode(self._held[:length])
        self._held = self._held[length:]
        if self._dropped:
            text = f"\n[… {self._dropped} bytes …]\n{text}"
            self._dropped = 0
        return text
