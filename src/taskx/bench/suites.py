"""The suites: each drives a fresh runtime on a tree and gives figures."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from taskx.bench.driver import Runtime
from taskx.bench.figures import Figure, percentile, spread
from taskx.bench.queries import make_queries, source_files

PIPELINED = 20_000
PING_EVERY_S = 0.01


class Bench:
    """One run: the tree, a cache of its own, how often short things are repeated, and the seed."""

    def __init__(self, root: Path, *, repeat: int, seed: int) -> None:
        self.root = root
        self.repeat = repeat
        self.seed = seed
        self.scratch = Path(tempfile.mkdtemp(prefix="taskx-bench-"))
        self.cache = self.scratch / "cache"

    def close(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)

    @contextmanager
    def runtime(self, *, cold: bool = False) -> Iterator[Runtime]:
        """An initialized runtime; `cold` throws the cache away first."""
        if cold:
            shutil.rmtree(self.cache, ignore_errors=True)
        runtime = Runtime(self.cache)
        try:
            runtime.initialize()
            yield runtime
        finally:
            runtime.close()

    @contextmanager
    def open_runtime(self) -> Iterator[Runtime]:
        """A runtime with the tree open, from the cache where there is one."""
        with self.runtime() as runtime:
            runtime.request("workspace/open", {"root": str(self.root)})
            yield runtime

    def cache_bytes(self) -> int:
        return sum(
            os.lstat(os.path.join(path, name)).st_size
            for path, _, names in os.walk(self.cache)
            for name in names
        )


def startup(bench: Bench) -> list[Figure]:
    """Process start to the `initialize` reply, and resident memory then."""
    times, sizes = [], []
    for _ in range(max(bench.repeat, 5) * 3):
        runtime = Runtime(bench.cache)
        runtime.initialize()
        times.append((time.perf_counter() - runtime.started) * 1000)
        sizes.append(float(runtime.usage().rss_bytes))
        runtime.close()
    return [
        *spread("startup", "initialize", "ms", times),
        Figure(suite="startup", name="rss", unit="bytes", runs=sizes),
    ]


class Pinger:
    """Sends a small request every 10 ms while something long runs; collects the answers' delays."""

    def __init__(self, runtime: Runtime) -> None:
        self.delays_ms: list[float] = []
        self._runtime = runtime
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Pinger:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(PING_EVERY_S):
            started = time.perf_counter()
            _, reply = self._runtime.start("provider/capabilities")
            at, _ = reply.get(timeout=60)
            self.delays_ms.append((at - started) * 1000)


def open_once(bench: Bench, suite: str, *, cold: bool) -> dict[str, float]:
    with bench.runtime(cold=cold) as runtime:
        before = runtime.usage()
        started = time.perf_counter()
        with Pinger(runtime) as pinger:
            summary = runtime.request("workspace/open", {"root": str(bench.root)})
        wall = time.perf_counter() - started
        after = runtime.usage()
        stats = summary["stats"]
        return {
            "wall": wall * 1000,
            "cpu": (after.cpu_s - before.cpu_s) * 1000,
            "peak rss": after.peak_rss_bytes,
            "rss after": after.rss_bytes,
            "ping p99": percentile(pinger.delays_ms, 99),
            "ping max": max(pinger.delays_ms, default=0.0),
            "files": stats["files"],
            "bytes": stats["bytes"],
            "symbols": stats["symbols"],
        }


UNITS = {"wall": "ms", "cpu": "ms", "peak rss": "bytes", "rss after": "bytes"}
PING_UNITS = {"ping p99": "ms", "ping max": "ms"}


def open_suite(bench: Bench, suite: str, *, cold: bool) -> list[Figure]:
    runs = [open_once(bench, suite, cold=cold) for _ in range(bench.repeat)]
    figures = [
        Figure(suite=suite, name=name, unit=unit, runs=[run[name] for run in runs])
        for name, unit in (UNITS | PING_UNITS).items()
    ]
    if cold:
        source = runs[0]["bytes"]
        rate = [source / 1e6 / (run["wall"] / 1000) for run in runs]
        figures += [
            Figure(suite=suite, name="rate", unit="MB/s", runs=rate, better="higher"),
            Figure(suite=suite, name="symbols", unit="", runs=[runs[0]["symbols"]], better="same"),
            Figure(
                suite=suite,
                name="index / source",
                unit="ratio",
                runs=[bench.cache_bytes() / max(source, 1)],
            ),
        ]
    return figures


