"""Reading files of the tree as they are now, and whether they are what was indexed."""

from __future__ import annotations

import os
import stat

from taskx.workspace.index.rows import PARSED, TEXT
from taskx.workspace.index.snapshot import Snapshot

MAX_BYTES = 4 * 1024 * 1024
ENCODINGS = ("utf-8", "latin-1", "utf-16-le", "utf-16-be")


def read(snapshot: Snapshot, fid: int) -> tuple[bytes, bool] | None:
    """The file's text as UTF-8, and whether it is unchanged since it was indexed.

    None for what is gone, no regular file any more, too large or not text. Never blocks on a FIFO
    and never follows a link that took the file's place.
    """
    segment, index = snapshot.locate(fid)
    if segment.status[index] not in (PARSED, TEXT, 7):
        return None
    path = os.path.join(snapshot.root, segment.path(index))
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        state = os.fstat(fd)
        if not stat.S_ISREG(state.st_mode) or state.st_size > MAX_BYTES:
            return None
        data = os.read(fd, state.st_size + 1)
        while 0 < len(data) < state.st_size and (more := os.read(fd, state.st_size - len(data))):
            data += more
    except OSError:
        return None
    finally:
        os.close(fd)
    fresh = (
        state.st_size == segment.size[index]
        and state.st_mtime_ns == segment.mtime_ns[index]
        and len(data) == state.st_size
    )
    encoding = ENCODINGS[segment.encoding[index]]
    if fresh and encoding == "utf-8":
        return data, True
    return decoded(data, encoding if fresh else None), fresh


def decoded(data: bytes, encoding: str | None) -> bytes:
    """UTF-8 of a text: by its BOM, else UTF-8, else Latin-1."""
    if encoding is None:
        encoding = "utf-8"
        if data.startswith(b"\xff\xfe"):
            encoding = "utf-16-le"
        elif data.startswith(b"\xfe\xff"):
            encoding = "utf-16-be"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.removeprefix("\ufeff").encode("utf-8", "replace")
