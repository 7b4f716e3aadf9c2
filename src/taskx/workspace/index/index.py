"""The index of one tree and what happens to it: opened, scanned again, told of changes, saved.

Everything here blocks and is called from worker threads, one call at a time. Readers use the
immutable `snapshot`.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from taskx._native.cancel import CancelFlag
from taskx.errors import RequestCancelled
from taskx.workspace.files.scan import PathsScan, Scan
from taskx.workspace.index import tables
from taskx.workspace.index.builder import Analyzers, Build, Counter, Files, NewAnalyzer, pick
from taskx.workspace.index.journal import TEXT_STRIKES, Journal, collect, forgive
from taskx.workspace.index.merge import GROWTH, merged
from taskx.workspace.index.rows import BUDGET
from taskx.workspace.index.segment import Segment, pack
from taskx.workspace.index.snapshot import Snapshot
from taskx.workspace.index.store import Store, Stored

RACY_NS = 100_000_000
"""A file changed this shortly before a scan may have changed again in the same tick of its clock.
ext4 counts in ticks of 4 ms; file systems with whole seconds get RACY_SECONDS_NS."""
RACY_SECONDS_NS = 2_000_000_000

REBUILD_SHARE = 0.5
"""Above this share of changed files an index is built anew."""

SMALL = 64
"""Changes of so many files use analyzers that are kept; larger work gets its own, to let its memory
go afterwards."""

log = logging.getLogger(__name__)


class FileSource(Protocol):
    """What the index needs of `files.scan.Scanner`."""

    @property
    def files_seen(self) -> int: ...
    def scan(self, cancel: CancelFlag | None = None) -> Scan: ...
    def scan_paths(self, paths: Iterable[bytes], cancel: CancelFlag | None = None) -> PathsScan: ...


class Languages(Protocol):
    """Language ids (int16) of some rows of a scan."""

    def __call__(self, root: bytes, scan: Scan, rows: Sequence[int]) -> memoryview: ...


@dataclass
class Outcome:
    """What an open, a refresh or a change did."""

    parsed: int = 0
    removed: int = 0
    from_cache: bool = False
    gaps: list[tuple[bytes, str]] = field(default_factory=list)
    scan: Scan | None = None
    """The scan behind it, of the whole tree."""
    graph: bytes | None = None
    """The stored graph, when it belongs to the snapshot as it is."""

    @property
    def changed(self) -> bool:
        return self.parsed > 0 or self.removed > 0


class Index:
    """See the module. `snapshot` is replaced as a whole; `scanned_ns` goes with its segments."""

    def __init__(
        self,
        root: bytes,
        source: FileSource,
        languages: Languages,
        new_analyzer: NewAnalyzer,
        store: Store | None = None,
        threads: int | None = None,
    ) -> None:
        self.root = root
        self.store = store
        self.snapshot = Snapshot(root, [])
        self.saved_version = 0
        self._scanned_ns: list[int] = []
        self._source = source
        self._languages = languages
        self._new_analyzer = new_analyzer
        self._threads = threads or min(8, os.cpu_count() or 1)
        self._strikes: dict[bytes, int] = {}
        self._journal: Journal | None = None
        self._told = False  # that the store cannot be written
        self._small = Analyzers(new_analyzer)

    @property
    def files_seen(self) -> int:
        """Files the scan under way has found."""
        return self._source.files_seen

    @property
    def unsaved(self) -> bool:
        """Whether the store does not have the snapshot as it is."""
        return self.store is not None and self.saved_version != self.snapshot.version

    # Opening and scanning again

    def open(self, cancel: CancelFlag, counter: Counter) -> Outcome:
        """From the store where it holds, else from the files. Raises RequestCancelled, OSError."""
        loader = _Thread(self.store.load) if self.store is not None else None
        scanned_ns = time.time_ns()
        try:
            scan = self._source.scan(cancel)
        finally:
            stored = loader.result() if loader is not None else None
        counter.files = scan.n_files
        if self.store is not None:
            self._strikes = collect(self.store.folder, self.root)
        if stored is None:
            return self._build_all(scan, scanned_ns, cancel, counter)
        self.snapshot = Snapshot(self.root, stored.segments, stored.live)
        self._scanned_ns = stored.scanned_ns
        self.saved_version = self.snapshot.version
        assert self.store is not None
        self.store.mark_used()
        outcome = self._update(scan, scanned_ns, cancel, counter)
        outcome.from_cache = outcome.from_cache or outcome.parsed < scan.n_files
        if not outcome.changed:
            outcome.graph = stored.graph
        return outcome

    def refresh(self, cancel: CancelFlag, counter: Counter) -> Outcome:
        """Scans again; what has its old size and mtime is not parsed again."""
        scanned_ns = time.time_ns()
        scan = self._source.scan(cancel)
        counter.files = scan.n_files
        return self._update(scan, scanned_ns, cancel, counter)

    def _build_all(
        self, scan: Scan, scanned_ns: int, cancel: CancelFlag, counter: Counter
    ) -> Outcome:
        segment = self._parse(scan, None, cancel, counter)
        self.snapshot = Snapshot(self.root, [segment], None, self.snapshot.version + 1)
        self._scanned_ns = [scanned_ns]
        return Outcome(parsed=segment.n_files, gaps=scan.gaps, scan=scan)

    def _update(self, scan: Scan, scanned_ns: int, cancel: CancelFlag, counter: Counter) -> Outcome:
        same, missing = self._compare(scan)
        rows = _zeros(same)
        if self.snapshot.n_files and len(rows) > REBUILD_SHARE * max(scan.n_files, 1000):
            return self._build_all(scan, scanned_ns, cancel, counter)
        return self._apply(scan, rows, missing, scanned_ns, cancel, counter)

    def _compare(self, scan: Scan) -> tuple[bytearray, list[bytes]]:
        """A byte per scanned file, 1 where the index has it as it is; paths that are gone."""
        same = bytearray(scan.n_files)
        missing = []
        snapshot = self.snapshot
        for segment, live, scanned_ns in zip(
            snapshot.segments, snapshot.live, self._scanned_ns, strict=True
        ):
            seen = bytearray(segment.n_files)
            tables.compare_scan(
                scan.paths, scan.path_off, scan.size, scan.mtime_ns,
                segment.path_blob, segment.path_off, segment.size, segment.mtime_ns,
                live, scanned_ns - RACY_NS, scanned_ns - RACY_SECONDS_NS, same, seen,
            )  # fmt: skip
            at = seen.find(0)
            while at >= 0:
                if live is None or live[at]:
                    missing.append(segment.path(at))
                at = seen.find(0, at + 1)
        return same, missing

    # Changes

    def change(self, paths: Iterable[bytes], cancel: CancelFlag, counter: Counter) -> Outcome:
        """Takes in what these paths have become: files always anew, folders where they differ."""
        scanned_ns = time.time_ns()
        found = self._source.scan_paths(paths, cancel)
        scan = found.scan
        known: set[bytes] = set()
        for scope in found.scopes:
            known.update(self._paths_below(scope))
        named = set(found.scopes)
        present = scan.path_list()
        rows = [
            i for i, path in enumerate(present) if path in named or not self._has(path, scan, i)
        ]
        missing = sorted(known.difference(present))
        counter.files = len(rows)
        return self._apply(scan, rows, missing, scanned_ns, cancel, counter, always=named)

    def _has(self, path: bytes, scan: Scan, row: int) -> bool:
        """Whether the index has a scanned file as it is."""
        fid = self.snapshot.file_id(path)
        if fid is None:
            return False
        segment, at = self.snapshot.locate(fid)
        scanned_ns = self._scanned_ns[self.snapshot.segments.index(segment)]
        mtime_ns = scan.mtime_ns[row]
        margin_ns = RACY_NS if mtime_ns % 1_000_000_000 else RACY_SECONDS_NS
        return bool(
            segment.size[at] == scan.size[row]
            and segment.mtime_ns[at] == mtime_ns
            and mtime_ns < scanned_ns - margin_ns
        )

    def _paths_below(self, scope: bytes) -> list[bytes]:
        """Live files at or below a path; b"" is the root."""
        found: list[bytes] = []
        for segment, live in zip(self.snapshot.segments, self.snapshot.live, strict=True):
            if scope:
                find = tables.find_path
                blob, off = segment.path_blob, segment.path_off
                rows = [*range(find(blob, off, scope + b"/"), find(blob, off, scope + b"0"))]
                exact = segment.find(scope)
                if exact >= 0:
                    rows.append(exact)
            else:
                rows = [*range(segment.n_files)]
            found.extend(segment.path(i) for i in rows if live is None or live[i])
        return found

    def _apply(
        self,
        scan: Scan,
        rows: Sequence[int],
        missing: list[bytes],
        scanned_ns: int,
        cancel: CancelFlag,
        counter: Counter,
        always: Iterable[bytes] = (),
    ) -> Outcome:
        """Parses some rows of a scan into an overlay and takes missing paths out."""
        outcome = Outcome(removed=len(missing), gaps=scan.gaps, scan=scan if scan.whole else None)
        overlay = None
        if rows:
            overlay = self._parse(scan, rows, cancel, counter)
            overlay = self._without_equal(overlay, set(always))
            outcome.parsed = overlay.n_files
        if outcome.changed:
            self._lay_over(overlay, missing, scanned_ns)
        return outcome

    def _without_equal(self, overlay: Segment, always: set[bytes]) -> Segment:
        """The overlay without files whose content, size and mtime the index has already."""
        keep = bytearray(b"\x01" * overlay.n_files)
        for i in range(overlay.n_files):
            path = overlay.path(i)
            if path in always:
                continue
            fid = self.snapshot.file_id(path)
            if fid is None:
                continue
            old, at = self.snapshot.locate(fid)
            keep[i] = not (
                old.content_hash[at] == overlay.content_hash[i]
                and old.size[at] == overlay.size[i]
                and old.mtime_ns[at] == overlay.mtime_ns[i]
                and old.status[at] == overlay.status[i]
            )
        return overlay if all(keep) else merged([(overlay, bytes(keep))])

    def _lay_over(self, overlay: Segment | None, missing: list[bytes], scanned_ns: int) -> None:
        snapshot = self.snapshot.with_changes(overlay, missing)
        scanned = [*self._scanned_ns]
        if len(snapshot.segments) > len(scanned):
            scanned.append(scanned_ns)
        segments, live = [*snapshot.segments], [*snapshot.live]
        while len(segments) > 2 and segments[-2].n_files <= GROWTH * segments[-1].n_files:
            parts = [(segments[-2], live[-2]), (segments[-1], live[-1])]
            segments[-2:] = [merged(parts)]
            live[-2:] = [None]
            scanned[-2:] = [min(scanned[-2:])]
        self._scanned_ns = scanned
        self.snapshot = Snapshot(self.root, segments, live, snapshot.version)

    # Parsing

    def _parse(
        self, scan: Scan, rows: Sequence[int] | None, cancel: CancelFlag, counter: Counter
    ) -> Segment:
        """A segment of some rows of a scan, or of all. Files that kill are left out."""
        struck = {path for path, strikes in self._strikes.items() if strikes > TEXT_STRIKES}
        if struck:
            every = range(scan.n_files) if rows is None else rows
            rows = [i for i in every if scan.path(i) not in struck]
        if rows is None:
            ids = self._languages(self.root, scan, range(scan.n_files))
            files = Files(scan.paths, scan.path_off, scan.size, ids)
        else:
            ids = self._languages(self.root, scan, rows)
            files = Files(*pick(scan.paths, scan.path_off, scan.size, rows), ids)
        files = self._spare(files)
        if self._journal is None:
            folder = self.store.folder if self.store is not None else None
            self._journal = Journal(folder, self._threads)
        analyzers = self._small if files.n_files <= SMALL else Analyzers(self._new_analyzer)
        build = Build(self.root, files, analyzers, self._journal, cancel, counter, self._threads)
        segment = self._mark(build.run())
        self._forgive(segment)
        return segment

    def close(self) -> None:
        """Nothing of this index is being parsed any more."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def _spare(self, files: Files) -> Files:
        """Files that killed more than once are read as plain text."""
        spared = self._spared()
        if not spared:
            return files
        ids = list(files.language)
        for i in range(files.n_files):
            if files.paths[files.path_off[i] : files.path_off[i + 1]] in spared:
                ids[i] = 0
        return Files(files.paths, files.path_off, files.size, pack("h", ids))

    def _mark(self, segment: Segment) -> Segment:
        """Spared files are listed as over budget."""
        rows = [row for path in self._spared() if (row := segment.find(path)) >= 0]
        if rows:
            status = bytearray(segment.status)
            for row in rows:
                status[row] = BUDGET
            segment.status = memoryview(bytes(status))
        return segment

    def _spared(self) -> set[bytes]:
        return {path for path, strikes in self._strikes.items() if strikes >= TEXT_STRIKES}

    def _forgive(self, segment: Segment) -> None:
        """A file that was parsed to the end has not killed anybody."""
        suspects = self._strikes.keys() - self._spared()
        parsed = [path for path in suspects if segment.find(path) >= 0]
        if parsed and self.store is not None:
            forgive(self.store.folder, parsed)
            for path in parsed:
                del self._strikes[path]

    # Keeping

    def save(
        self,
        graph_of: Callable[[Snapshot], bytes | None] = lambda snapshot: None,
        cancel: CancelFlag | None = None,
    ) -> bool:
        """Writes to the store what is not there yet. False when it was not written.

        graph_of: the graph's bytes to go with a snapshot.
        A store that cannot be written is a warning: the index goes on in memory.
        """
        if self.store is None:
            return False
        snapshot = self.snapshot
        graph = graph_of(snapshot)
        stored = Stored([*snapshot.segments], [*snapshot.live], [*self._scanned_ns], graph)
        try:
            done = self.store.save(stored, cancel.is_set if cancel is not None else lambda: False)
            if done:
                self.saved_version = snapshot.version
                self.store.map_written()
                self.store.drop_old()
            return done
        except OSError as error:
            if not self._told:
                log.warning("the index is not kept on disk: %s", error)
            self._told = True
            return False


class _Thread:
    """A call in a thread of its own."""

    def __init__(self, call: object) -> None:
        self._call = call
        self._value: Stored | None = None
        self._thread = threading.Thread(target=self._run, name="taskx-index-load", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._value = self._call()  # type: ignore[operator]

    def result(self) -> Stored | None:
        self._thread.join()
        return self._value


def _zeros(flags: bytearray) -> list[int]:
    """Positions of the zero bytes."""
    found = []
    at = flags.find(0)
    while at >= 0:
        found.append(at)
        at = flags.find(0, at + 1)
    return found


__all__ = ["FileSource", "Index", "Languages", "Outcome", "RequestCancelled"]
