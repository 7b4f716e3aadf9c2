"""A file's text at this moment, decoded by the rules the index uses.

Binary, too large and minified files have no text here. A file is opened below the root without
passing through links, and must be a regular one.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from typing import Literal

# The limits of the index (decisions on scanning): larger files are listed, not read.
MAX_FILE_BYTES = 4 * 1024 * 1024

Encoding = Literal["utf-8", "latin-1", "utf-16-le", "utf-16-be"]

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OPEN_FOLDER = _OPEN | os.O_DIRECTORY


# How much of a file shows whether it is text, and the bytes that text does not have.
_SAMPLE_BYTES = 4096
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class FileText:
    """text: as on disk, without a byte order mark; a NUL is a space. size, mtime_ns: of the bytes.

    Lines end at `\\n` alone; a `\\r` before it is part of the line.
    """

    text: str
    encoding: Encoding
    size: int
    mtime_ns: int


def open_below(root: bytes, path: bytes) -> int | None:
    """A descriptor of a regular file below root, reached without a link, or None.

    path: relative, `/` separated. Every folder is opened from the one above it, so that no link
    put there meanwhile leads outside.
    """
    parts = path.split(b"/")
    if any(part in (b"", b".", b"..") for part in parts) or b"\0" in path:
        return None
    try:
        at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        for part in parts[:-1]:
            below = os.open(part, _OPEN_FOLDER, dir_fd=at)
            os.close(at)
            at = below
        fd = os.open(parts[-1], _OPEN, dir_fd=at)
    except OSError:
        return None
    finally:
        os.close(at)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    return None


def decode(data: bytes, *, code: bool) -> tuple[str, Encoding] | None:
    """Text by the rules of the index, or None for what it takes for binary.

    UTF-16 where a byte order mark says so, UTF-8 where the bytes are valid, else Latin-1. A few
    NUL bytes are let pass in code (a language other than plain text), none elsewhere.
    """
    encoding: Encoding | None = None
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") and data[:4] != b"\xff\xfe\0\0":
        encoding = "utf-16-le" if data[0] == 0xFF else "utf-16-be"
        data = data[2:].decode(encoding, "replace").encode("utf-8", "replace")
    nuls = data.count(0)
    if nuls:
        if not code or nuls * 100 > len(data) + 800:
            return None
        data = data.replace(b"\0", b" ")
    sample = data[:_SAMPLE_BYTES]
    odd = len(_CONTROL.findall(sample))
    if odd > 8 and odd * 16 > len(sample):
        return None
    try:
        return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8"), encoding or "utf-8"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "latin-1"


def read_below(root: bytes, path: bytes, *, code: bool = True) -> FileText | None:
    """The file's text as it is now, or None: gone, no regular file, too large, binary, changing.

    A file that is written while it is read is read once more, then given up.
    """
    for _ in range(2):
        fd = open_below(root, path)
        if fd is None:
            return None
        with open(fd, "rb", buffering=0) as file:
            before = os.fstat(fd)
            if before.st_size > MAX_FILE_BYTES:
                return None
            try:
                data = _read_all(file.fileno(), MAX_FILE_BYTES + 1)
            except OSError:
                return None
            after = os.fstat(fd)
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns) and len(
            data
        ) == before.st_size:
            decoded = decode(data, code=code)
            if decoded is None:
                return None
            return FileText(*decoded, len(data), after.st_mtime_ns)
    return None


def _read_all(fd: int, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while size < limit:
        part = os.read(fd, min(limit - size, 1 << 20))
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)
