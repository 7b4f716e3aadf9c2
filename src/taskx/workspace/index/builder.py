"""From scanned files to a segment: worker threads parse batches, which are joined in path order.

A batch is a run of neighbours in path order. Workers take them in that order; whoever finishes the
one that is next joins it, and all finished ones behind it, to the growing segment. So the
result does not depend on the timing. Parsing and joining run without the GIL.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from taskx._native.cancel import CancelFlag
from taskx.errors import RequestCancelled
from taskx.workspace.index import tables
from taskx.workspace.index.journal import Journal
from taskx.workspace.index.segment import Segment

BATCH_BYTES = 1 << 20
BATCH_FILES = 128
MAX_FILE_BYTES = 4 << 20
AHEAD = 16
"""Batches that may wait for a slow one before them."""


class Analyzer(Protocol):
    """Turns files into columns (symbols.py); one per thread."""

    def analyze(
        self,
        root: bytes,
        paths: bytes,
        path_off: memoryview,
        languages: memoryview,
        cancel: CancelFlag | None = None,
        at: memoryview | None = None,
    ) -> Any: ...


class NewAnalyzer(Protocol):
    def __call__(self) -> Analyzer: ...


class Analyzers:
    """Analyzers that are free, one per thread at a time."""

    def __init__(self, new_analyzer: NewAnalyzer) -> None:
        self._new = new_analyzer
        self._free: list[Analyzer] = []

    def take(self) -> Analyzer:
        return self._free.pop() if self._free else self._new()

    def give(self, analyzer: Analyzer) -> None:
        self._free.append(analyzer)


@dataclass(frozen=True, slots=True)
class Files:
    """Files to parse, sorted by path: blob, uint32 offsets (n + 1), sizes and language ids."""

    paths: bytes
    path_off: memoryview
    size: memoryview
    language: memoryview

    @property
    def n_files(self) -> int:
        return len(self.language)


@dataclass
class Counter:
    """How far a build is; read by anyone, written by the build."""

    files: int = 0
    parsed: int = 0


@dataclass
class _State:
    ranges: list[tuple[int, int]]
    taken: int = 0
    joined: int = 0
    waiting: dict[int, Any] = field(default_factory=dict)
    failure: BaseException | None = None


class Build:
    """One run over some files. `run` blocks; call it from a worker thread."""

    def __init__(
        self,
        root: bytes,
        files: Files,
        analyzers: Analyzers,
        journal: Journal,
        cancel: CancelFlag,
        counter: Counter,
        threads: int = 2,
    ) -> None:
        self._root = root
        self._files = files
        self._analyzers = analyzers
        self._journal = journal
        self._cancel = cancel
        self._counter = counter
        self._state = _State(ranges_of(files))
        self._threads = max(1, min(threads, len(self._state.ranges)))
        self._turn = threading.Condition()
        self._joining = threading.Lock()
        self._builder = tables.SegmentBuilder()

    def run(self) -> Segment:
        """The segment of all files. Raises RequestCancelled, MemoryError."""
        workers = [
            threading.Thread(target=self._work, args=(number,), name=f"taskx-index-{number}")
            for number in range(1, self._threads)
        ]
        for worker in workers:
            worker.start()
        self._work(0)
        for worker in workers:
            worker.join()
        if self._state.failure is not None:
            raise self._state.failure
        if self._cancel.is_set():
            raise RequestCancelled("the request was cancelled")
        return Segment(self._builder.finish())

    def _work(self, worker: int) -> None:
        try:
            analyzer = self._analyzers.take()
            slot = self._journal.slot(worker)
            while (number := self._take()) is not None:
                self._parse(analyzer, worker, slot, number)
                self._join()
            self._analyzers.give(analyzer)
        except BaseException as error:
            with self._turn:
                if self._state.failure is None:
                    self._state.failure = error
                self._turn.notify_all()

    def _take(self) -> int | None:
        """The next batch, once it is not too far ahead of the slowest."""
        state = self._state
        with self._turn:
            while state.taken >= state.joined + AHEAD and not self._stopped():
                self._turn.wait(0.05)
            if self._stopped() or state.taken == len(state.ranges):
                return None
            state.taken += 1
            return state.taken - 1

    def _stopped(self) -> bool:
        return self._state.failure is not None or self._cancel.is_set()

    def _parse(self, analyzer: Analyzer, worker: int, slot: memoryview, number: int) -> None:
        low, high = self._state.ranges[number]
        files = self._files
        offsets = files.path_off[low : high + 1]
        names = [files.paths[offsets[i] : offsets[i + 1]] for i in range(len(offsets) - 1)]
        self._journal.begin(worker, b"\0".join(names))
        batch = analyzer.analyze(
            self._root, files.paths, offsets, files.language[low:high], self._cancel, slot
        )
        slot[0] = -1
        if self._cancel.is_set():
            return
        with self._turn:
            self._state.waiting[number] = batch
            self._counter.parsed += high - low

    def _join(self) -> None:
        """Joins what is next in order, unless another thread is at it."""
        state = self._state
        while state.joined in state.waiting and self._joining.acquire(blocking=False):
            try:
                while not self._stopped():
                    with self._turn:
                        batch = state.waiting.pop(state.joined, None)
                    if batch is None:
                        break
                    low, high = state.ranges[state.joined]
                    self._builder.add(
                        batch,
                        self._files.paths,
                        self._files.path_off[low : high + 1],
                        self._files.language[low:high],
                    )
                    with self._turn:
                        state.joined += 1
                        self._turn.notify_all()
            finally:
                self._joining.release()
            if self._stopped():
                return


def ranges_of(files: Files) -> list[tuple[int, int]]:
    """Runs of neighbours of about BATCH_BYTES."""
    ranges = []
    start = 0
    size = 0
    for at, n in enumerate(files.size.tolist()):
        size += min(n, MAX_FILE_BYTES)
        if size >= BATCH_BYTES or at + 1 - start >= BATCH_FILES:
            ranges.append((start, at + 1))
            start, size = at + 1, 0
    if start < files.n_files:
        ranges.append((start, files.n_files))
    return ranges


def pick(
    paths: bytes, path_off: Sequence[int], size: Sequence[int], rows: Sequence[int]
) -> tuple[bytes, memoryview, memoryview]:
    """Blob, offsets and sizes of some rows of a scan."""
    from taskx.workspace.index.segment import pack, pack_paths

    blob, offsets = pack_paths([bytes(paths[path_off[i] : path_off[i + 1]]) for i in rows])
    return blob, offsets, pack("q", [size[i] for i in rows])
