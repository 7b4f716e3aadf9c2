"""What readers see: a base segment, overlays for changed files, and masks for what they hide."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Iterator, Sequence

from taskx.workspace.index import tables
from taskx.workspace.index.rows import Import, Symbol
from taskx.workspace.index.segment import Batch, Segment

HEAD_WEIGHT = 2.5
"""Share of a term in path and symbol names against one in the text."""

ZERO = memoryview(bytes(8)).cast("d")


class Snapshot:
    """Immutable. A global file id (fid) is the base of its segment plus the index in it.

    segments: the base first, then overlays, newest last. bases: first fid of each segment.
    live: per segment a byte per file (0: hidden or deleted), or None when all are live.
    version: grows with each change.
    """

    __slots__ = ("_n_live", "bases", "live", "n_files", "root", "segments", "version")

    def __init__(
        self,
        root: bytes,
        segments: Sequence[Segment],
        live: Sequence[bytes | None] | None = None,
        version: int = 1,
    ) -> None:
        self.root = root
        self.segments = tuple(segments)
        self.live = tuple(live) if live is not None else (None,) * len(self.segments)
        self.version = version
        bases = [0]
        for segment in self.segments:
            bases.append(bases[-1] + segment.n_files)
        self.bases = tuple(bases[:-1])
        self._n_live = tuple(
            segment.n_files if mask is None else segment.n_files - mask.count(0)
            for segment, mask in zip(self.segments, self.live, strict=True)
        )
        self.n_files = sum(self._n_live)

    @classmethod
    def from_batches(
        cls, root: bytes, batches: Iterable[tuple[Sequence[bytes], Sequence[int], Batch]]
    ) -> Snapshot:
        """A snapshot of (paths, language ids, batch), files in ascending order of their paths."""
        return cls(root, [Segment.from_batches(batches)])

    def with_changes(self, segment: Segment | None, removed: Iterable[bytes]) -> Snapshot:
        """The snapshot after an overlay: its files hide older ones of the same path."""
        gone = list(removed)
        if segment is not None:
            gone.extend(segment.path(i) for i in range(segment.n_files))
        masks: list[bytearray | None] = [None] * len(self.segments)
        for path in gone:
            for at, older in enumerate(self.segments):
                index = older.find(path)
                if index < 0:
                    continue
                mask = masks[at]
                if mask is None:
                    kept = self.live[at]
                    mask = masks[at] = bytearray(
                        kept if kept is not None else b"\x01" * older.n_files
                    )
                mask[index] = 0
        segments = [*self.segments]
        live: list[bytes | None] = [
            kept if fresh is None else bytes(fresh)
            for kept, fresh in zip(self.live, masks, strict=True)
        ]
        if segment is not None and segment.n_files:
            segments.append(segment)
            live.append(None)
        return Snapshot(self.root, segments, live, self.version + 1)

    # Files

    def locate(self, fid: int) -> tuple[Segment, int]:
        at = bisect.bisect_right(self.bases, fid) - 1
        return self.segments[at], fid - self.bases[at]

    def is_live(self, fid: int) -> bool:
        at = bisect.bisect_right(self.bases, fid) - 1
        mask = self.live[at]
        return mask is None or mask[fid - self.bases[at]] != 0

    def file_ids(self) -> Iterator[int]:
        """All live files: ascending, not in path order when there are overlays."""
        for base, segment, mask in zip(self.bases, self.segments, self.live, strict=True):
            if mask is None:
                yield from range(base, base + segment.n_files)
            else:
                yield from (base + i for i, alive in enumerate(mask) if alive)

    def path_bytes(self, fid: int) -> bytes:
        segment, index = self.locate(fid)
        return segment.path(index)

    def path(self, fid: int) -> str:
        """Relative to the root; bytes that are not UTF-8 become replacement characters."""
        return self.path_bytes(fid).decode("utf-8", "replace")

    def tree_path(self, given: str) -> str | None:
        """The path in the tree that a client means: relative, or absolute below the root.

        A file whose name is not UTF-8 is meant by the replacement characters that `path` shows; its
        bytes come back as surrogates. None when the path lies outside the root.
        """
        root = self.root.decode("utf-8", "surrogateescape").rstrip("/")
        if given.startswith("/"):
            if given.rstrip("/") != root and not given.startswith(root + "/"):
                return None
            given = given[len(root) :]
        parts: list[str] = []
        for part in given.split("/"):
            if part == "..":
                if not parts:
                    return None
                parts.pop()
            elif part not in ("", "."):
                parts.append(part)
        path = "/".join(parts)
        if "\ufffd" in path and self.file_id(path) is None:
            fid = next((fid for fid in self.file_ids() if self.path(fid) == path), None)
            if fid is not None:
                return self.path_bytes(fid).decode("utf-8", "surrogateescape")
        return path

    def file_id(self, path: str | bytes) -> int | None:
        raw = path.encode("utf-8", "surrogateescape") if isinstance(path, str) else path
        for at in range(len(self.segments) - 1, -1, -1):
            index = self.segments[at].find(raw)
            mask = self.live[at]
            if index >= 0 and (mask is None or mask[index]):
                return self.bases[at] + index
        return None

    def language(self, fid: int) -> int:
        segment, index = self.locate(fid)
        return int(segment.language[index])

    # Symbols, imports, identifiers

    def symbols_of(self, fid: int) -> list[Symbol]:
        segment, index = self.locate(fid)
        base = fid - index
        return [
            segment.symbol(row, base)
            for row in range(segment.sym_off[index], segment.sym_off[index + 1])
        ]

    def symbols_named(self, name_hash: int) -> list[Symbol]:
        found = []
        for base, segment, mask in zip(self.bases, self.segments, self.live, strict=True):
            start, end = tables.symbols_of_hash(
                segment.sym_name_hash, segment.sym_by_hash, name_hash
            )
            for at in range(start, end):
                row = segment.sym_by_hash[at]
                if mask is None or mask[segment.sym_file[row]]:
                    found.append(segment.symbol(row, base))
        return found

    def imports_of(self, fid: int) -> list[Import]:
        segment, index = self.locate(fid)
        base = fid - index
        return [
            segment.import_row(row, base)
            for row in range(segment.imp_off[index], segment.imp_off[index + 1])
        ]

    def files_using(self, name_hash: int) -> list[int]:
        """Live files in whose text the identifier stands, its own definitions too."""
        found: list[int] = []
        for base, segment, mask in zip(self.bases, self.segments, self.live, strict=True):
            name = tables.find_hash(segment.names, name_hash)
            if name < 0:
                continue
            users = tables.files_with_name(segment.idt_off, segment.idt_name, name)
            found.extend(base + index for index in users if mask is None or mask[index])
        return found

    # Full text

    def doc_freq(self, term: str | bytes) -> int:
        """Files whose text holds the term; overlaid versions are counted too."""
        term_hash = hash_term(term)
        return sum(
            tables.doc_freq(s.text_hash, s.text_off, s.text_posts, term_hash) for s in self.segments
        )

    def search(
        self,
        terms: Sequence[tuple[str | bytes, float]],
        limit: int,
        head_weight: float = HEAD_WEIGHT,
    ) -> list[tuple[int, float]]:
        """The best live files as (fid, score), best first, equal ones by fid.

        The score is BM25 over the text plus head_weight times BM25 over path and symbol names.
        """
        total = sum(segment.n_files for segment in self.segments)
        if total == 0 or limit <= 0:
            return []
        scores = memoryview(bytearray(8 * total)).cast("d")
        mean_text = sum(s.text_length() for s in self.segments) / total
        mean_head = sum(s.head_length() for s in self.segments) / total
        for term, weight in terms:
            term_hash = hash_term(term)
            text_df = head_df = 0
            for s in self.segments:
                text_df += tables.doc_freq(s.text_hash, s.text_off, s.text_posts, term_hash)
                head_df += tables.doc_freq(s.head_hash, s.head_off, s.head_posts, term_hash)
            text_weight = weight * inverse_df(text_df, total)
            name_weight = weight * head_weight * inverse_df(head_df, total)
            for base, s in zip(self.bases, self.segments, strict=True):
                part = scores[base : base + s.n_files]
                if text_df:
                    tables.accumulate(
                        part, s.text_hash, s.text_off, s.text_posts, s.n_terms,
                        term_hash, text_weight, mean_text,
                    )  # fmt: skip
                if head_df and head_weight:
                    tables.accumulate(
                        part, s.head_hash, s.head_off, s.head_posts, s.head_len,
                        term_hash, name_weight, mean_head,
                    )  # fmt: skip
        for base, s, mask in zip(self.bases, self.segments, self.live, strict=True):
            if mask is not None:
                hide(scores[base : base + s.n_files], mask)
        return tables.top(scores, None, limit)

    def mask(self) -> bytes | None:
        """A byte per fid, 0 when it is not live; None when all are."""
        if all(mask is None for mask in self.live):
            return None
        return b"".join(
            mask if mask is not None else b"\x01" * segment.n_files
            for segment, mask in zip(self.segments, self.live, strict=True)
        )


def hide(scores: memoryview[float], mask: bytes) -> None:
    """Scores of hidden files become 0."""
    at = mask.find(0)
    while at >= 0:
        scores[at : at + 1] = ZERO
        at = mask.find(0, at + 1)


def inverse_df(df: int, total: int) -> float:
    """The idf of BM25 as Lucene has it: never negative."""
    return math.log1p((total - df + 0.5) / (df + 0.5))


def hash_term(term: str | bytes) -> int:
    """hash64 of `_types.pxd`."""
    return tables.hash_bytes(term.encode() if isinstance(term, str) else term)
