"""Merges small segments into one, so that many changes do not make many overlays."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from taskx.workspace.index import tables
from taskx.workspace.index.segment import Segment

GROWTH = 4
"""An overlay is merged with the one before it unless that is this many times as large."""

FILE_COLUMNS = ("status", "encoding", "size", "mtime_ns", "content_hash", "n_lines")
SYMBOL_COLUMNS = (
    "sym_file", "sym_name_off", "sym_name_len", "sym_name_hash", "sym_kind", "sym_start",
    "sym_end", "sym_line", "sym_parent", "sym_flags",
)  # fmt: skip
IMPORT_COLUMNS = (
    "imp_file", "imp_kind", "imp_line", "imp_level", "imp_flags", "imp_module_off",
    "imp_module_len", "imp_name_off", "imp_name_len", "imp_alias_off", "imp_alias_len",
    "imp_attr_off", "imp_attr_len",
)  # fmt: skip

Part = tuple[Segment, bytes | None]


def merged(parts: Sequence[Part]) -> Segment:
    """One segment of the live files of several, in path order. No path is live in two of them."""
    files = sorted(
        (segment.path(index), number, index)
        for number, (segment, live) in enumerate(parts)
        for index in range(segment.n_files)
        if live is None or live[index]
    )
    rows = [_Rows(segment) for segment, _ in parts]
    builder = tables.SegmentBuilder()
    start = 0
    while start < len(files):
        _, number, first = files[start]
        end = start + 1
        while end < len(files) and files[end][1:] == (number, first + end - start):
            end += 1
        rows[number].add_to(builder, first, first + end - start)
        start = end
    return Segment(builder.finish())


class _Rows:
    """A segment as the batch it was made from."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.idt_hash = tables.gather(segment.names, segment.idt_name)
        self.q_hash = tables.gather(segment.names, segment.qual_name)
        self.m_hash = tables.gather(segment.names, segment.qual_member)
        term_off, self.term_hash, self.term_tf = tables.invert(
            segment.text_hash, segment.text_off, segment.text_posts, segment.n_files
        )
        self.term_off = memoryview(term_off)

    def add_to(self, builder: tables.SegmentBuilder, low: int, high: int) -> None:
        s = self.segment
        symbols = slice(s.sym_off[low], s.sym_off[high])
        imports = slice(s.imp_off[low], s.imp_off[high])
        columns: dict[str, Any] = {name: getattr(s, name)[low:high] for name in FILE_COLUMNS}
        columns.update((name, getattr(s, name)[symbols]) for name in SYMBOL_COLUMNS)
        columns.update((name, getattr(s, name)[imports]) for name in IMPORT_COLUMNS)
        batch = SimpleNamespace(
            **columns,
            blob=s.blob,
            idt_off=s.idt_off[low : high + 1],
            idt_hash=self.idt_hash,
            idt_flags=s.idt_flags,
            q_off=s.qual_off[low : high + 1],
            q_hash=self.q_hash,
            m_hash=self.m_hash,
            term_off=self.term_off[low : high + 1],
            term_hash=self.term_hash,
            term_tf=self.term_tf,
        )
        builder.add(
            batch, s.path_blob, s.path_off[low : high + 1], s.language[low:high], low, symbols.start
        )
