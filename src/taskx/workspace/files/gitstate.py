"""Branch, head and whether tracked files were changed, without running git.

Running `git status` in a repository that was just opened may run what its configuration names
(clean filters, a file system monitor), so the index is compared here: by size and time first, by
content where these differ. Content is hashed as it is on disk; where a filter or line end
conversion would make it equal to git, it counts as changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
import zlib
from array import array
from collections.abc import Mapping

from taskx._native.gitindex import GitIndex
from taskx.protocol.project import Git

from . import repository
from .columns import Columns
from .gitconfig import read_text
from .repository import IndexCache, Repository

# Files that are hashed at most, and how long all of it may take.
MAX_HASHED = 200
MAX_HASHED_BYTES = 64 * 1024 * 1024
BUDGET_MS = 500

_NAME = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_MAX_REF_BYTES = 65536
_MAX_PACKED_REFS = 64 * 1024 * 1024


def git_state(
    root: bytes,
    columns: Columns | None,
    environ: Mapping[str, str],
    budget_ms: int = BUDGET_MS,
) -> Git | None:
    """State of the repository that root is in, None where there is none. Reads files; blocks.

    columns: a fresh scan of root, which spares a stat for each tracked file.
    """
    folder = os.fsdecode(root)
    found = repository.around(folder)
    if found is None:
        return None
    rules = repository.rules(found, environ)
    index = IndexCache().get(found, rules.hash_bytes)
    head = head_of(found)
    deadline = time.monotonic() + budget_ms / 1000
    dirty = _changed(found, folder, columns, index, rules.hash_bytes, deadline)
    if dirty is False:
        dirty = _staged(found, index, head, rules.hash_bytes)
    return Git(branch=repository.branch(found) or None, head=head, dirty=dirty)


def head_of(repo: Repository) -> str | None:
    """Object name of the commit that HEAD is at, None before the first or when it is not found."""
    name = _read(os.path.join(repo.git_dir, "HEAD"))
    for _ in range(5):
        if not name.startswith("ref: "):
            return name if _NAME.match(name) else None
        ref = name[5:].strip()
        if ".." in ref or ref.startswith("/"):
            return None
        name = (
            _read(os.path.join(repo.git_dir, ref))
            or _read(os.path.join(repo.common_dir, ref))
            or _packed(repo, ref)
        )
    return None


def _read(path: str) -> str:
    return (read_text(path, _MAX_REF_BYTES) or "").strip()


def _packed(repo: Repository, ref: str) -> str:
    packed = os.path.join(repo.common_dir, "packed-refs")
    text = read_text(packed, _MAX_PACKED_REFS) or ""
    match = re.search(rf"^([0-9a-f]+) {re.escape(ref)}$", text, re.MULTILINE)
    return match[1] if match else ""


def _changed(
    repo: Repository,
    root: str,
    columns: Columns | None,
    index: GitIndex,
    hash_bytes: int,
    deadline: float,
) -> bool | None:
    """Whether a tracked file on disk is not what the index has; None when time ran out."""
    if columns is None or repo.root != root:
        suspects = index.suspects(*_empty_columns(), len(index) + 1)
    else:
        size, mtime_ns = columns.size, columns.mtime_ns
        suspects = index.suspects(columns.paths, columns.path_off, size, mtime_ns, 5000)
    hashed = hashed_bytes = 0
    base = os.fsencode(repo.root)
    for path in suspects:
        if time.monotonic() > deadline:
            return None
        if index.is_open(path):
            return True
        try:
            found = os.lstat(os.path.join(base, path))
        except OSError:
            return True
        if index.agrees(path, found.st_size & 0xFFFFFFFF, found.st_mtime_ns):
            continue
        if found.st_size & 0xFFFFFFFF != index.size(path):
            return True
        hashed += 1
        hashed_bytes += found.st_size
        if hashed > MAX_HASHED or hashed_bytes > MAX_HASHED_BYTES:
            return None
        if _object_name(os.path.join(base, path), found, hash_bytes) != index.object_name(path):
            return True
    return False


def _empty_columns() -> tuple[bytes, array[int], array[int], array[int]]:
    return b"", array("I", [0]), array("q"), array("q")


def _object_name(path: bytes, found: os.stat_result, hash_bytes: int) -> bytes:
    """Name git gives the file's content; b"" when it cannot be read."""
    try:
        if stat.S_ISLNK(found.st_mode):
            data = os.readlink(path)
        elif stat.S_ISREG(found.st_mode):
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(fd, "rb") as file:
                data = file.read(MAX_HASHED_BYTES + 1)
        else:
            return b""
    except OSError:
        return b""
    content = b"blob %d\0" % len(data) + data
    if hash_bytes == hashlib.sha256().digest_size:
        return hashlib.sha256(content).digest()
    return hashlib.sha1(content, usedforsecurity=False).digest()


