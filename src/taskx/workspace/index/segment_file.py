"""A segment as a file: a header that names its columns, then the columns.

Format 1: magic, uint32 length of the header, uint64 checksum of the header, header (JSON:
`columns` {name: [offset, bytes]}, `checksums` of the blocks of the body, `length`), then from
BODY on the columns, each at a multiple of 64. The file is written beside and renamed, and never
changed afterwards. Reading checks everything before anything is used.

Columns that follow from others are not stored, and columns of small differences are stored as
varints (PACKED); both are made when they are first read. That is a third of the whole.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from taskx.workspace.index import tables
from taskx.workspace.index.segment import FORMATS, Segment, typed

MAGIC = b"taskx-segment-1\n"
HEAD = struct.Struct("<IQ")
BODY = 16384
BLOCK = 4 << 20
ALIGN = 64


# Stored in place of columns: name, format, and what makes it.
PACKED: tuple[tuple[str, str, Callable[[Segment], Any]], ...] = (
    ("sym_name", "I", lambda s: tables.ids_of(s.names, s.sym_name_hash)),
    ("sym_start_packed", "B", lambda s: tables.pack_ascending(s.sym_off, typed(s.sym_start, "I"))),
    ("sym_end_packed", "B", lambda s: tables.pack_deltas(s.sym_start, s.sym_end)),
    ("sym_line_packed", "B", lambda s: tables.pack_deltas(s.sym_start, s.sym_line)),
    ("sym_parent_packed", "B", lambda s: tables.pack_deltas(None, s.sym_parent)),
    ("idt_name_packed", "B", lambda s: tables.pack_ascending(s.idt_off, s.idt_name)),
)
DERIVED = frozenset(
    (
        "sym_file",
        "imp_file",
        "sym_name_hash",
        "sym_by_hash",
        "sym_start",
        "sym_end",
        "sym_line",
        "sym_parent",
        "idt_name",
    )
)
STORED = (
    *((name, code) for name, code in tables.COLUMNS if name not in DERIVED),
    *((name, code) for name, code, _ in PACKED),
)


class Damaged(Exception):
    """What is on disk is not what was written."""


def write_segment(segment: Segment, path: Path, cancelled: Callable[[], bool]) -> bool:
    """Writes the file under its final name. False when cancelled. Raises OSError."""
    places: dict[str, tuple[int, int]] = {}
    columns = {name: getattr(segment, name).cast("B") for name, _ in STORED if name in FORMATS}
    for name, _, make in PACKED:
        columns[name] = memoryview(make(segment)).cast("B")
    at = BODY
    for name, _ in STORED:
        size = columns[name].nbytes
        places[name] = (at, size)
        at += size + -size % ALIGN
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_CREAT | os.O_TRUNC | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "r+b", buffering=0) as file:
            for name, _ in STORED:
                view = columns[name]
                for start in range(0, len(view), BLOCK):
                    if cancelled():
                        return False
                    write_at(file.fileno(), view[start : start + BLOCK], places[name][0] + start)
            os.ftruncate(file.fileno(), at)
            checksums = [tables.checksum(block) for block in _blocks(file.fileno(), at)]
            header = json.dumps(
                {"columns": places, "checksums": checksums, "length": at}, separators=(",", ":")
            ).encode()
            head = MAGIC + HEAD.pack(len(header), tables.checksum(header)) + header
            if len(head) > BODY:
                raise OSError("the segment is too large for its header")
            write_at(file.fileno(), memoryview(head), 0)
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    return True


def write_at(descriptor: int, data: memoryview, offset: int) -> None:
    """All of the data; a full disk raises OSError."""
    while data:
        n = os.pwrite(descriptor, data, offset)
        data = data[n:]
        offset += n


def _blocks(descriptor: int, length: int) -> list[bytes]:
    return [os.pread(descriptor, BLOCK, at) for at in range(BODY, length, BLOCK)]


def read_segment(path: Path) -> Segment:
    """Maps the file. Raises OSError, and Damaged for anything but a whole file of this format."""
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if size < BODY:
            raise Damaged("shorter than its header")
        mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    view = memoryview(mapped)
    places, checksums = _header(view, size)
    _check(view, checksums)
    # What the check has touched need not stay in memory; it is read again where it is used.
    mapped.madvise(mmap.MADV_DONTNEED)
    columns = {}
    for name, code in STORED:
        start, length = places[name]
        columns[name] = typed(view[start : start + length], code)
    segment = Segment(columns, mapped, derivations(columns))
    _check_shape(segment, columns)
    return segment


def derivations(stored: Mapping[str, memoryview]) -> dict[str, Callable[[Segment], Any]]:
    """What makes each derived column."""
    names, starts, ends, lines, parents, idents = (stored[name] for name, _, _ in PACKED)
    return {
        "sym_file": lambda s: tables.row_files(s.sym_off),
        "imp_file": lambda s: tables.row_files(s.imp_off),
        "sym_name_hash": lambda s: tables.gather(s.names, names),
        "sym_by_hash": lambda s: tables.order_of(names, len(s.names)),
        "sym_start": lambda s: tables.unpack_ascending(s.sym_off, starts),
        "sym_end": lambda s: tables.unpack_deltas(s.sym_start, ends, s.n_symbols),
        "sym_line": lambda s: tables.unpack_deltas(s.sym_start, lines, s.n_symbols),
        "sym_parent": lambda s: tables.unpack_deltas(None, parents, s.n_symbols),
        "idt_name": lambda s: tables.unpack_ascending(s.idt_off, idents),
    }


def _header(view: memoryview, size: int) -> tuple[dict[str, tuple[int, int]], list[int]]:
    head = bytes(view[:BODY])
    if not head.startswith(MAGIC):
        raise Damaged("not a segment of this version")
    length, checksum = HEAD.unpack_from(head, len(MAGIC))
    start = len(MAGIC) + HEAD.size
    text = head[start : start + length]
    if len(text) != length or tables.checksum(text) != checksum:
        raise Damaged("its header is damaged")
    try:
        header = json.loads(text)
        places = {name: (int(a), int(b)) for name, (a, b) in header["columns"].items()}
        checksums = [int(value) for value in header["checksums"]]
        length = int(header["length"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Damaged("its header is no header") from error
    if length != size or len(checksums) != -(-(size - BODY) // BLOCK):
        raise Damaged("not as long as its header says")
    for name, code in STORED:
        if name not in places:
            raise Damaged(f"no column {name}")
        at, n = places[name]
        if at < BODY or n < 0 or at % ALIGN or at + n > size or n % tables.SIZES[code]:
            raise Damaged(f"column {name} is out of place")
    return places, checksums


def _check(view: memoryview, checksums: list[int]) -> None:
    def good(number: int) -> bool:
        at = BODY + number * BLOCK
        return tables.checksum(view[at : at + BLOCK]) == checksums[number]

    numbers = range(len(checksums))
    if len(checksums) < 4:
        whole = all(map(good, numbers))
    else:
        with ThreadPoolExecutor(2) as pool:
            whole = all(pool.map(good, numbers))
    if not whole:
        raise Damaged("its checksum is wrong")


def _check_shape(s: Segment, stored: Mapping[str, memoryview]) -> None:
    """Lengths agree. What is inside was covered by the checksum."""
    files = (s.status, s.encoding, s.size, s.mtime_ns, s.content_hash, s.n_lines, s.n_terms)
    offsets = (s.path_off, s.sym_off, s.imp_off, s.idt_off, s.qual_off)
    whole = (
        all(len(column) == s.n_files for column in files)
        and all(len(column) == s.n_files + 1 for column in offsets)
        and s.sym_off[-1] == s.n_symbols
        and s.imp_off[-1] == len(s.imp_kind)
        and s.idt_off[-1] == len(s.idt_flags)
    )
    for name, column in stored.items():
        if name.startswith("sym_") and name != "sym_off" and not name.endswith("_packed"):
            whole = whole and len(column) == s.n_symbols
        if name.startswith("imp_") and name != "imp_off":
            whole = whole and len(column) == len(s.imp_kind)
    if not whole:
        raise Damaged("columns differ in length")
