"""Files of ours that nobody else may read: folders 0700, files 0600, written whole or not at all.

Light on purpose: it is imported before `initialize` is answered. Users' files are `edits`' part.
"""

from __future__ import annotations

import contextlib
import itertools
import os

# Two threads may write one file at once: each has a temporary name of its own.
_serial = itertools.count()


def make_private_folder(path: str | os.PathLike[str]) -> None:
    """Makes a folder and those above it that are missing, for this user alone. Raises OSError."""
    path = os.fspath(path)
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent not in (path, ""):
        make_private_folder(parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def write_atomically(path: str | os.PathLike[str], data: bytes, *, sync: bool = True) -> None:
    """Replaces a file's contents; after a kill it holds the old or the new, never a part.

    sync: also after a loss of power; not for what can be made again. Raises OSError.
    """
    part = f"{os.fspath(path)}.{os.getpid()}-{next(_serial)}.part"
    fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "wb", buffering=0) as file:
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
            if sync:
                os.fsync(fd)
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
