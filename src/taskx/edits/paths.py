"""Names that a model gives, resolved before they are trusted."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from taskx.errors import ToolError


@dataclass(frozen=True)
class Place:
    """A path in the workspace. rel: the real file's, `/` separators, "." for the root."""

    root: Path
    rel: str

    @property
    def path(self) -> str:
        return os.path.join(self.root, self.rel) if self.rel != "." else str(self.root)


def resolve(root: Path, name: str, follow: bool = True) -> Place:
    """The real place of `name`, relative to `root` (itself real) or absolute.

    follow: whether a symbolic link at the end stands for its target; links before it always do.
    Raises ToolError: `outsideWorkspace` when the real place is not below the root, `invalidInput`
    for a name that cannot be one.
    """
    if not name or "\0" in name:
        raise ToolError("invalidInput", "path is empty or holds a NUL character")
    try:
        os.fsencode(name)
    except UnicodeEncodeError as error:
        raise ToolError("invalidInput", "path holds half a surrogate pair") from error
    whole = os.path.join(root, name)
    try:
        if follow:
            real = os.path.realpath(whole)
            if os.path.islink(real):
                raise ToolError("invalidInput", f"{name}: the symbolic links lead in a circle")
        else:
            parent, last = os.path.split(whole.rstrip("/"))
            if last in ("..", "."):
                real = os.path.realpath(whole)
            else:
                real = os.path.join(os.path.realpath(parent), last)
    except OSError as error:
        raise ToolError("invalidInput", f"{name}: {error.strerror}") from error
    base = str(root)
    if real == base:
        return Place(root, ".")
    prefix = base if base.endswith("/") else base + "/"
    if not real.startswith(prefix):
        raise ToolError("outsideWorkspace", f"{name} is outside the workspace")
    rel = real[len(prefix) :]
    if any(len(os.fsencode(part)) > 255 for part in rel.split("/")):
        raise ToolError("invalidInput", f"{name}: a part of the path is longer than 255 bytes")
    return Place(root, spelled(root, rel))


def spelled(root: Path, rel: str) -> str:
    """`rel` as the disk spells it.

    On a disk that folds case or Unicode forms, several names reach one file; the log must hold
    one entry for it. A name that its folder does not list, but that exists, is replaced by the
    listed one of the same file.
    """
    folder = str(root)
    parts = rel.split("/")
    for index, part in enumerate(parts):
        whole = os.path.join(folder, part)
        try:
            wanted = os.lstat(whole)
        except OSError:
            break
        if part.isascii() and part.lower() == part.upper():
            folder = whole
            continue
        parts[index] = _listed(folder, part, wanted)
        folder = os.path.join(folder, parts[index])
    return "/".join(parts)


# Folders known to tell names apart that differ only in case: device -> True.
_EXACT: dict[int, bool] = {}


def _listed(folder: str, part: str, wanted: os.stat_result) -> str:
    exact = _EXACT.get(wanted.st_dev)
    if exact is None:
        exact = _EXACT[wanted.st_dev] = _tells_case_apart(folder, part, wanted)
    if exact:
        return part
    try:
        with os.scandir(folder) as entries:
            same = [e.name for e in entries if e.inode() == wanted.st_ino]
    except OSError:
        return part
    return same[0] if part not in same and len(same) == 1 else part


def _tells_case_apart(folder: str, part: str, wanted: os.stat_result) -> bool:
    other = part.swapcase()
    if other == part:
        return False
    try:
        found = os.lstat(os.path.join(folder, other))
    except OSError:
        return True
    return (found.st_dev, found.st_ino) != (wanted.st_dev, wanted.st_ino)


def strerror(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return "the disk is full"
    return error.strerror or str(error)
