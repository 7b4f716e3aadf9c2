"""Measuring streams: how soon and in which order deltas arrive, and what each costs.

Used by the tests (ratios and order) and by `bench/scenarios/streams.py` (figures).
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from taskx.protocol.chat import ChatRequest
from taskx.protocol.providers import ProviderConfig
from taskx.providers import Providers
from tests.process.client import Runtime
from tests.providers.kinds import ask
from tests.providers.parts import sdk

FLOOD = Path(__file__).resolve().parent / "flood.py"


@contextmanager
def flood(deltas: int, rate: float) -> Iterator[str]:
    """The origin of an endpoint that streams `deltas` a stream, `rate` a second (0: at once)."""
    command = [sys.executable, str(FLOOD), str(deltas), str(rate)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def config(origin: str) -> dict[str, Any]:
    return {"kind": "openaiCompatible", "model": "m", "apiKey": "none", "baseUrl": f"{origin}/v1"}


class _TimedRuntime(Runtime):
    """Notes when each event came, and leaves reading it for later."""

    def __init__(self) -> None:
        self.arrived: list[tuple[int, bytes]] = []
        super().__init__()

    def _take(self, line: bytes) -> None:
        if b'"chat/event"' in line:
            self.arrived.append((time.monotonic_ns(), line))
        else:
            super()._take(line)


def delivery(streams: int, deltas: int, rate: float) -> dict[str, Any]:
    """Latency in ms from a byte's sending to its event here, order, and the loop's answers."""
    with flood(deltas, rate) as origin, _TimedRuntime() as runtime:
        runtime.initialize()
        runtime.result("provider/listModels", {"provider": config(origin)}, timeout=60)
        params = {"provider": config(origin), "request": ask()}
        ids = [runtime.start("chat/send", params) for _ in range(streams)]
        waits = []
        while not all(runtime.replies(one) for one in ids):
            started = time.perf_counter()
            runtime.result("provider/capabilities", timeout=60)
            waits.append((time.perf_counter() - started) * 1000)
            time.sleep(0.02)  # the pings are a sample, not a load of their own
        late: list[float] = []
        seen: dict[Any, list[int]] = {one: [] for one in ids}
        for arrived_ns, line in runtime.arrived:
            params = json.loads(line)["params"]
            for part in params["event"].get("text", "").split():
                number, sent_ns = map(int, part.split(":"))
                seen[params["requestId"]].append(number)
                late.append((arrived_ns - sent_ns) / 1e6)
        return {
            "streams": streams,
            "deltas": len(late),
            "inOrder": all(numbers == list(range(deltas)) for numbers in seen.values()),
            "latencyMs": _spread(late),
            "loopAnswersMs": _spread(waits),
        }


def _spread(values: list[float]) -> dict[str, float]:
    values = sorted(values)
    places = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    spread = {name: values[int(len(values) * place)] for name, place in places.items()}
    return {name: round(value, 2) for name, value in {**spread, "max": values[-1]}.items()}


def cpu_per_delta(deltas: int) -> dict[str, float]:
    """CPU microseconds a delta, ours and the official SDK's, reading the same stream in turn."""
    with flood(deltas, 0) as origin:
        ours, theirs = [], []
        for _ in range(3):
            ours.append(asyncio.run(_our_cpu(origin)) / deltas * 1e6)
            theirs.append(sdk("openai-cpu", origin, "none", "m")["seconds"] / deltas * 1e6)
    return {"taskx": round(min(ours), 1), "openai": round(min(theirs), 1)}


async def _our_cpu(origin: str) -> float:
    providers = Providers()
    provider = msgspec.convert(config(origin), ProviderConfig)
    request = msgspec.convert(ask(), ChatRequest)
    started = time.process_time()
    async with providers.stream(provider, request) as stream:
        async for _ in stream:
            pass
    spent = time.process_time() - started
    await providers.close()
    return spent