def open_cold(bench: Bench) -> list[Figure]:
    """`workspace/open` with no cache: scan, parse, tables, full text, graph."""
    return open_suite(bench, "open-cold", cold=True)


def open_warm(bench: Bench) -> list[Figure]:
    """`workspace/open` from the cache, nothing changed."""
    with bench.open_runtime():
        pass
    return open_suite(bench, "open-warm", cold=False)


def changed(bench: Bench) -> list[Figure]:
    """One file written, `workspace/filesChanged` sent, until a retrieve sees the new name.

    Works on a copy of the changed files: each is restored to its bytes and times afterwards.
    """
    files = source_files(bench.root)
    if not files:
        return []
    chosen = random.Random(bench.seed)
    delays = []
    with bench.open_runtime() as runtime:
        for turn in range(bench.repeat * 10):
            path = chosen.choice(files)
            with restored(path):
                name = f"quokka{bench.seed}x{turn}"
                with open(path, "ab") as handle:
                    handle.write(f"\n{name}\n".encode())
                started = time.perf_counter()
                runtime.notify("workspace/filesChanged", {"paths": [str(path)]})
                while True:
                    found = runtime.request("context/retrieve", {"query": name})
                    if found["retrieval"]["snippets"]:
                        break
                delays.append((time.perf_counter() - started) * 1000)
            runtime.notify("workspace/filesChanged", {"paths": [str(path)]})
    return spread("changed", "one file", "ms", delays)


@contextmanager
def restored(path: Path) -> Iterator[None]:
    """Puts the file's bytes and times back when the block ends."""
    before = path.read_bytes()
    stat = path.stat()
    try:
        yield
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def retrieve(bench: Bench) -> list[Figure]:
    """`context/retrieve` for queries made from the corpus."""
    queries = make_queries(bench.root, 30 * max(bench.repeat, 3), bench.seed)
    delays = []
    with bench.open_runtime() as runtime:
        for query in queries[:10]:
            runtime.request("context/retrieve", {"query": query})
        for query in queries:
            started = time.perf_counter()
            runtime.request("context/retrieve", {"query": query})
            delays.append((time.perf_counter() - started) * 1000)
    return spread("retrieve", "query", "ms", delays)


def graph(bench: Bench) -> list[Figure]:
    """`graph/project` first, again, and after one changed file."""
    files = source_files(bench.root)
    first, again, after = [], [], []
    with bench.open_runtime() as runtime:
        first.append(timed(lambda: runtime.request("graph/project")))
        again += [timed(lambda: runtime.request("graph/project")) for _ in range(10)]
        for path in random.Random(bench.seed).sample(files, min(bench.repeat, len(files))):
            with restored(path):
                with open(path, "ab") as handle:
                    handle.write(b"\n")
                runtime.notify("workspace/filesChanged", {"paths": [str(path)]})
                runtime.wait_for("updated")
                after.append(timed(lambda: runtime.request("graph/project")))
    return [
        Figure(suite="graph", name="first", unit="ms", runs=first),
        Figure(suite="graph", name="again", unit="ms", runs=again),
        Figure(suite="graph", name="after one change", unit="ms", runs=after),
    ]


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def rpc(bench: Bench) -> list[Figure]:
    """20,000 small requests written at once, until the last reply."""
    empty = bench.scratch / "empty"
    empty.mkdir(exist_ok=True)
    with bench.runtime() as runtime:
        runtime.request("workspace/open", {"root": str(empty)})
        rates = [PIPELINED / pipelined_s(runtime) for _ in range(max(bench.repeat, 3))]
    return [Figure(suite="rpc", name="pipelined", unit="requests/s", runs=rates, better="higher")]


def pipelined_s(runtime: Runtime) -> float:
    """Seconds from the first byte written to the last reply read."""
    assert runtime.process.stdin is not None
    body = b"".join(
        b'{"jsonrpc":"2.0","id":"p%d","method":"context/inspect"}\n' % number
        for number in range(PIPELINED)
    )
    answered = runtime.expect(PIPELINED)
    started = time.perf_counter()
    runtime.process.stdin.write(body)
    runtime.process.stdin.flush()
    if not answered.wait(timeout=120):
        raise TimeoutError(f"fewer than {PIPELINED} replies within 120 s")
    return time.perf_counter() - started


SUITES: dict[str, Callable[[Bench], list[Figure]]] = {
    "startup": startup,
    "open-cold": open_cold,
    "open-warm": open_warm,
    "changed": changed,
    "retrieve": retrieve,
    "graph": graph,
    "rpc": rpc,
}
