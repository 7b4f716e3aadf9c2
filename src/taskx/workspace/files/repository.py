"""A git repository as files on disk: where it is, its rules, what it tracks. Runs no git.

Source: git's documentation, gitrepository-layout, gitignore, gitformat-index (split index).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from taskx._native.gitindex import GitIndex

from . import gitconfig
from .gitconfig import Place, is_true, read_text

# A `.git` file is one line.
_MAX_LINK_BYTES = 65536
# An index of ten million paths is about this long.
_MAX_INDEX_BYTES = 2 * 1024 * 1024 * 1024
_SHA256_BYTES = 32
_SHA1_BYTES = 20


class Repository(NamedTuple):
    """One checkout. `common_dir` differs from `git_dir` in a linked worktree."""

    root: str
    git_dir: str
    common_dir: str


class Rules(NamedTuple):
    """What the configuration says of ignoring, and how long object names are."""

    outer: list[bytes]  # core.excludesFile, then info/exclude: the weightiest last
    fold: bool
    hash_bytes: int


def at(folder: str) -> Repository | None:
    """The repository whose checkout is exactly this folder."""
    git_dir = os.path.join(folder, ".git")
    if not os.path.isdir(git_dir):
        text = read_text(git_dir, _MAX_LINK_BYTES)
        if text is None or not text.startswith("gitdir: "):
            return None
        git_dir = os.path.normpath(os.path.join(folder, text[8:].rstrip("\r\n")))
    common = git_dir
    named = read_text(os.path.join(git_dir, "commondir"), _MAX_LINK_BYTES)
    if named is not None:
        common = os.path.normpath(os.path.join(git_dir, named.rstrip("\r\n")))
    if not os.path.lexists(os.path.join(git_dir, "HEAD")):
        return None
    if not all(os.path.isdir(os.path.join(common, name)) for name in ("objects", "refs")):
        return None
    return Repository(folder, git_dir, common)


def around(folder: str) -> Repository | None:
    """The repository a folder is in: nearest first, never past a mount point, as git looks."""
    try:
        device = os.stat(folder).st_dev
        while True:
            found = at(folder)
            if found is not None:
                return found
            above = os.path.dirname(folder)
            if above == folder or os.stat(above).st_dev != device:
                return None
            folder = above
    except OSError:
        return None


def branch(repository: Repository) -> str:
    """Name of the branch that HEAD is on, "" when it is detached."""
    head = read_text(os.path.join(repository.git_dir, "HEAD"), _MAX_LINK_BYTES) or ""
    return head[16:].strip() if head.startswith("ref: refs/heads/") else ""


def _settings(
    repository: Repository | None, environ: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    home, _, files = gitconfig.user_files(environ)
    place = Place()
    if repository is not None:
        place = Place(os.path.realpath(repository.git_dir), branch(repository))
        files.append(os.path.join(repository.common_dir, "config"))
        files.append(os.path.join(repository.git_dir, "config.worktree"))
    for path in files:
        yield from gitconfig.read(path, place, home)


def rules(repository: Repository | None, environ: Mapping[str, str]) -> Rules:
    """The rules from outside the tree. Without a repository the user's own alone."""
    home, xdg, _ = gitconfig.user_files(environ)
    excludes = os.path.join(xdg, "ignore")
    fold = False
    hash_bytes = _SHA1_BYTES
    base = repository.root if repository is not None else home
    for name, value, _ in _settings(repository, environ):
        if name == "core.excludesfile":
            excludes = gitconfig.expand(value, home, base) if value else ""
        elif name == "core.ignorecase":
            fold = is_true(value)
        elif name == "extensions.objectformat":
            hash_bytes = _SHA256_BYTES if value == "sha256" else _SHA1_BYTES
    outer = [_bytes(excludes)] if excludes else []
    if repository is not None:
        outer.append(_bytes(os.path.join(repository.common_dir, "info", "exclude")))
    return Rules(outer, fold and repository is not None, hash_bytes)


def _bytes(path: str, limit: int = 100 * 1024 * 1024) -> bytes:
    text = read_text(path, limit)
    return text.encode("utf-8", "surrogateescape") if text is not None else b""


class IndexCache:
    """Parsed indexes by repository, read again when the file on disk is another one."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int, int], GitIndex]] = {}

    def get(self, repository: Repository, hash_bytes: int) -> GitIndex:
        """What the repository tracks; nothing when its index is missing or not understood."""
        path = os.path.join(repository.git_dir, "index")
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return GitIndex(b"")
        with open(fd, "rb") as file:
            stat = os.fstat(fd)
            stamp = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
            known = self._known.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            try:
                index = _parse(repository, file.read(_MAX_INDEX_BYTES), hash_bytes)
            except (OSError, ValueError):
                index = GitIndex(b"")
        self._known[path] = (stamp, index)
        return index


def _parse(repository: Repository, data: bytes, hash_bytes: int) -> GitIndex:
    index = GitIndex(data, hash_bytes)
    if index.link is None or not any(index.link):
        return index
    shared = os.path.join(repository.git_dir, f"sharedindex.{index.link.hex()}")
    with open(shared, "rb") as file:
        base = GitIndex(file.read(_MAX_INDEX_BYTES), hash_bytes).entries()
    # Two bitmaps over the shared entries: those dropped, and those replaced by the entries without
    # a name at the front of this index, whose names stay.
    body = index.link_body or b""
    dropped, _ = _bitmap(body, 0) if body else (set(), 0)
    kept = [entry for i, entry in enumerate(base) if i not in dropped]
    return GitIndex.of(kept + [entry for entry in index.entries() if entry[0]])


def _bitmap(data: bytes, start: int) -> tuple[set[int], int]:
    """Positions in a bitmap stored as EWAH, and the offset behind it. Raises ValueError.

    A count of bits, a count of words, the words (64 bits, big-endian), the place of the last
    marker. A marker has the bit of a run (1 bit), its length in words (32), and how many plain
    words follow (31).
    """
    if len(data) < start + 8:
        raise ValueError("bitmap cut short")
    bits = int.from_bytes(data[start : start + 4], "big")
    count = int.from_bytes(data[start + 4 : start + 8], "big")
    end = start + 8 + count * 8
    if len(data) < end + 4:
        raise ValueError("bitmap cut short")
    words = [int.from_bytes(data[i : i + 8], "big") for i in range(start + 8, end, 8)]
    found: set[int] = set()
    position = 0
    i = 0
    while i < count:
        marker = words[i]
        run = ((marker >> 1) & 0xFFFFFFFF) * 64
        if marker & 1:
            found.update(range(position, min(position + run, bits)))
        position += run
        plain = marker >> 33
        for word in words[i + 1 : i + 1 + plain]:
            found.update(position + bit for bit in range(64) if word >> bit & 1)
            position += 64
        i += 1 + plain
    return found, end + 4
