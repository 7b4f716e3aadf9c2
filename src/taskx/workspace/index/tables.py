"""The native tables: building the columns of a segment, and walking them."""

from __future__ import annotations

from taskx._native.postings import accumulate, doc_freq, postings, top
from taskx._native.tables import (
    COLUMNS,
    SIZES,
    SegmentBuilder,
    checksum,
    compare_scan,
    files_with_name,
    find_hash,
    find_path,
    hash_bytes,
    symbols_of_hash,
)

__all__ = [
    "COLUMNS",
    "SIZES",
    "SegmentBuilder",
    "accumulate",
    "checksum",
    "compare_scan",
    "doc_freq",
    "files_with_name",
    "find_hash",
    "find_path",
    "hash_bytes",
    "postings",
    "symbols_of_hash",
    "top",
]
