"""A segment: the immutable columns of some files, from memory or mapped from disk.

Readers see typed memoryviews under the names of `COLUMNS`; file indexes are local to the segment
and files stand in the byte order of their paths.

files    path_blob, path_off[n+1], language, status, encoding, size, mtime_ns, content_hash,
         n_lines, n_terms and head_len (lengths of the two full-text fields)
symbols  sym_off[n+1] is the first row of each file; sym_name_off/len point into `blob`;
         sym_parent is a row of this segment or -1; sym_by_hash orders rows by (name hash, row)
imports  imp_off[n+1], then one row per imported name, its strings in `blob`
names    sorted distinct hashes of every identifier; idt_name, qual_name, qual_member point into it
idents   idt_off[n+1], idt_name (ascending within a file), idt_flags
quals    qual_off[n+1], pairs (qual_name, qual_member) for `a.b` and `a::b`
text     *_hash, *_off, *_posts: inverted index of the words (text), and of path and names (head)
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from taskx.workspace.index.rows import Import, Symbol
from taskx.workspace.index.tables import COLUMNS, SegmentBuilder, find_path

Paths = tuple[bytes, "memoryview | Sequence[int]"]


FORMATS = dict(COLUMNS)


class Batch(Protocol):
    """What the analyzer makes of some files; columns as in `tables.INPUTS`, local to the batch."""

    @property
    def status(self) -> Any: ...


class Segment:
    """Columns as attributes. Immutable; safe to read from any thread."""

    __slots__ = (
        "_derive",
        "_mean_head",
        "_mean_text",
        "n_files",
        "n_symbols",
        "owner",
        *(name for name, _ in COLUMNS),
    )

    n_files: int
    n_symbols: int
    path_blob: memoryview
    path_off: memoryview
    language: memoryview
    status: memoryview
    encoding: memoryview
    size: memoryview
    mtime_ns: memoryview
    content_hash: memoryview
    n_lines: memoryview
    n_terms: memoryview
    head_len: memoryview
    sym_off: memoryview
    sym_file: memoryview
    sym_name_off: memoryview
    sym_name_len: memoryview
    sym_name_hash: memoryview
    sym_kind: memoryview
    sym_start: memoryview
    sym_end: memoryview
    sym_line: memoryview
    sym_parent: memoryview
    sym_flags: memoryview
    sym_by_hash: memoryview
    imp_off: memoryview
    imp_file: memoryview
    imp_kind: memoryview
    imp_line: memoryview
    imp_level: memoryview
    imp_flags: memoryview
    imp_module_off: memoryview
    imp_module_len: memoryview
    imp_name_off: memoryview
    imp_name_len: memoryview
    imp_alias_off: memoryview
    imp_alias_len: memoryview
    imp_attr_off: memoryview
    imp_attr_len: memoryview
    names: memoryview
    idt_off: memoryview
    idt_name: memoryview
    idt_flags: memoryview
    qual_off: memoryview
    qual_name: memoryview
    qual_member: memoryview
    blob: memoryview
    text_hash: memoryview
    text_off: memoryview
    text_posts: memoryview
    head_hash: memoryview
    head_off: memoryview
    head_posts: memoryview

    def __init__(
        self,
        columns: Mapping[str, Any],
        owner: object = None,
        derive: Mapping[str, Callable[[Segment], Any]] = MappingProxyType({}),
    ) -> None:
        """columns: a buffer of the right format for each of COLUMNS. owner is kept alive.

        derive: in place of a column, what makes it when it is first read.
        """
        self._derive = derive
        for name, code in COLUMNS:
            if name not in derive:
                setattr(self, name, typed(memoryview(columns[name]), code))
        self.owner = owner
        self.n_files = len(self.language)
        self.n_symbols = len(self.sym_kind)
        self._mean_text: float | None = None
        self._mean_head: float | None = None

    def __getattr__(self, name: str) -> memoryview:
        """A derived column. Two threads may both make it; the results are equal."""
        make = self._derive.get(name) if name in FORMATS else None
        if make is None:
            raise AttributeError(name)
        view = typed(memoryview(make(self)), FORMATS[name])
        setattr(self, name, view)
        return view

    def adopt(self, other: Segment) -> None:
        """Takes the memory of an equal segment, such as the mapped file it was written to."""
        self._derive = other._derive
        self.owner = other.owner
        for name, _ in COLUMNS:
            if name not in other._derive:
                setattr(self, name, getattr(other, name))
            else:
                with contextlib.suppress(AttributeError):
                    delattr(self, name)

    @classmethod
    def from_batches(
        cls, batches: Iterable[tuple[Sequence[bytes], Sequence[int], Batch]]
    ) -> Segment:
        """One segment of (paths, language ids, batch); files must come in ascending path order."""
        builder = SegmentBuilder()
        for paths, languages, batch in batches:
            builder.add(batch, *pack_paths(paths), pack("h", languages))
        return cls(builder.finish())

    def path(self, index: int) -> bytes:
        return bytes(self.path_blob[self.path_off[index] : self.path_off[index + 1]])

    def find(self, path: bytes) -> int:
        """Index of the file with this path, or -1."""
        at: int = find_path(self.path_blob, self.path_off, path)
        return at if at < self.n_files and self.path(at) == path else -1

    def text(self, off: int, length: int) -> str:
        """A string of `blob`. Names are bytes of the source: what is not UTF-8 is replaced."""
        return str(self.blob[off : off + length], "utf-8", "replace")

    def symbol(self, row: int, base: int) -> Symbol:
        """base: the global id of this segment's first file."""
        return Symbol(
            self.text(self.sym_name_off[row], self.sym_name_len[row]),
            self.sym_kind[row],
            base + self.sym_file[row],
            self.sym_start[row],
            self.sym_end[row],
            self.sym_line[row],
            self.sym_flags[row],
            row,
            self.sym_parent[row],
        )

    def import_row(self, row: int, base: int) -> Import:
        return Import(
            base + self.imp_file[row],
            self.imp_kind[row],
            self.imp_line[row],
            self.imp_level[row],
            self.imp_flags[row],
            self.text(self.imp_module_off[row], self.imp_module_len[row]),
            self.text(self.imp_name_off[row], self.imp_name_len[row]),
            self.text(self.imp_alias_off[row], self.imp_alias_len[row]),
            self.text(self.imp_attr_off[row], self.imp_attr_len[row]),
        )

    def text_length(self) -> int:
        """Terms of all files together."""
        if self._mean_text is None:
            self._mean_text = sum(self.n_terms)
        return int(self._mean_text)

    def head_length(self) -> int:
        if self._mean_head is None:
            self._mean_head = sum(self.head_len)
        return int(self._mean_head)


def typed(view: memoryview, code: str) -> memoryview:
    """The same memory as items of a format of the struct module."""
    if view.format == code:
        return view
    return view.cast("B").cast(code)  # type: ignore[call-overload, no-any-return]


def pack(code: str, values: Sequence[int] | memoryview) -> memoryview:
    """Typed memory of some integers; what is packed already passes through."""
    from array import array

    if isinstance(values, memoryview) and values.format == code:
        return values
    return memoryview(array(code, values))


def pack_paths(paths: Sequence[bytes]) -> tuple[bytes, memoryview]:
    """Blob and offsets (n + 1) of some paths."""
    offsets = [0]
    for path in paths:
        offsets.append(offsets[-1] + len(path))
    return b"".join(paths), pack("I", offsets)
