"""What the three wire formats share when they read a stream: text, tool calls, the end mark.

A `Decoder` turns the JSON values of one stream into `ChatEvent`s. It knows no HTTP and no bytes
but the JSON it is fed. Source: protocol v1, "chat/send".
"""

from __future__ import annotations

import json
import secrets
from typing import Any

import orjson

from taskx.errors import ProviderError
from taskx.protocol.chat import (
    BrokenToolCall,
    ChatEvent,
    Done,
    Json,
    StopReason,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ThinkingPart,
    ToolCall,
    Usage,
    UsageEvent,
)
from taskx.providers import faults
from taskx.providers.endpoint import Endpoint

MAX_BROKEN_CHARS = 2000
MAX_ANSWER_CHARS = 24 * 1024 * 1024
"""Of text, reasoning and arguments together: the result must fit one protocol message."""


def loads(data: bytes | str) -> Any:
    """JSON as servers really send it. Raises ValueError.

    orjson refuses lone surrogates, which servers send that cut an emoji between two events.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            return json.loads(data)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def new_call_id() -> str:
    """For endpoints that give their calls no id. Distinct from every other call of a history."""
    return f"call_{secrets.token_hex(8)}"


def tool_call(
    call_id: str, name: str, arguments: str, truncated: bool
) -> ToolCall | BrokenToolCall:
    """The call, when its arguments are a whole JSON object; empty ones and null mean no arguments.

    Some servers encode the object twice; that is undone.
    """
    call_id = call_id or new_call_id()
    try:
        value = loads(arguments) if arguments.strip() else {}
        if isinstance(value, str):
            value = loads(value) if value.strip() else {}
    except ValueError:
        value = arguments
    if value is None:
        value = {}
    if isinstance(value, dict) and not (truncated and not arguments.strip()):
        return ToolCall(id=call_id, name=name, input=_clean(value))
    return BrokenToolCall(
        id=call_id,
        name=name,
        reason="truncated" if truncated else "malformed",
        arguments=_no_surrogates(arguments[:MAX_BROKEN_CHARS]),
    )


def _clean(value: Any) -> Any:
    """The value without lone surrogates, which no later request could carry."""
    if isinstance(value, str):
        return _no_surrogates(value)
    if isinstance(value, dict):
        return {_no_surrogates(str(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value


def _no_surrogates(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Decoder:
    """Base of the formats' decoders.

    `finished`: the end mark has come; what follows is not read. `ended_well`: a stop reason has
    come, so that the answer is whole even if the mark itself never comes.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.finished = False
        self.stop_reason: StopReason | None = None
        self.usage: Usage | None = None
        self.chars = 0
        self._called = False
        self._high = {"text": "", "thinking": ""}
        self._thinking: list[str] = []
        self._thinking_data: Json = {}

    @property
    def ended_well(self) -> bool:
        return self.stop_reason is not None

    def feed(self, event: bytes, data: bytes) -> list[ChatEvent]:
        """The events that one value of the stream completes. Raises ProviderError."""
        raise NotImplementedError

    def whole(self, value: Any) -> list[ChatEvent]:
        """The events of an answer sent in one piece, to a request for a stream."""
        raise NotImplementedError

    def end(self) -> list[ChatEvent]:
        """The last events, once: after the end mark, or where the bytes ended."""
        raise NotImplementedError

    # What the formats build their events with.

    def text(self, text: str) -> list[ChatEvent]:
        """A text delta, and before it the reasoning it ends."""
        if not text:
            return []
        if not self._thinking and text.isascii() and not self._high["text"]:
            self.count(len(text))
            closed = self.close_thinking() if self._thinking_data.get("details") else []
            return [*closed, TextDelta(text=text)]
        events = self.close_thinking()
        text = self._joined("text", text)
        if text:
            events.append(TextDelta(text=text))
        return events

    def thinking(self, text: str) -> list[ChatEvent]:
        text = self._joined("thinking", text)
        if not text:
            return []
        self._thinking.append(text)
        return [ThinkingDelta(text=text)]

    def close_thinking(self, data: Json | None = None) -> list[ChatEvent]:
        """The block of the reasoning so far, with what must be kept beside it."""
        data = data or self._thinking_data
        if not self._thinking and not data.get("details"):
            return []
        part = ThinkingPart(text="".join(self._thinking), data=data)
        self._thinking = []
        self._thinking_data = {}
        return [ThinkingBlock(part=part)]

    def call(self, call_id: str, name: str, arguments: str) -> ToolCall | BrokenToolCall:
        self._called = True
        return tool_call(call_id, name, arguments, truncated=self.stop_reason == "maxTokens")

    def closing(self, calls: list[ChatEvent]) -> list[ChatEvent]:
        """Usage and the end, after the last content."""
        events = self.close_thinking()
        events += calls
        if self.usage is not None:
            events.append(UsageEvent(usage=self.usage))
        stop = self.stop_reason or "endTurn"
        if self._called and stop in ("endTurn", "unknown"):
            stop = "toolUse"
        events.append(Done(stop_reason=stop))
        return events

    def count(self, size: int) -> None:
        self.chars += size
        if self.chars > MAX_ANSWER_CHARS:
            raise faults.failure(self.endpoint, "protocol", "sent an answer that is too large")

    def parse(self, data: bytes) -> Json:
        """One JSON object of the stream. Raises ProviderError of kind `protocol`."""
        try:
            value = loads(data)
        except ValueError as error:
            raise faults.failure(
                self.endpoint, "protocol", "sent a stream event that is not JSON"
            ) from error
        if not isinstance(value, dict):
            raise faults.failure(
                self.endpoint, "protocol", "sent a stream event that is not a JSON object"
            )
        return value

    def no_answer(self, value: Any) -> ProviderError:
        """The error of a JSON value, in place of a stream, that is no answer of this API."""
        if isinstance(value, list) or (isinstance(value, dict) and value.get("error")):
            return faults.from_payload(self.endpoint, value, status=200)
        return faults.failure(
            self.endpoint, "protocol", "sent JSON that is not its API: check `baseUrl`", 200
        )

    def cut(self) -> ProviderError:
        """The error of a stream that stopped before its end."""
        return faults.failure(
            self.endpoint, "network", "closed the connection before the answer was complete"
        )

    def _joined(self, stream: str, text: str) -> str:
        """Text without lone surrogates; a pair cut between two deltas is put together."""
        self.count(len(text))
        high = self._high[stream]
        if text.isascii() and not high:
            return text
        text = high + text
        self._high[stream] = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._high[stream] = text[-1]
            text = text[:-1]
        return _no_surrogates(text)
