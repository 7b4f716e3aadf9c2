"""The real runtime with a few more methods, for what no method of its own does on demand.

`python -m tests.process.probe` takes the arguments of `task-x-runtime`.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import subprocess
import sys
import time
from typing import Any, Literal

import orjson

from taskx import __main__ as runtime
from taskx.errors import ToolError
from taskx.fronts.runtime.dispatch import Context
from taskx.protocol.base import UNSET, Event, UnsetType, Wire
from taskx.protocol.methods import METHODS, Method

HERE = "tests.process.probe"


class Params(Wire, frozen=True, kw_only=True):
    """seconds, count, size: of whatever the method does."""

    seconds: float = 0.0
    count: int = 1
    size: int = 0
    text: str = ""
    kind: Literal["plain", "fast"] = "plain"
    item: str | UnsetType = UNSET


class TextDeltaEvent(Event, frozen=True, kw_only=True):
    text: str


class Streamed(Wire, frozen=True, kw_only=True):
    request_id: int | str
    event: TextDeltaEvent


class Progress(Wire, frozen=True, kw_only=True):
    n: int


def echo(context: Context, params: Params) -> dict[str, str]:
    return {"text": params.text}


def length(context: Context, params: Params) -> int:
    return len(params.text)


async def sleep(context: Context, params: Params) -> str:
    context.notify("probe/started", Progress(n=0))
    await asyncio.sleep(params.seconds)
    return "slept"


async def stubborn(context: Context, params: Params) -> str:
    """Catches its cancel, says one more thing, and returns as if nothing had been."""
    context.notify("probe/started", Progress(n=0))
    try:
        await asyncio.sleep(params.seconds)
    except asyncio.CancelledError:
        context.notify("probe/progress", Progress(n=99))
    return "done all the same"


async def ask(context: Context, params: Params) -> dict[str, Any]:
    """Asks the client and returns what came of it."""
    try:
        return {"answer": await context.call("probe/question", {"text": params.text})}
    except asyncio.CancelledError:
        raise
    except Exception as error:
        return {"failed": type(error).__name__}


def noise(context: Context, params: Params) -> None:
    """Everything that writes to standard output without meaning to."""
    print("stray print", flush=True)
    os.write(1, b"stray write\n")
    sys.__stdout__.write("stray text\n")
    sys.__stdout__.flush()
    subprocess.run(["sh", "-c", "echo stray child; cat"], check=True, timeout=10)


async def spin(context: Context, params: Params) -> int:
    """Two worker threads in native code that releases the GIL, and one in Python that does not."""
    block = b"x" * (4 << 20)
    stop = time.monotonic() + params.seconds
    context.notify("probe/started", Progress(n=0))

    def native() -> int:
        n = 0
        while time.monotonic() < stop:
            hashlib.sha256(block).digest()
            n += 1
        return n

    def python() -> int:
        n = 0
        while time.monotonic() < stop:
            n += 1
        return n

    return sum(await asyncio.gather(*map(asyncio.to_thread, (native, native, python))))


def big(context: Context, params: Params) -> str:
    return "x" * params.size


def broken(context: Context, params: Params) -> None:
    raise RuntimeError("secret detail")


def refused(context: Context, params: Params) -> None:
    raise ToolError("stale", "read it first")


async def stream(context: Context, params: Params) -> int:
    """`count` deltas of `size` characters, then the result; waits as real streams do."""
    assert context.request_id is not None
    for n in range(params.count):
        event = TextDeltaEvent(text=f"{n:09d}" + "x" * params.size)
        context.notify("probe/event", Streamed(request_id=context.request_id, event=event))
        context.notify("probe/progress", Progress(n=n))
        if params.kind == "plain":
            await context.writable()
    return params.count


def item(context: Context, params: Params) -> None:
    """Starts an item of the session (kind "plain"), or ends it (kind "fast")."""
    assert isinstance(params.item, str)
    if params.kind == "plain":
        context.app.session.start_item(params.item, "command")
    else:
        context.app.session.end_item(params.item, "completed")


def say(context: Context, params: Params) -> None:
    """One log line of each level."""
    log = logging.getLogger("taskx.probe")
    for level in (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG, 5):
        log.log(level, "level-%d", level)


def surrogate(context: Context, params: Params) -> dict[str, str]:
    return {"half\ud83d": "a\ud83d\ude00b\udc00"}


def fragment(context: Context, params: Params) -> orjson.Fragment:
    return orjson.Fragment(b'{"cached":true}')


def die(context: Context, params: Params) -> None:
    """The loop itself fails, as no handler can make it."""
    asyncio.get_running_loop().stop()


async def changed(context: Context, params: Params) -> None:
    context.notify("probe/progress", Progress(n=params.count))


REQUESTS = (
    echo, length, sleep, stubborn, ask, noise, spin, big, broken, refused, stream, item, say,
    surrogate, fragment, die,
)  # fmt: skip


def main() -> None:
    for handler in REQUESTS:
        name = f"probe/{handler.__name__}"
        METHODS[name] = Method(name, "request", params=Params, handler=f"{HERE}:{handler.__name__}")
    METHODS["probe/exclusive"] = Method(
        "probe/exclusive", "request", params=Params, handler=f"{HERE}:sleep", exclusive="probe"
    )
    METHODS["probe/changed"] = Method(
        "probe/changed", "notification", params=Params, handler=f"{HERE}:changed"
    )
    METHODS["probe/question"] = Method("probe/question", "request", direction="client")
    METHODS["probe/started"] = Method("probe/started", "notification", direction="client")
    METHODS["probe/event"] = Method(
        "probe/event", "notification", direction="client", overflow="merge"
    )
    METHODS["probe/progress"] = Method(
        "probe/progress", "notification", direction="client", overflow="drop"
    )
    runtime.main()


if __name__ == "__main__":
    main()
