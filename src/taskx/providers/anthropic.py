"""The Anthropic Messages API: requests out, stream events in.

Source: Anthropic API reference, "Messages", "Streaming messages", "Prompt caching", "Extended
thinking", "List models".
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from taskx.protocol.base import UNSET
from taskx.protocol.chat import (
    ChatEvent,
    ChatRequest,
    ContentPart,
    ImagePart,
    Json,
    Message,
    StopReason,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
    Usage,
)
from taskx.providers import catalog, faults, quirks
from taskx.providers.decoding import Decoder
from taskx.providers.endpoint import Endpoint

PATH = "/v1/messages"
MODELS_PATH = "/v1/models"
FORMAT = "anthropic"

_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "endTurn",
    "max_tokens": "maxTokens",
    "model_context_window_exceeded": "maxTokens",
    "tool_use": "toolUse",
    "stop_sequence": "stopSequence",
    "refusal": "contentFilter",
}
_THINKING_SHARE = {"low": 0.25, "medium": 0.5, "high": 0.8}
_MIN_THINKING_TOKENS = 1024
_BAD_ID = re.compile(r"[^A-Za-z0-9_-]")


def build(request: ChatRequest, endpoint: Endpoint, refused: frozenset[str]) -> Json:
    """The body of a streamed request, with cache breakpoints on system, tools and last user turn.

    refused: quirks of this endpoint and model, see `quirks`.
    """
    body: Json = {
        "model": endpoint.model,
        "max_tokens": request.max_tokens,
        "stream": True,
        "messages": _messages(request.messages),
    }
    if request.system is not UNSET and request.system.strip():
        body["system"] = [{"type": "text", "text": request.system}]
    if request.tools:
        body["tools"] = [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": {"type": "object", **tool.input_schema},
            }
            for tool in request.tools
        ]
    thinking = _thinking(request, endpoint.model, refused)
    body.update(thinking)
    accepts = catalog.accepts_temperature("anthropic", endpoint.model)
    if request.temperature is not UNSET and quirks.NO_TEMPERATURE not in refused and accepts:
        body["temperature"] = 1.0 if thinking else min(request.temperature, 1.0)
    if quirks.NO_CACHE_CONTROL not in refused:
        _mark_cache(body)
    return body


def _thinking(request: ChatRequest, model: str, refused: frozenset[str]) -> Json:
    effort = request.thinking
    if effort is UNSET or effort == "off" or quirks.NO_THINKING in refused:
        return {}
    if catalog.thinks_adaptively(model):
        # Some models leave the words of their reasoning out unless they are asked for.
        thinking = {"type": "adaptive", "display": "summarized"}
        return {"thinking": thinking, "output_config": {"effort": effort}}
    budget = int(request.max_tokens * _THINKING_SHARE[effort])
    if budget < _MIN_THINKING_TOKENS:
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _mark_cache(body: Json) -> None:
    """A prefix of the request that is the same next time is read from the cache."""
    for blocks in (body.get("system"), body.get("tools")):
        if blocks:
            blocks[-1]["cache_control"] = {"type": "ephemeral"}
    for message in reversed(body["messages"]):
        if message["role"] == "user":
            message["content"][-1]["cache_control"] = {"type": "ephemeral"}
            break


def _messages(messages: list[Message]) -> list[Json]:
    """Alternating messages: neighbours of one role are joined, what the API refuses is dropped."""
    sent: list[Json] = []
    for message in messages:
        blocks = [block for part in message.content if (block := _block(part)) is not None]
        # Results must come first in the message after the calls.
        blocks.sort(key=lambda block: block["type"] != "tool_result")
        if not blocks:
            continue
        if sent and sent[-1]["role"] == message.role:
            sent[-1]["content"] += blocks
        else:
            sent.append({"role": message.role, "content": blocks})
    return sent


def _block(part: ContentPart) -> Json | None:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text} if part.text.strip() else None
        case ImagePart():
            source = {"type": "base64", "media_type": part.media_type, "data": part.data}
            return {"type": "image", "source": source}
        case ToolUsePart():
            call_id = _BAD_ID.sub("_", part.id)
            return {"type": "tool_use", "id": call_id, "name": part.name, "input": part.input}
        case ToolResultPart():
            block: Json = {
                "type": "tool_result",
                "tool_use_id": _BAD_ID.sub("_", part.tool_use_id),
                "content": part.content,
            }
            if part.is_error:
                block["is_error"] = True
                block["content"] = part.content or "failed"
            return block
        case ThinkingPart():
            kept = part.data if part.data is not UNSET else {}
            block = kept.get("block", {}) if kept.get("format") == FORMAT else {}
            return dict(block) if block else None


class AnthropicDecoder(Decoder):
    """Reads the events of one Messages stream."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._blocks: dict[int, _Block] = {}
        self._held: list[_Block] = []
        self._counts: dict[str, int] = {}

    def feed(self, event: bytes, data: bytes) -> list[ChatEvent]:
        value = self.parse(data)
        match value.get("type") or event.decode("ascii", "replace"):
            case "content_block_delta":
                return self._delta(value)
            case "content_block_start":
                return self._start(value.get("index", 0), value.get("content_block") or {})
            case "content_block_stop":
                return self._stop(value.get("index", 0))
            case "message_start":
                self._use(_object(value.get("message")).get("usage"))
            case "message_delta":
                self._stop_with(_object(value.get("delta")).get("stop_reason"))
                self._use(value.get("usage"))
            case "message_stop":
                self.finished = True
            case "error":
                raise faults.from_payload(self.endpoint, value)
            case _:
                if "error" in value:
                    raise faults.from_payload(self.endpoint, value)
        return []

    def whole(self, value: Any) -> list[ChatEvent]:
        content = value.get("content") if isinstance(value, dict) else None
        if not isinstance(content, list):
            raise self.no_answer(value)
        events: list[ChatEvent] = []
        self._stop_with(value.get("stop_reason"))
        for index, block in enumerate(content):
            events += self._start(index, _object(block))
            events += self._stop(index)
        self._use(value.get("usage"))
        self.finished = True
        return events + self.end()

    def end(self) -> list[ChatEvent]:
        if not (self.finished or self.ended_well) or self._blocks:
            raise self.cut()
        return self.closing(self._release())

    def _start(self, index: int, content: Json) -> list[ChatEvent]:
        """A new block. What was held back was not the last block, so it was not cut."""
        events = self._release()
        block = _Block(content)
        self._blocks[index] = block
        if block.kind == "text":
            events += self.text(_string(content.get("text")))
        elif block.kind == "thinking":
            events += self._think(block, _string(content.get("thinking")))
        return events

    def _delta(self, value: Json) -> list[ChatEvent]:
        delta = _object(value.get("delta"))
        block = self._blocks.get(value.get("index", 0))
        match delta.get("type"):
            case "text_delta":
                return self.text(_string(delta.get("text")))
            case "thinking_delta" if block:
                return self._think(block, _string(delta.get("thinking")))
            case "signature_delta" if block:
                # Signatures come whole or in parts; both orders of the bytes must survive.
                signature = _string(delta.get("signature"))
                block.content["signature"] = _string(block.content.get("signature")) + signature
            case "input_json_delta" if block:
                fragment = _string(delta.get("partial_json"))
                self.count(len(fragment))
                block.fragments.append(fragment)
        return []

    def _think(self, block: _Block, text: str) -> list[ChatEvent]:
        block.thinking.append(text)
        return self.thinking(text)

    def _stop(self, index: int) -> list[ChatEvent]:
        block = self._blocks.pop(index, None)
        if block is None:
            return []
        if block.kind == "tool_use":
            self._held.append(block)
            return self._release() if block.has_whole_input else []
        if block.kind == "thinking":
            block.content["thinking"] = "".join(block.thinking)
            return self._keep(block)
        if block.kind == "redacted_thinking":
            return self._keep(block)
        return []

    def _keep(self, block: _Block) -> list[ChatEvent]:
        """The finished reasoning, byte for byte as it must be sent back."""
        self._thinking = self._thinking or [""]
        return self.close_thinking({"format": FORMAT, "block": block.content})

    def _release(self) -> list[ChatEvent]:
        held, self._held = self._held, []
        return [self.call(block.id, block.name, block.arguments) for block in held]

    def _stop_with(self, reason: Any) -> None:
        if isinstance(reason, str):
            self.stop_reason = _STOP_REASONS.get(reason, "unknown")

    def _use(self, usage: Any) -> None:
        """Counts are cumulative: the last value of each field stands."""
        if not isinstance(usage, dict):
            return
        for name in (
            "input_tokens",
            "output_tokens",
            "cache_read_input_tokens",
            "cache_creation_input_tokens",
        ):
            count = usage.get(name)
            if type(count) is int and count >= 0 and (count or name not in self._counts):
                self._counts[name] = count
        read = self._counts.get("cache_read_input_tokens", 0)
        written = self._counts.get("cache_creation_input_tokens", 0)
        self.usage = Usage(
            input_tokens=self._counts.get("input_tokens", 0) + read + written,
            output_tokens=self._counts.get("output_tokens", 0),
            cache_read_tokens=read,
            cache_write_tokens=written,
        )


class _Block:
    """A content block while it streams."""

    def __init__(self, content: Json) -> None:
        self.content = dict(content)
        self.kind = _string(content.get("type"))
        self.id = _string(content.get("id"))
        self.name = _string(content.get("name"))
        self.fragments: list[str] = []
        self.thinking: list[str] = []

    @property
    def arguments(self) -> str:
        """The fragments, or the input the block started with when there were none."""
        whole = "".join(self.fragments)
        if not whole and self.content.get("input"):
            return orjson.dumps(self.content["input"]).decode()
        return whole

    @property
    def has_whole_input(self) -> bool:
        return self.arguments.rstrip().endswith("}")


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
