"""Columns of files: what changed between two scans, and which language each row is in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from taskx._native import paths as native

from . import languages
from .languages import BY_EXTENSION, BY_FILENAME, C_ID, CPP_ID, HEAD_BYTES, KINDS_IN_FRONT
from .scan import Scan
from .text import open_below

# A time this close to the start of the scan that saw it may hide a later write of the same length.
# Coarse clocks tick every 10 ms; file systems that keep whole seconds or pairs of them exist.
RACY_MARGIN_NS = 2_000_000_000


class Columns(Protocol):
    """Files sorted by path: n + 1 uint32 offsets into `paths`; int64 sizes and times."""

    @property
    def paths(self) -> bytes | memoryview: ...
    @property
    def path_off(self) -> memoryview: ...
    @property
    def size(self) -> memoryview: ...
    @property
    def mtime_ns(self) -> memoryview: ...


@dataclass(frozen=True, slots=True)
class Diff:
    """Rows as int32 columns; pairs stand side by side. Each in the order of paths."""

    unchanged_old: memoryview
    unchanged_new: memoryview
    changed_old: memoryview
    changed_new: memoryview
    added: memoryview  # rows of the new table
    removed: memoryview  # rows of the old table


def diff(old: Columns, new: Columns, old_scan_started_ns: int) -> Diff:
    """What changed since the old scan: by size and time, and by doubt about the time.

    old_scan_started_ns: when the old scan began, in ns since the epoch. A file whose time is not
    well before that counts as changed. Raises ValueError on columns that do not fit together.
    """
    found = native.diff(
        old.paths, old.path_off, old.size, old.mtime_ns,
        new.paths, new.path_off, new.size, new.mtime_ns,
        old_scan_started_ns - RACY_MARGIN_NS,
    )  # fmt: skip
    return Diff(*(memoryview(column).cast("i") for column in found))


@cache
def _table() -> native.LanguageTable:
    def encoded(words: dict[str, int]) -> dict[bytes, int]:
        return {word.encode(): language for word, language in words.items()}

    fronts = {word: BY_FILENAME[word] for word in KINDS_IN_FRONT}
    return native.LanguageTable(
        encoded(dict(BY_EXTENSION)), encoded(dict(BY_FILENAME)), encoded(fronts), C_ID, CPP_ID
    )


def languages_of(root: bytes, scan: Scan, rows: Sequence[int] | None = None) -> memoryview:
    """Language ids, int16, one for each of the rows (by default all files of the scan).

    Files whose name says nothing are opened for their first line. In a whole scan a header goes
    with the sources around it; in a part of one it is opened.
    """
    ids = memoryview(bytearray(_table().detect(scan.paths, scan.path_off, scan.flags))).cast("h")
    if rows is not None and len(rows) != len(ids):
        picked = memoryview(bytearray(2 * len(rows))).cast("h")
        for i, row in enumerate(rows):
            picked[i] = ids[row]
        ids = picked
    for i, row in enumerate(range(scan.n_files) if rows is None else rows):
        if ids[i] < 0:
            ids[i] = languages.shebang_id(head(root, scan.path(row))) if scan.size[row] else 0
        elif ids[i] == C_ID and not scan.whole and scan.path(row).endswith(b".h"):
            ids[i] = languages.header_id(head(root, scan.path(row)))
    return ids


def head(root: bytes, path: bytes) -> bytes:
    """The first bytes of a file below the root; none when it cannot be read."""
    fd = open_below(root, path)
    if fd is None:
        return b""
    try:
        return os.pread(fd, HEAD_BYTES, 0)
    except OSError:
        return b""
    finally:
        os.close(fd)
