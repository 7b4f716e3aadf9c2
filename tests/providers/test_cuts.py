"""Every stream of every wire format, cut at every byte, with LF, CRLF and CR."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from taskx.errors import ProviderError
from taskx.protocol.chat import ChatRequest
from taskx.protocol.providers import ProviderConfig
from taskx.providers import ChatStream
from taskx.providers.endpoint import Endpoint
from tests.providers.fakes.script import CALLS, HELLO, REASONED, Script, expected, folded
from tests.providers.fakes.sse import LINE_ENDS
from tests.providers.kinds import KINDS, STREAMS, ask

# What a stream can hold, each once: the rest of the scripts repeats it.
SCRIPTS = {"text": HELLO, "reasoning": REASONED, "calls": CALLS}


class FakeHttp:
    """Gives one answer of these chunks; the connection then closes."""

    def __init__(self, chunks: list[bytes]) -> None:
        self.status = 200
        self.ended_early = False
        self._chunks = chunks

    @asynccontextmanager
    async def open(self, *_: Any) -> AsyncIterator[FakeHttp]:
        yield self

    async def chunks(self, limit: int) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


def read(kind: str, chunks: list[bytes]) -> list[dict[str, Any]]:
    """The folded events of a stream that arrives like this. Raises ProviderError."""
    config = msgspec.convert(KINDS[kind].config("http://127.0.0.1:1"), ProviderConfig)
    request = msgspec.convert(ask(), ChatRequest)
    http = FakeHttp(chunks)

    async def pools() -> FakeHttp:
        return http

    async def run() -> list[dict[str, Any]]:
        stream = ChatStream(pools, Endpoint.of(config), request, {})
        async with stream:
            return [msgspec.to_builtins(event) async for event in stream]

    events = [event for event in finished(run()) if event["type"] != "thinking"]
    return folded(events)


def outcome_of(kind: str, text: bytes) -> list[dict[str, Any]] | ProviderError:
    try:
        return read(kind, [text])
    except ProviderError as error:
        return error


def finished(work: Coroutine[Any, Any, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The result of work that never really waits: no loop is needed for 100 000 of them."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waited")


@pytest.mark.parametrize("newline", LINE_ENDS)
@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("kind", STREAMS)
def test_V14_stream_cut_at_every_byte_gives_the_same_events(
    kind: str, name: str, newline: str
) -> None:
    script: Script = SCRIPTS[name]
    text = b"".join(STREAMS[kind](script, LINE_ENDS[newline]))
    wanted = expected(script)
    assert read(kind, [text]) == wanted
    assert read(kind, [bytes([byte]) for byte in text]) == wanted
    for cut in range(1, len(text)):
        assert read(kind, [text[:cut], text[cut:]]) == wanted, cut


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("kind", STREAMS)
def test_V14_stream_that_ends_at_any_byte_is_whole_or_a_network_error(kind: str, name: str) -> None:
    script: Script = SCRIPTS[name]
    text = b"".join(STREAMS[kind](script, b"\n"))
    wanted = expected(script)
    content = [event for event in wanted if event["type"] not in ("usage", "done")]
    n_whole = 0
    for end in range(len(text)):
        outcome = outcome_of(kind, text[:end])
        if isinstance(outcome, ProviderError):
            assert (outcome.kind, outcome.retryable) == ("network", True), end
            assert not n_whole, "once whole, a longer stream is whole too"
            continue
        n_whole += 1
        # Only counts that come after the answer may be missing.
        assert [event for event in outcome if event["type"] not in ("usage", "done")] == content
        assert outcome[-1] == wanted[-1]
    assert n_whole < len(text) / 2
