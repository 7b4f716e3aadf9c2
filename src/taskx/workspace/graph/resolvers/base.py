"""What every resolver is given and gives back."""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

# Kinds of import rows (`_native/_types.pxd`).
IMPORT = 1
NAME = 2
WILDCARD = 3
REEXPORT = 4
REEXPORT_ALL = 5
MODULE = 6
INCLUDE = 7
PACKAGE = 9
DYNAMIC = 10
TYPE_ONLY = 11
EXPORT_LOCAL = 12

# Manifests are small; a larger one is not read.
MAX_MANIFEST_BYTES = 1 << 20


class ImportRow(NamedTuple):
    """One imported name as the analyzer saw it."""

    kind: int
    module: str = ""
    name: str = ""
    alias: str = ""
    attr: str = ""
    level: int = 0
    flags: int = 0
    line: int = 0


class Link(NamedTuple):
    """Where one import row leads.

    files: ids of the files meant; several when the import names a package of many files.
    name: what is looked up in them: a symbol, "" for the module itself, "*" for every name.
    alias: the name it gets in the importing file, "" for none.
    edge: False for a binding that is no import of that file by itself.
    used: True when only those of the files that define a name used by the importer count.
    public: the binding can be imported from the importing file in turn.
    """

    files: tuple[int, ...]
    name: str = ""
    alias: str = ""
    edge: bool = True
    used: bool = False
    public: bool = True


Read = Callable[[str], bytes | None]
"""Text of a manifest by its path below the root, or None."""


class Resolver(Protocol):
    """The import rules of a language family."""

    def resolve(self, source: str, row: ImportRow) -> list[Link]:
        """Where `row` of the file `source` leads; an empty list for nothing in this tree."""
        ...


class PathIndex:
    """The paths of a tree: ids by path, names by folder.

    ids: path relative to the root, `/`-separated -> id.
    """

    def __init__(self, ids: Mapping[str, int]) -> None:
        self.ids = ids
        self.folders: dict[str, list[str]] = defaultdict(list)
        for path in ids:
            folder, _, name = path.rpartition("/")
            self.folders[folder].append(name)
        for folder in list(self.folders):
            while folder:
                folder = folder.rpartition("/")[0]
                if folder in self.folders:
                    break
                self.folders[folder] = []
        self._by_name: dict[str, list[str]] | None = None

    def get(self, path: str) -> int | None:
        return self.ids.get(path)

    def first(self, paths: Iterable[str]) -> int | None:
        """Id of the first path that exists."""
        for path in paths:
            found = self.ids.get(path)
            if found is not None:
                return found
        return None

    def has_folder(self, folder: str) -> bool:
        return folder in self.folders

    def names_in(self, folder: str) -> list[str]:
        """File names directly in `folder`."""
        return self.folders.get(folder, [])

    def named(self, name: str) -> list[str]:
        """Paths of all files of that name, in path order."""
        if self._by_name is None:
            self._by_name = defaultdict(list)
            for path in sorted(self.ids):
                self._by_name[path.rpartition("/")[2]].append(path)
        return self._by_name.get(name, [])


def parent(path: str) -> str:
    """Folder of a path; "" for the root."""
    return path.rpartition("/")[0]


def join(folder: str, relative: str) -> str | None:
    """`relative` seen from `folder`, with `.` and `..` applied; None when it leaves the root."""
    parts = folder.split("/") if folder else []
    for part in relative.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def star_match(text: str, patterns: Iterable[str]) -> tuple[str, str] | None:
    """The pattern with one `*` and the longest prefix that fits a text, and what the star is."""
    best: tuple[str, str] | None = None
    length = -1
    for pattern in patterns:
        prefix, wild, suffix = pattern.partition("*")
        if (
            wild
            and len(prefix) > length
            and len(text) >= len(prefix) + len(suffix)
            and text.startswith(prefix)
            and text.endswith(suffix)
        ):
            best, length = (pattern, text[len(prefix) : len(text) - len(suffix)]), len(prefix)
    return best


def below(folder: str, path: str) -> bool:
    """Whether `path` is `folder` or lies in it."""
    return not folder or path == folder or path.startswith(folder + "/")


def ancestors(folder: str) -> list[str]:
    """`folder` and the folders above it, deepest first; the root is ""."""
    found = [folder]
    while folder:
        folder = parent(folder)
        found.append(folder)
    return found


def shared_depth(a: str, b: str) -> int:
    """How many leading folders two paths share."""
    depth = 0
    for left, right in zip(a.split("/"), b.split("/"), strict=False):
        if left != right or not left:
            break
        depth += 1
    return depth


def nearest(source: str, paths: Iterable[str]) -> str | None:
    """The one of `paths` that shares most folders with `source`; None for a tie or no path."""
    best, depth, tie = None, -1, False
    for path in paths:
        shared = shared_depth(parent(source), parent(path))
        if shared > depth:
            best, depth, tie = path, shared, False
        elif shared == depth:
            tie = True
    return None if tie else best


def disk_reader(root: str) -> Read:
    """A reader of manifests below `root`: regular files only, never a link, at most 1 MiB."""

    def read(path: str) -> bytes | None:
        try:
            handle = os.open(os.path.join(root, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            try:
                text = file.read(MAX_MANIFEST_BYTES + 1)
            except OSError:
                return None
        return text if len(text) <= MAX_MANIFEST_BYTES else None

    return read


def text_of(raw: bytes | None) -> str:
    """Manifest text without its byte order mark; "" for None."""
    return (raw or b"").decode("utf-8", "replace").removeprefix("\ufeff")
