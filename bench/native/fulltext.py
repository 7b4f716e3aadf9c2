"""Full text: the inverted index of this project against tantivy, fed with the same terms.

    python bench/native/fulltext.py DIR

Both get, for each file of DIR, the terms that the analyzer makes of it with their counts. tantivy
gets them as text split at white space, frequencies without positions, one thread, and the heap
that did best (120 MB). Prints CPU, wall and disk for building, and the time of a query of three
terms for the best 200 files. Needs `pip install tantivy`.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import tantivy

from taskx._native.tables import INPUTS
from taskx._native.terms import text_terms
from taskx.workspace.files.scan import scan
from taskx.workspace.index.segment import Segment, pack, pack_paths
from taskx.workspace.index.segment_file import write_segment
from taskx.workspace.index.snapshot import Snapshot, hash_term
from taskx.workspace.index.tables import SegmentBuilder

MAX_FILE_BYTES = 4 << 20
QUERIES = 200

Document = tuple[bytes, dict[str, int]]


def documents(root: Path) -> list[Document]:
    """Terms and counts (at most 255) of each text file, by path."""
    found = []
    names = scan(os.fsencode(root)).path_list()
    for name in names:
        data = (root / os.fsdecode(name)).read_bytes()[:MAX_FILE_BYTES]
        if b"\0" in data[:8192]:
            continue
        counts: dict[str, int] = {}
        for term in text_terms(data):
            text = term.decode("utf-8", "replace")
            counts[text] = min(counts.get(text, 0) + 1, 255)
        found.append((name, counts))
    return found


def timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    value = call()
    return value, time.perf_counter() - wall, time.process_time() - cpu


def empty_columns(n: int) -> dict[str, Any]:
    """A batch of files that have nothing but terms."""
    columns = {}
    for name, size, counts in INPUTS:
        items = {"f": n, "o": n + 1}.get(counts, 0)
        columns[name] = bytes(items * size)
    return columns


def prepared(found: list[Document]) -> list[tuple[Any, Any, Any, Any]]:
    batches = []
    for start in range(0, len(found), 128):
        part = found[start : start + 128]
        hashes, tfs, offsets = array("Q"), array("B"), array("I", [0])
        for _, counts in part:
            hashes.extend(hash_term(term) for term in counts)
            tfs.extend(counts.values())
            offsets.append(len(hashes))
        columns = empty_columns(len(part))
        columns.update(term_off=offsets, term_hash=hashes, term_tf=tfs)
        blob, path_off = pack_paths([name for name, _ in part])
        languages = pack("h", [0] * len(part))
        batches.append((SimpleNamespace(**columns), blob, path_off, languages))
    return batches


def ours(found: list[Document], folder: Path) -> tuple[Snapshot, float, float, int]:
    batches = prepared(found)

    def build() -> Segment:
        builder = SegmentBuilder()
        for batch in batches:
            builder.add(*batch)
        segment = Segment(builder.finish())
        write_segment(segment, folder / "segment.bin", lambda: False)
        return segment

    segment, wall, cpu = timed(build)
    size = sum(getattr(segment, f"text_{part}").nbytes for part in ("hash", "off", "posts"))
    return Snapshot(b"", [segment]), wall, cpu, size


def theirs(found: list[Document], folder: Path) -> tuple[Any, float, float, int]:
    schema = tantivy.SchemaBuilder()
    schema.add_unsigned_field("id", fast=True, indexed=False)
    schema.add_text_field("body", tokenizer_name="terms", index_option="freq")
    index = tantivy.Index(schema.build(), path=str(folder))
    split = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
    index.register_tokenizer("terms", split)
    texts = [" ".join(" ".join([term] * n) for term, n in counts.items()) for _, counts in found]

    def build() -> None:
        writer = index.writer(heap_size=120_000_000, num_threads=1)
        for number, text in enumerate(texts):
            document = tantivy.Document()
            document.add_unsigned("id", number)
            document.add_text("body", text)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()

    _, wall, cpu = timed(build)
    index.reload()
    size = sum(entry.stat().st_size for entry in folder.iterdir())
    return index, wall, cpu, size


def main(root: Path) -> None:
    found = documents(root)
    source = sum((root / os.fsdecode(name)).stat().st_size for name, _ in found)
    pairs = sum(len(counts) for _, counts in found)
    print(f"{len(found)} files, {source / 1e6:.1f} MB, {pairs} pairs of file and term")
    common = sorted({t for _, counts in found[:: max(1, len(found) // 50)] for t in counts})
    step = max(1, len(common) // (3 * QUERIES))
    words = common[::step]
    queries = [words[i : i + 3] for i in range(0, len(words) - 2, 3)][:QUERIES]
    scratch = Path(tempfile.mkdtemp(prefix="fulltext-"))
    try:
        (scratch / "tantivy").mkdir()
        snapshot, *our_figures = ours(found, scratch)
        report("taskx", *our_figures, source)
        best = [
            timed(lambda q=q: snapshot.search([(t, 1.0) for t in q], 200, 0.0))[1] for q in queries
        ]
        print(f"  query p50 {statistics.median(best) * 1000:.3f} ms")
        index, *their_figures = theirs(found, scratch / "tantivy")
        report("tantivy", *their_figures, source)
        searcher = index.searcher()

        def ask(terms: list[str]) -> Any:
            parts = [
                (tantivy.Occur.Should, tantivy.Query.term_query(index.schema, "body", term, "freq"))
                for term in terms
            ]
            return searcher.search(tantivy.Query.boolean_query(parts), 200, count=False).hits

        slow = [timed(lambda q=q: ask(q))[1] for q in queries]
        print(f"  query p50 {statistics.median(slow) * 1000:.3f} ms")
    finally:
        shutil.rmtree(scratch)


def report(name: str, wall: float, cpu: float, size: int, source: int) -> None:
    print(
        f"{name}: wall {wall:.2f} s, CPU {cpu:.2f} s ({cpu / source * 1e9:.1f} ns a source byte),"
        f" disk {size / 1e6:.1f} MB ({100 * size / source:.1f} %)"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
