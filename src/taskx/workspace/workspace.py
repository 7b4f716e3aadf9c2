"""The open workspace: what the event loop holds of a tree, and the threads that work for it.

The loop owns this object. Threads get immutable snapshots and give back values; the loop swaps
them in. One thread changes the index, two answer questions, one writes to disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from taskx._native.cancel import CancelFlag
from taskx.errors import InvalidParams, RequestCancelled
from taskx.protocol.workspace import (
    FailedProgress,
    GraphProgress,
    IndexingProgress,
    ProgressEvent,
    ReadyProgress,
    Stats,
    Summary,
    UpdatedProgress,
)
from taskx.workspace import overview
from taskx.workspace.files.columns import languages_of
from taskx.workspace.files.scan import Scanner, ScanOptions
from taskx.workspace.index.builder import Counter
from taskx.workspace.index.index import Index, Outcome
from taskx.workspace.index.snapshot import Snapshot
from taskx.workspace.index.store import Store, cache_base
from taskx.workspace.index.symbols import analyzer
from taskx.workspace.memory import give_back

if TYPE_CHECKING:
    from taskx.protocol.context import OutlineResult, RetrieveResult, SymbolsResult
    from taskx.workspace.files.instructions import InstructionFile
    from taskx.workspace.graph.graph import Graph

PROGRESS_S = 0.15
SETTLE_S = 0.25
SAVE_FILES = 1000
"""Changes of at least so many files are written to disk at once, fewer at the end."""
CLOSE_S = 3.0

Emit = Callable[[ProgressEvent], None]
T = TypeVar("T")


def _nowhere(event: ProgressEvent) -> None:
    """For callers without interest in progress."""


class Workspace:
    """See the module. Made by `open`; `close` must be called."""

    def __init__(self, index: Index, excludes: Sequence[str], environ: Mapping[str, str]) -> None:
        self.root = Path(os.fsdecode(index.root))
        self.index = index
        self.excludes = tuple(excludes)
        self._environ = environ
        self._changing = ThreadPoolExecutor(1, thread_name_prefix="taskx-index")
        self._reading = ThreadPoolExecutor(2, thread_name_prefix="taskx-read")
        self._saving = ThreadPoolExecutor(1, thread_name_prefix="taskx-save")
        self._cancel = CancelFlag()
        self._overview = overview.Overview(index.root, environ)
        self._summary: Summary | None = None
        self._graph: Graph | None = None
        # The stored graph of one snapshot, not yet read.
        self._stored_graph: tuple[Snapshot, bytes] | None = None
        self._graph_lock = asyncio.Lock()
        self._pending: dict[bytes, None] = {}
        self._draining: asyncio.Task[None] | None = None
        self._save_task: asyncio.Task[None] | None = None
        self._save_flag = CancelFlag()
        self._closed = False

    @staticmethod
    async def open(
        root: str | Path,
        exclude: Sequence[str] = (),
        emit: Emit = _nowhere,
        data_dir: Path | None = None,
        cache: bool = True,
        *,
        cache_dir: Path | None = None,
        environ: Mapping[str, str] = MappingProxyType({}),
        cancel: CancelFlag | None = None,
        threads: int | None = None,
    ) -> Workspace:
        """Scans, indexes and describes a folder.

        The index is kept in data_dir/index, else in cache_dir, else below environ's cache folder;
        nowhere with cache=False. Setting `cancel` ends the open as cancelling the task does.
        Raises InvalidParams for a root that cannot be opened, RequestCancelled.
        """
        real = real_root(root)
        base = None
        if cache:
            base = cache_dir if data_dir is None else None
            base = base or cache_base(data_dir, environ)
        options = ScanOptions(exclude=tuple(exclude), environ=environ)
        index = Index(
            real,
            Scanner(real, options),
            languages_of,
            analyzer,
            Store(base, real) if base is not None else None,
            threads,
        )
        workspace = Workspace(index, exclude, environ)
        if cancel is not None:
            workspace._cancel = cancel
        try:
            await workspace._open(emit)
        except BaseException as error:
            await workspace.close()
            await asyncio.to_thread(give_back)
            if isinstance(error, OSError):
                raise InvalidParams(f"invalid params.root: {error.strerror or error}") from error
            raise
        return workspace

    # What readers take

    @property
    def snapshot(self) -> Snapshot:
        return self.index.snapshot

    def summary(self) -> Summary:
        assert self._summary is not None
        return self._summary

    @property
    def instructions(self) -> list[InstructionFile]:
        """Instruction files with their content; `files.instructions.for_paths` picks from them."""
        return self._overview.instructions

    async def settled(self) -> None:
        """Waits a little for changes that were reported before this call."""
        if self._draining is not None:
            await asyncio.wait({self._draining}, timeout=SETTLE_S)

    async def read(self, call: Callable[..., T], *arguments: Any) -> T:
        """Runs a question in one of the reading threads. Raises RequestCancelled once closed."""
        self._refuse_when_closed()
        return await asyncio.get_running_loop().run_in_executor(self._reading, call, *arguments)

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise RequestCancelled("the workspace was replaced or closed meanwhile")

    async def retrieve(
        self, query: str, budget_tokens: int = 8000, focus_paths: Sequence[str] = ()
    ) -> RetrieveResult:
        """Snippets that answer a question, with the instructions of their folders."""
        from taskx.workspace.files.instructions import for_paths
        from taskx.workspace.retrieval.retrieve import retrieve

        await self.settled()
        gone = threading.Event()
        files = self.instructions
        try:
            return await self.read(
                retrieve, self.snapshot, query, budget_tokens,
                list(focus_paths), gone.is_set, lambda paths: for_paths(files, paths),
            )  # fmt: skip
        finally:
            gone.set()

    async def symbols(self, query: str, kind: str | None = None, limit: int = 50) -> SymbolsResult:
        """Definitions for a typed name, best first."""
        from taskx.workspace.retrieval.symbols_search import search

        await self.settled()
        return await self.read(search, self.snapshot, query, kind, limit)

    async def outline(self, path: str) -> OutlineResult:
        """The symbols of a file. Raises InvalidParams when it is not indexed."""
        from taskx.workspace.retrieval.symbols_search import outline

        await self.settled()
        return await self.read(outline, self.snapshot, path)

    async def graph(self) -> Graph:
        """The graph of the snapshot as it is now; brought up to date when it is not."""
        async with self._graph_lock:
            snapshot = self.snapshot
            if self._graph is None or self._graph.snapshot is not snapshot:
                stored, self._stored_graph = self._stored_graph, None
                if stored is not None:
                    self._graph = await self.read(_restore, stored[1], stored[0])
            if self._graph is None or self._graph.snapshot is not snapshot:
                self._graph = await self.read(_graph_builder(), snapshot, self._graph)
            return self._graph

    # Opening, scanning again

    async def _open(self, emit: Emit) -> None:
        started = time.monotonic()
        counter = Counter()
        outcome = await self._watched(self.index.open, counter, started, emit)
        await self._describe(outcome, started)
        emit(GraphProgress(files=self.snapshot.n_files, elapsed_ms=elapsed(started)))
        stats = await self._first_graph_stats(outcome)
        await self._describe(outcome, started, paths_changed=False)
        emit(ReadyProgress(stats=self.summary().stats, graph=stats, elapsed_ms=elapsed(started)))
        self._save_soon(outcome)

    async def _first_graph_stats(self, outcome: Outcome) -> dict[str, Any]:
        """From the store when nothing has changed: the graph is then read with its first use."""
        stored = overview.unpack_graph(outcome.graph) if outcome.graph is not None else None
        if stored is None:
            graph = await self._cancellable(self.graph())
            self.index.saved_version = 0  # The store lacks this graph.
            return await self.read(overview.graph_stats, graph)
        stats, data = stored
        self._stored_graph = (self.snapshot, data)
        return stats

    def _packed_graph(self, snapshot: Snapshot) -> bytes | None:
        graph = self._graph
        if graph is not None and graph.snapshot is snapshot:
            return overview.pack_graph(graph)
        return None

    async def refresh(self, emit: Emit = _nowhere) -> Summary:
        """Scans again. Raises RequestCancelled; the workspace is then as it was."""
        started = time.monotonic()
        outcome = await self._watched(self.index.refresh, Counter(), started, emit)
        await self._describe(outcome, started)
        emit(GraphProgress(files=self.snapshot.n_files, elapsed_ms=elapsed(started)))
        graph = await self._cancellable(self.graph())
        emit(
            ReadyProgress(
                stats=self.summary().stats,
                graph=await self.read(overview.graph_stats, graph),
                elapsed_ms=elapsed(started),
            )
        )
        self._save_soon(outcome)
        return self.summary()

    async def _watched(
        self,
        work: Callable[[CancelFlag, Counter], Outcome],
        counter: Counter,
        started: float,
        emit: Emit,
    ) -> Outcome:
        """Runs work in the index thread, reporting how far it is."""
        ticker = asyncio.create_task(self._tick(counter, started, emit))
        try:
            outcome = await self._in_index_thread(lambda cancel: work(cancel, counter))
        finally:
            ticker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await ticker
        if elapsed(started) < 1000 * PROGRESS_S:
            emit(self._progress(counter, started))
        return outcome

    async def _tick(self, counter: Counter, started: float, emit: Emit) -> None:
        while True:
            await asyncio.sleep(PROGRESS_S)
            emit(self._progress(counter, started))

    def _progress(self, counter: Counter, started: float) -> IndexingProgress:
        return IndexingProgress(
            files=max(counter.files, self.index.files_seen),
            parsed=counter.parsed,
            elapsed_ms=elapsed(started),
        )

    async def _in_index_thread(self, work: Callable[[CancelFlag], T]) -> T:
        """Runs work in the index thread; when this task is cancelled, work is, and waited for."""
        self._refuse_when_closed()
        cancel = self._cancel
        future = asyncio.get_running_loop().run_in_executor(self._changing, work, cancel)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            self._cancel = CancelFlag()
            cancel.set()
            await asyncio.wait({future})
            future.exception()
            raise

    async def _cancellable(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits work unless the open is cancelled by its flag meanwhile."""
        task = asyncio.create_task(work)
        try:
            while not task.done():
                await asyncio.wait({task}, timeout=0.05)
                if self._cancel.is_set():
                    raise RequestCancelled("the request was cancelled")
        except BaseException:
            task.cancel()
            raise
        return task.result()

    async def _describe(self, outcome: Outcome, started: float, paths_changed: bool = True) -> None:
        snapshot = self.snapshot
        if paths_changed:
            await self.read(self._overview.renew, snapshot, outcome.scan)
        stats = overview.stats_of(snapshot, outcome, elapsed(started))
        self._summary = self._overview.summary(stats, self.excludes)

    # Changes

    async def files_changed(self, paths: Iterable[str | bytes], emit: Emit = _nowhere) -> None:
        """Takes in what these paths have become; returns when the index has them."""
        for path in paths:
            raw = os.fsencode(path) if isinstance(path, str) else path
            self._pending[raw] = None
        if self._closed or not self._pending:
            return
        if self._draining is None or self._draining.done():
            self._draining = asyncio.create_task(self._drain(emit))
        await asyncio.shield(self._draining)

    async def _drain(self, emit: Emit) -> None:
        while self._pending and not self._closed:
            paths = [*self._pending]
            self._pending.clear()
            started = time.monotonic()
            counter = Counter()
            try:
                outcome = await self._in_index_thread(
                    lambda cancel, paths=paths, counter=counter: self.index.change(  # type: ignore[misc]
                        paths, cancel, counter
                    )
                )
            except OSError as error:
                emit(FailedProgress(error=error.strerror or str(error)))
                continue
            if outcome.changed:
                if self._overview.concerned(paths):
                    await self.read(self._overview.renew, self.snapshot)
                stats = overview.stats_of(self.snapshot, outcome, elapsed(started))
                self._summary = self._overview.summary(stats, self.excludes)
                emit(UpdatedProgress(stats=stats))
                self._save_soon(outcome)

    # Keeping, closing

    def _save_soon(self, outcome: Outcome) -> None:
        many = outcome.parsed + outcome.removed >= SAVE_FILES or not self.index.saved_version
        idle = self._save_task is None or self._save_task.done()
        if self.index.unsaved and many and idle:
            self._save_task = asyncio.create_task(self._save())

    async def _save(self) -> None:
        loop = asyncio.get_running_loop()
        flag = self._save_flag = CancelFlag()
        await loop.run_in_executor(self._saving, self.index.save, self._packed_graph, flag)
        await loop.run_in_executor(self._saving, give_back)

    async def close(self) -> None:
        """Stops what runs, writes what changed, lets go of the threads."""
        if self._closed:
            return
        self._closed = True
        self._cancel.set()
        for task in (self._draining,):
            if task is not None:
                await asyncio.wait({task})
        if self._save_task is not None:
            _, late = await asyncio.wait({self._save_task}, timeout=CLOSE_S)
            if late:
                self._save_flag.set()
                await asyncio.wait({self._save_task})
        if self._summary is not None and self.index.unsaved:
            flag = CancelFlag()
            future = asyncio.get_running_loop().run_in_executor(
                self._saving, self.index.save, self._packed_graph, flag
            )
            _, pending = await asyncio.wait({future}, timeout=CLOSE_S)
            if pending:
                flag.set()
                await asyncio.wait({future})
        self.index.close()
        for pool in (self._changing, self._reading, self._saving):
            pool.shutdown(wait=False, cancel_futures=True)


def _restore(data: bytes, snapshot: Snapshot) -> Graph | None:
    from taskx.workspace.graph.graph import Graph

    return Graph.from_bytes(data, snapshot)


def _graph_builder() -> Callable[[Snapshot, Graph | None], Graph]:
    """Loaded with the first graph."""
    from taskx.workspace.graph.build import build

    return build


def real_root(root: str | Path) -> bytes:
    """The real path of a root. Raises InvalidParams naming what is wrong with it."""
    text = os.fspath(root)
    if "\0" in text or not os.path.isabs(text):
        raise InvalidParams(f"invalid params.root: expected an absolute path, got `{text}`")
    real = os.path.realpath(os.fsencode(text))
    if not os.path.exists(real):
        raise InvalidParams(f"invalid params.root: `{text}` does not exist")
    if not os.path.isdir(real):
        raise InvalidParams(f"invalid params.root: `{text}` is not a folder")
    return real


def elapsed(started: float) -> int:
    return int((time.monotonic() - started) * 1000)


__all__ = ["Emit", "Stats", "Workspace", "real_root"]
