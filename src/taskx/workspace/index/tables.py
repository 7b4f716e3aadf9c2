"""The native tables: building the columns of a segment, and walking them."""

from __future__ import annotations

from taskx._native.postings import accumulate, doc_freq, postings, top
from taskx._native.tables import (
    COLUMNS,
    SIZES,
    SegmentBuilder,
    checksum,
    compare_scan,
    count_symbols,
    files_with_name,
    find_hash,
    find_path,
    gather,
    hash_bytes,
    ids_of,
    invert,
    pack_ascending,
    pack_deltas,
    row_files,
    symbols_of_hash,
    tally,
    unpack_ascending,
    unpack_deltas,
)

__all__ = [
    "COLUMNS",
    "SIZES",
    "SegmentBuilder",
    "accumulate",
    "checksum",
    "compare_scan",
    "count_symbols",
    "doc_freq",
    "files_with_name",
    "find_hash",
    "find_path",
    "gather",
    "hash_bytes",
    "ids_of",
    "invert",
    "pack_ascending",
    "pack_deltas",
    "postings",
    "row_files",
    "symbols_of_hash",
    "tally",
    "top",
    "unpack_ascending",
    "unpack_deltas",
]
