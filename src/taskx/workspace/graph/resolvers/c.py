"""C and C++ `#include`: beside the including file, then include roots found in the tree.

An include root is any folder below which a written path exists. It counts when it is the including
file's own folder or one above it, when its path from such a folder begins with a conventional name
(`include`, `src`, …), or when the tree has only this one file for the path.
"""

from __future__ import annotations

from taskx.workspace.graph.resolvers.base import (
    INCLUDE,
    INCLUDE_SYSTEM,
    ImportRow,
    Link,
    PathIndex,
    below,
    join,
    parent,
    shared_depth,
)

ROOT_FOLDERS = frozenset(
    [
        "include",
        "inc",
        "includes",
        "headers",
        "Include",
        "Headers",
        "src",
        "source",
        "sources",
        "lib",
        "public",
        "api",
    ]
)
# Headers of the C and C++ standards and of POSIX: never a far-away file of the tree.
SYSTEM = frozenset(
    [
        "assert",
        "complex",
        "ctype",
        "errno",
        "fenv",
        "float",
        "inttypes",
        "iso646",
        "limits",
        "locale",
        "math",
        "setjmp",
        "signal",
        "stdalign",
        "stdarg",
        "stdatomic",
        "stdbool",
        "stddef",
        "stdint",
        "stdio",
        "stdlib",
        "stdnoreturn",
        "string",
        "tgmath",
        "threads",
        "time",
        "uchar",
        "wchar",
        "wctype",
        "aio",
        "cpio",
        "dirent",
        "dlfcn",
        "fcntl",
        "fmtmsg",
        "fnmatch",
        "ftw",
        "getopt",
        "glob",
        "grp",
        "iconv",
        "langinfo",
        "libgen",
        "memory",
        "malloc",
        "monetary",
        "mqueue",
        "ndbm",
        "netdb",
        "nl_types",
        "poll",
        "pthread",
        "pwd",
        "regex",
        "sched",
        "search",
        "semaphore",
        "spawn",
        "strings",
        "stropts",
        "syslog",
        "tar",
        "termios",
        "trace",
        "ulimit",
        "unistd",
        "utime",
        "utmpx",
        "wordexp",
        "alloca",
        "elf",
        "endian",
        "byteswap",
        "err",
        "error",
        "execinfo",
        "features",
        "libintl",
        "pty",
        "paths",
        "resolv",
        "shadow",
        "values",
        "windows",
    ]
)


class CResolver:
    """Include rules over one tree. Memoised per written path and per folder."""

    def __init__(self, files: PathIndex) -> None:
        self.files = files
        self._candidates: dict[str, list[tuple[str, int]]] = {}
        self._memo: dict[tuple[str, str, bool], int | None] = {}

    def resolve(self, source: str, row: ImportRow) -> list[Link]:
        if row.kind not in (INCLUDE, INCLUDE_SYSTEM):
            return []
        target = self.target(parent(source), row.module, row.kind == INCLUDE)
        return [] if target is None else [Link((target,))]

    def target(self, folder: str, spec: str, quoted: bool) -> int | None:
        """The file that `#include "spec"` (or `<spec>`) means in a file of `folder`."""
        if quoted:
            place = join(folder, spec)
            found = self.files.get(place) if place is not None else None
            if found is not None:
                return found
        key = (folder, spec, quoted)
        if key not in self._memo:
            self._memo[key] = self._search(folder, spec, quoted)
        return self._memo[key]

    def candidates(self, spec: str) -> list[tuple[str, int]]:
        """(root, file) of every file of the tree whose path ends with the written one."""
        if spec not in self._candidates:
            found = []
            written = join("", spec) if not spec.startswith("..") else None
            if written:
                tail = "/" + written
                for path in self.files.named(written.rpartition("/")[2]):
                    if path == written:
                        found.append(("", self.files.ids[path]))
                    elif path.endswith(tail):
                        found.append((path[: -len(tail)], self.files.ids[path]))
            self._candidates[spec] = found
        return self._candidates[spec]

    def _search(self, folder: str, spec: str, quoted: bool) -> int | None:
        found = self.candidates(spec)
        if not found:
            return None
        best, rank, tie = None, (-1, -1), False
        for root, fid in found:
            own = _rank(folder, root)
            if own is None:
                continue
            if own > rank:
                best, rank, tie = fid, own, False
            elif own == rank:
                tie = True
        if best is not None:
            return None if tie else best
        if len(found) > 1 and not quoted:
            return None
        if _is_system(spec) or (not quoted and "/" not in spec):
            return None
        if len(found) == 1:
            return found[0][1]
        near = sorted(((-shared_depth(folder, root), root, fid) for root, fid in found))
        return near[0][2] if near[0][0] < near[1][0] else None


def _rank(folder: str, root: str) -> tuple[int, int] | None:
    """How near an include root is: depth of the folder above the includer it hangs on."""
    if below(root, folder):
        return (_depth(root), 1)
    shared = shared_depth(folder, root)
    inner = root.split("/")[shared:]
    if inner[0] in ROOT_FOLDERS:
        return (shared, -len(inner))
    return None


def _depth(folder: str) -> int:
    return folder.count("/") + 1 if folder else 0


def _is_system(spec: str) -> bool:
    return spec.removesuffix(".h").removeprefix("sys/").removeprefix("c") in SYSTEM or (
        spec.removesuffix(".h") in SYSTEM
    )
