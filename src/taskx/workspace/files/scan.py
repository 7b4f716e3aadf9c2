"""Which files a workspace has: the whole tree, or what is left of a few changed paths.

`Scanner` is one workspace's; `scan` makes one for a single use. Both give flat columns, a row a
file, sorted by path. Ignored files are those git would ignore, plus `.taskxignore` files and the
caller's `exclude` patterns; a `!` pattern of one of the three never brings back what another
ignores. The opened folder itself is never ignored. Outside a git repository, where nothing is
tracked, a root `.gitignore` that would hide the whole tree (packaging files do, with `/*`) loses
its catch-all rules, with a warning in the log.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from taskx._native.cancel import CancelFlag
from taskx._native.gitindex import GitIndex
from taskx._native.scanner import Walk
from taskx.errors import RequestCancelled

from . import repository
from .gitconfig import read_text
from .repository import IndexCache, Repository

log = logging.getLogger(__name__)

FLAG_EXECUTABLE = 1
# Ignored by git's rules, and indexed because git tracks it.
FLAG_TRACKED = 2

IGNORE_FILES = (b".gitignore", b".taskxignore")

# Rules of a `.gitignore` that name everything.
_CATCH_ALL = frozenset({b"*", b"/*", b"**", b"/**"})

_Names = dict[bytes, "_Names | None"]


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """exclude: patterns in `.gitignore` syntax, relative to the root.

    environ: where HOME, XDG_CONFIG_HOME and GIT_CONFIG_* are looked up.
    """

    exclude: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    threads: int = 2


@dataclass(frozen=True, slots=True)
class Scan:
    """Files as columns sorted by path; n + 1 offsets into `paths`. Little-endian bytes.

    gaps: (folder, why it could not be read). nested: repositories that git does not track here,
    left out as git leaves them out. whole: these are all files of the tree.
    """

    paths: bytes
    path_off: memoryview  # uint32[n + 1]
    size: memoryview  # int64[n]
    mtime_ns: memoryview  # int64[n]
    ino: memoryview  # uint64[n]
    flags: memoryview  # uint8[n]
    gaps: list[tuple[bytes, str]]
    nested: list[bytes]
    whole: bool

    @property
    def n_files(self) -> int:
        return len(self.flags)

    def path(self, row: int) -> bytes:
        return self.paths[self.path_off[row] : self.path_off[row + 1]]

    def path_list(self) -> list[bytes]:
        off = self.path_off.tolist()
        paths = self.paths
        return [paths[off[i] : off[i + 1]] for i in range(len(off) - 1)]


@dataclass(frozen=True, slots=True)
class PathsScan:
    """What changed paths have become.

    scopes: paths, none below another; b"" is the whole tree. The index drops every file at or below
    a scope that is not in `scan`.
    """

    scan: Scan
    scopes: list[bytes]


class Scanner:
    """Scans one workspace, keeping between scans what its repositories track."""

    def __init__(self, root: bytes, options: ScanOptions | None = None) -> None:
        self.root = os.path.realpath(root)
        self.options = options or ScanOptions()
        self._indexes = IndexCache()
        self._walk: Walk | None = None
        self._without_catch_all = False

    @property
    def files_seen(self) -> int:
        """Files the scan under way has found, from any thread; 0 before the first."""
        walk = self._walk
        return walk.files_seen if walk is not None else 0

    def scan(self, cancel: CancelFlag | None = None) -> Scan:
        """The whole tree. Raises OSError when the root cannot be read, RequestCancelled."""
        self._without_catch_all = False
        found = self._run(None, cancel, self.options.threads)
        if found.n_files or repository.around(os.fsdecode(self.root)) is not None:
            return found
        data = _ignore_file(os.path.join(self.root, b".gitignore"))
        if _drop_catch_all(data) == data:
            return found
        self._without_catch_all = True
        log.warning(
            "%s: its .gitignore would hide the whole tree; its catch-all rules are left out",
            os.fsdecode(self.root),
        )
        return self._run(None, cancel, self.options.threads)

    def scan_paths(self, paths: Iterable[bytes], cancel: CancelFlag | None = None) -> PathsScan:
        """Files at or below changed paths, absolute or relative to the root.

        Paths outside the root do not count. An ignore file stands for the folder it governs.
        Costs a few system calls a path, whatever the size of the tree.
        """
        scopes = self._scopes(paths)
        if scopes == [b""]:
            return PathsScan(self.scan(cancel), scopes)
        names: _Names = {}
        for scope in scopes:
            level = names
            parts = scope.split(b"/")
            for part in parts[:-1]:
                below = level.setdefault(part, {})
                level = below if below is not None else {}
            level[parts[-1]] = None
        if not names:
            return PathsScan(_empty(), [])
        threads = self.options.threads if len(scopes) > 1000 else 1
        return PathsScan(self._run(names, cancel, threads), scopes)

    def _run(self, names: _Names | None, cancel: CancelFlag | None, threads: int) -> Scan:
        cancel = cancel or CancelFlag()
        root = os.fsdecode(self.root)
        repo = repository.around(root)
        prefix = b""
        if repo is not None and repo.root != root:
            prefix = os.fsencode(os.path.relpath(root, repo.root)) + b"/"
        exclude = "\n".join(self.options.exclude).encode("utf-8", "surrogateescape")
        walk = self._walk = Walk(self.root, prefix, exclude, cancel)
        number = self._add(walk, repo, 0, prefix)
        walk.start(number, names, self._without_catch_all)
        outside: list[bytes] = []
        while True:
            if not _run_threads(walk, threads):
                raise RequestCancelled("the scan was cancelled")
            nested = walk.nested()
            if not nested:
                break
            for number, path, wanted in nested:
                inner = repository.at(os.path.join(root, os.fsdecode(path)))
                if inner is not None and not wanted:
                    outside.append(path)
                    continue
                # What looked like a repository and is none keeps no rules of one around it.
                n_base = len(prefix) + len(path) + 1
                walk.enter(number, self._add(walk, inner, n_base, b""))
        gaps = [(path, _reason(code)) for path, code in walk.gap_list()]
        return _columns(walk, gaps, sorted(outside), names is None)

    def _add(self, walk: Walk, repo: Repository | None, n_base: int, prefix: bytes) -> int:
        rules = repository.rules(repo, self.options.environ)
        index = self._indexes.get(repo, rules.hash_bytes) if repo is not None else GitIndex(b"")
        outer = [(n_base, data) for data in rules.outer]
        if repo is not None and prefix:
            # The ignore files between the git root and the folder that is open.
            top = os.fsencode(repo.root)
            parts = prefix.split(b"/")[:-1]
            for i in range(len(parts)):
                above = b"".join(part + b"/" for part in parts[:i])
                data = _ignore_file(os.path.join(top, above, b".gitignore"))
                outer.append((len(above), data))
        if self._without_catch_all and repo is None and n_base == 0:
            data = _ignore_file(os.path.join(self.root, b".gitignore"))
            outer.append((0, _drop_catch_all(data)))
        return walk.add_repo(repo is not None, rules.fold, index, n_base, outer)

    def _scopes(self, paths: Iterable[bytes]) -> list[bytes]:
        folders: dict[bytes, bytes | None] = {}
        found: set[bytes] = set()
        for given in paths:
            if b"\0" in given:
                continue
            path = os.path.normpath(os.path.join(self.root, given))
            if path == self.root:
                return [b""]
            above, name = os.path.split(path)
            while above not in folders and not os.path.isdir(above) and above != self.root:
                # The folder is gone too: with it goes all that was below.
                above, name = os.path.split(above)
            if above not in folders:
                folders[above] = self._below(os.path.realpath(above))
            folder = folders[above]
            if folder is not None:
                self._add_scope(found, folder, name)
            if os.path.islink(path):
                real = self._below(os.path.realpath(path))
                if real:
                    found.add(real[:-1])
        if b"" in found:
            return [b""]
        return _outermost(found)

    def _below(self, path: bytes) -> bytes | None:
        """The path relative to the root with a slash behind it, b"" for the root itself."""
        if path == self.root:
            return b""
        base = self.root if self.root.endswith(b"/") else self.root + b"/"
        return path[len(base) :] + b"/" if path.startswith(base) else None

    def _add_scope(self, found: set[bytes], folder: bytes, name: bytes) -> None:
        if b".git" in folder.split(b"/"):
            # Git's own files count only where they hold rules.
            before, _, inside = (b"/" + folder + name).partition(b"/.git/")
            if inside == b"info/exclude":
                found.add(before[1:])
        elif name in IGNORE_FILES:
            found.add(folder[:-1])
        else:
            found.add(folder + name)


def scan(root: bytes, options: ScanOptions | None = None, cancel: CancelFlag | None = None) -> Scan:
    """One scan of a tree, for a single use."""
    return Scanner(root, options).scan(cancel)


def _outermost(paths: set[bytes]) -> list[bytes]:
    """The paths that are not below another one, sorted."""
    kept: list[bytes] = []
    for path in sorted(paths, key=lambda path: path + b"/"):
        if not kept or not path.startswith(kept[-1] + b"/"):
            kept.append(path)
    return sorted(kept)


def _drop_catch_all(data: bytes) -> bytes:
    return b"\n".join(line for line in data.split(b"\n") if line.rstrip() not in _CATCH_ALL)


def _ignore_file(path: bytes) -> bytes:
    """An ignore file in the tree; git follows no link there."""
    if os.path.islink(path):
        return b""
    text = read_text(os.fsdecode(path), 100 * 1024 * 1024)
    return text.encode("utf-8", "surrogateescape") if text is not None else b""


def _reason(code: int) -> str:
    if code == 0:
        return "special file system"
    if code in {errno.EACCES, errno.EPERM}:
        return "permission denied"
    return os.strerror(code).lower()


def _run_threads(walk: Walk, threads: int) -> bool:
    """Runs the walk on this thread and threads - 1 more. False when it was cancelled."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            walk.run()
        except MemoryError as error:
            failed.append(error)

    others = [
        threading.Thread(target=work, name="taskx-scan", daemon=True) for _ in range(threads - 1)
    ]
    for thread in others:
        thread.start()
    try:
        done = walk.run()
    finally:
        for thread in others:
            thread.join()
    if failed:
        raise failed[0]
    return done


def _columns(walk: Walk, gaps: list[tuple[bytes, str]], nested: list[bytes], whole: bool) -> Scan:
    paths, path_off, size, mtime_ns, ino, flags = walk.columns()
    return Scan(
        paths,
        memoryview(path_off).cast("I"),
        memoryview(size).cast("q"),
        memoryview(mtime_ns).cast("q"),
        memoryview(ino).cast("Q"),
        memoryview(flags),
        gaps,
        nested,
        whole,
    )


def _empty() -> Scan:
    none = memoryview(b"")
    zero = memoryview(bytes(4)).cast("I")
    return Scan(b"", zero, none.cast("q"), none.cast("q"), none.cast("Q"), none, [], [], False)
