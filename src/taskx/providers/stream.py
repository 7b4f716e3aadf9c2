"""One streamed model call: request out, typed events in, folded at the end.

`ChatStream` is what `Providers.stream` returns. Imported without httpx.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from taskx.errors import ProviderError
from taskx.protocol.base import UNSET
from taskx.protocol.chat import (
    BrokenToolCall,
    BrokenToolCallResult,
    ChatEvent,
    ChatRequest,
    ChatResult,
    ContentPart,
    Done,
    StopReason,
    TextDelta,
    TextPart,
    ThinkingBlock,
    ThinkingPart,
    ToolCall,
    ToolCallResult,
    ToolUsePart,
    Usage,
    UsageEvent,
)
from taskx.providers import anthropic, faults, ollama, openai, quirks
from taskx.providers.decoding import Decoder, loads
from taskx.providers.endpoint import Endpoint
from taskx.providers.sse import MAX_EVENT_BYTES, NdjsonParser, SseParser, TooLong

if TYPE_CHECKING:
    from taskx.providers.http import Answer, Http

log = logging.getLogger(__name__)

WIRE_FORMATS: dict[str, ModuleType] = {
    "anthropic": anthropic,
    "openai": openai,
    "openaiCompatible": openai,
    "ollama": ollama,
}


class ChatFold:
    """Folds events into a `ChatResult`, and into the message for the history."""

    def __init__(self) -> None:
        self.usage: Usage | None = None
        self.stop_reason: StopReason = "unknown"
        self.calls: list[ToolCall] = []
        self.broken: list[BrokenToolCall] = []
        self._texts: list[str] = []
        self._parts: list[ContentPart] = []
        self._open: list[str] = []

    def add(self, event: ChatEvent) -> None:
        match event:
            case TextDelta():
                self._texts.append(event.text)
                self._open.append(event.text)
            case ThinkingBlock():
                self._close_text()
                self._parts.append(event.part)
            case ToolCall():
                self._close_text()
                self.calls.append(event)
                self._parts.append(ToolUsePart(id=event.id, name=event.name, input=event.input))
            case BrokenToolCall():
                self._close_text()
                self.broken.append(event)
                # The history must stay valid JSON with a call for each result.
                self._parts.append(ToolUsePart(id=event.id, name=event.name or "unknown", input={}))
            case UsageEvent():
                self.usage = event.usage
            case Done():
                self.stop_reason = event.stop_reason
            case _:
                pass

    @property
    def text(self) -> str:
        return "".join(self._texts)

    @property
    def chars(self) -> int:
        return sum(map(len, self._texts))

    def content(self) -> list[ContentPart]:
        """The parts of the assistant message in order, reasoning and broken calls included."""
        self._close_text()
        return list(self._parts)

    def result(self) -> ChatResult:
        content = self.content()
        calls = [
            ToolCallResult(id=call.id, name=call.name, input=call.input) for call in self.calls
        ]
        broken = [
            BrokenToolCallResult(
                id=call.id, name=call.name, reason=call.reason, arguments=call.arguments
            )
            for call in self.broken
        ]
        return ChatResult(
            text=self.text,
            tool_calls=calls,
            stop_reason=self.stop_reason,
            usage=self.usage,
            broken_tool_calls=broken or UNSET,
            content=content if any(isinstance(part, ThinkingPart) for part in content) else UNSET,
        )

    def _close_text(self) -> None:
        if self._open:
            self._parts.append(TextPart(text="".join(self._open)))
            self._open = []


class ChatStream:
    """An async iterator of `ChatEvent`s, used once, and its fold.

    Leaving `async with`, `aclose()` or cancelling the task closes the connection at once. Raises
    ProviderError while iterating. Nothing is sent before the first event is asked for.
    """

    def __init__(
        self,
        http: Callable[[], Any],
        endpoint: Endpoint,
        request: ChatRequest,
        learned: dict[tuple[str, str], frozenset[str]],
    ) -> None:
        self._http = http
        self._endpoint = endpoint
        self._request = request
        self._learned = learned
        self._decoder: Decoder | None = None
        self._ready: deque[ChatEvent] = deque()
        self._batches = self._run()
        self.fold = ChatFold()

    @property
    def usage(self) -> Usage | None:
        """The counts so far: of a stream that was cancelled or broke, those that had come."""
        return self._decoder.usage if self._decoder is not None else None

    def result(self) -> ChatResult:
        return self.fold.result()

    def spent(self) -> tuple[Usage, bool]:
        """What to bill, and whether it is an estimate: of a stream that ended without counts."""
        usage = self.usage
        if usage is not None and usage.output_tokens:
            return usage, False
        sent = self._decoder is not None
        prompt = usage.input_tokens if usage is not None else ollama.estimate_tokens(self._request)
        written = self._decoder.chars // ollama.CHARS_PER_TOKEN if self._decoder else 0
        guess = Usage(
            input_tokens=prompt if sent else 0,
            output_tokens=written,
            cache_read_tokens=usage.cache_read_tokens if usage is not None else 0,
            cache_write_tokens=usage.cache_write_tokens if usage is not None else 0,
        )
        return guess, True

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ChatEvent:
        while not self._ready:
            self._ready.extend(await self._batches.__anext__())
        event = self._ready.popleft()
        self.fold.add(event)
        return event

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._batches.aclose()

    async def _run(self) -> AsyncGenerator[list[ChatEvent], None]:
        started = time.perf_counter()
        http: Http = await self._http()
        endpoint = self._endpoint
        wire_format = WIRE_FORMATS[endpoint.kind]
        url = endpoint.url(wire_format.PATH)
        key = (endpoint.base, endpoint.model)
        while True:
            known = self._learned.get(key, frozenset())
            body = wire_format.build(self._request, endpoint, known)
            async with http.open(endpoint, "POST", url, body) as answer:
                if answer.status < 400:
                    async with aclosing(self._read(answer)) as batches:
                        async for events in batches:
                            yield events
                    self._log(started)
                    return
                error = await answer.error()
            # Each round learns one more quirk, and there are few.
            quirk = quirks.refused_parameter(answer.status, answer.error_text, known)
            if quirk is None or wire_format.build(self._request, endpoint, known | {quirk}) == body:
                raise error
            log.info("%s refuses a parameter: %s", endpoint.host, quirk)
            self._learned[key] = known | {quirk}

    async def _read(self, answer: Answer) -> AsyncGenerator[list[ChatEvent], None]:
        """Events of a successful answer, whatever shape the body turns out to have."""
        decoder = self._decoder = self._new_decoder()
        parser: SseParser | NdjsonParser | None = None
        head = b""
        try:
            async with aclosing(answer.chunks(MAX_STREAM_BYTES)) as chunks:
                async for chunk in chunks:
                    if parser is None:
                        head += chunk
                        if len(head) > MAX_EVENT_BYTES:
                            raise TooLong(f"an answer of more than {MAX_EVENT_BYTES} bytes")
                        parser = self._parser_for(head, answer)
                        if parser is None:
                            continue
                        chunk, head = head, b""
                    events: list[ChatEvent] = []
                    fault = None
                    try:
                        for name, data in parser.feed(chunk):
                            events += decoder.feed(name, data)
                            if decoder.finished:
                                answer.ended_early = True
                                yield events + decoder.end()
                                return
                    except ProviderError as error:
                        # What came before the fault in the same read is still delivered.
                        fault = error
                    if events:
                        yield events
                    if fault is not None:
                        raise fault
        except TooLong as error:
            raise faults.failure(self._endpoint, "protocol", f"sent {error}") from error
        except ProviderError as error:
            # A whole answer may lack its end mark, or the last chunk after it.
            if not decoder.ended_well or error.kind not in ("network", "timeout"):
                raise
        yield self._rest(decoder, parser, head, answer)

    def _rest(
        self,
        decoder: Decoder,
        parser: SseParser | NdjsonParser | None,
        head: bytes,
        answer: Answer,
    ) -> list[ChatEvent]:
        """What the end of the bytes completes: the last event, or an answer in one piece."""
        if parser is None:
            if not head.strip():
                raise decoder.cut()
            try:
                return decoder.whole(loads(head))
            except ValueError as error:
                raise answer.not_the_api() from error
        events: list[ChatEvent] = []
        for name, data in parser.close():
            try:
                loads(data)
            except ValueError:
                if data.strip() != b"[DONE]":
                    continue
            events += decoder.feed(name, data)
        if isinstance(parser, SseParser) and parser.foreign:
            raise answer.not_the_api()
        return events + decoder.end()

    def _new_decoder(self) -> Decoder:
        match self._endpoint.kind:
            case "anthropic":
                return anthropic.AnthropicDecoder(self._endpoint)
            case "ollama":
                estimate = ollama.estimate_tokens(self._request, images_too=False)
                return ollama.OllamaDecoder(self._endpoint, estimate)
            case _:
                return openai.OpenAiDecoder(self._endpoint)

    def _parser_for(self, head: bytes, answer: Answer) -> SseParser | NdjsonParser | None:
        """By the first byte: no event stream starts like JSON or HTML. None to read on."""
        start = head.lstrip(b" \t\r\n").removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")[:1]
        if not start:
            return None
        if start == b"<":
            raise faults.failure(
                self._endpoint,
                "protocol",
                "answered with a web page instead of a model's answer: check `baseUrl`",
                answer.status,
            )
        if self._endpoint.kind == "ollama":
            return NdjsonParser()
        return None if start in (b"{", b"[") else SseParser()

    def _log(self, started: float) -> None:
        usage = self.fold.usage
        log.info(
            "model call kind=%s model=%s input=%s output=%s cacheRead=%s cacheWrite=%s stop=%s "
            "ms=%d",
            self._endpoint.kind,
            self._endpoint.model,
            usage.input_tokens if usage else "?",
            usage.output_tokens if usage else "?",
            usage.cache_read_tokens if usage else "?",
            usage.cache_write_tokens if usage else "?",
            self.fold.stop_reason,
            (time.perf_counter() - started) * 1000,
        )


MAX_STREAM_BYTES = 256 * 1024 * 1024
"""Of decoded bytes: an event of 250 bytes may carry four characters of text."""