def _staged(repo: Repository, index: GitIndex, head: str | None, hash_bytes: int) -> bool | None:
    """Whether the index differs from HEAD: its noted tree against the commit's.

    The index notes the tree it amounts to; staging a change takes the note away.
    """
    if head is None:
        return len(index) > 0
    note = index.tree or b""
    # Path (empty for the top), count of entries (-1: not known), count of subtrees, name.
    start = note.find(b"\0") + 1
    end = note.find(b"\n", start)
    count = note[start:end].split(b" ")[0] if start and end > 0 else b""
    if not count.isdigit():
        # An old git that notes nothing cannot be told from a staged change.
        return True if index.tree is not None else None
    tree = note[end + 1 : end + 1 + hash_bytes].hex()
    wanted = _tree_of(repo, head)
    return tree != wanted if wanted is not None else None


def _tree_of(repo: Repository, commit: str) -> str | None:
    """The tree of a commit that is a loose object, or stored whole in a pack."""
    loose = os.path.join(repo.common_dir, "objects", commit[:2], commit[2:])
    try:
        with open(loose, "rb") as file:
            data = zlib.decompressobj().decompress(file.read(65536), 65536)
    except (OSError, zlib.error):
        data = _packed_commit(repo, commit)
    match = re.search(rb"(?:\0|\A)tree ([0-9a-f]+)\n", data)
    return match[1].decode() if match else None


def _packed_commit(repo: Repository, commit: str) -> bytes:
    """The start of a commit's text from a pack; b"" when it is not there or stored as a delta."""
    folder = os.path.join(repo.common_dir, "objects", "pack")
    name = bytes.fromhex(commit)
    try:
        packs = sorted(name for name in os.listdir(folder) if name.endswith(".idx"))
    except OSError:
        return b""
    for pack in packs[:50]:
        try:
            offset = _pack_offset(os.path.join(folder, pack), name)
            if offset is None:
                continue
            with open(os.path.join(folder, pack[:-4] + ".pack"), "rb") as file:
                file.seek(offset)
                data = file.read(65536)
        except OSError:
            continue
        # Type in bits 4 to 6 of the first byte; the size goes on while the high bit is set.
        if not data or (data[0] >> 4) & 7 != 1:
            return b""
        at = 0
        while at < len(data) and data[at] & 0x80:
            at += 1
        try:
            return zlib.decompressobj().decompress(data[at + 1 :], 65536)
        except zlib.error:
            return b""
    return b""


def _pack_offset(path: str, name: bytes) -> int | None:
    """Where a pack has an object, by its index (version 2)."""
    with open(path, "rb") as file:
        if file.read(8) != b"\xfftOc\0\0\0\x02":
            return None
        fan = array("I", file.read(1024))
        fan.byteswap()
        low, high, count = fan[name[0] - 1] if name[0] else 0, fan[name[0]], fan[255]
        names = 8 + 1024
        while low < high:
            middle = (low + high) // 2
            file.seek(names + middle * len(name))
            found = file.read(len(name))
            if found == name:
                file.seek(names + count * (len(name) + 4) + middle * 4)
                offset = int.from_bytes(file.read(4), "big")
                if offset & 0x80000000:
                    large = names + count * (len(name) + 8) + (offset & 0x7FFFFFFF) * 8
                    file.seek(large)
                    offset = int.from_bytes(file.read(8), "big")
                return offset
            if found < name:
                low = middle + 1
            else:
                high = middle
    return None
