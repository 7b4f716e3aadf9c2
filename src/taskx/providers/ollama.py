"""Ollama's own API: `/api/chat` as NDJSON, `/api/tags`, `/api/show`.

Source: Ollama API documentation, "Generate a chat completion", "Show model information", "List
local models", "Tool calling", "Thinking".
"""

from __future__ import annotations

from typing import Any

import orjson

from taskx.protocol.base import UNSET
from taskx.protocol.chat import (
    ChatEvent,
    ChatRequest,
    ImagePart,
    Json,
    Message,
    StopReason,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolUsePart,
    Usage,
    WarningEvent,
)
from taskx.providers import faults, quirks
from taskx.providers.decoding import Decoder
from taskx.providers.endpoint import Endpoint

PATH = "/api/chat"
MODELS_PATH = "/api/tags"
SHOW_PATH = "/api/show"
FORMAT = "ollama"

DEFAULT_WINDOW = 4096
"""What Ollama uses when a request names no `num_ctx`; a longer prompt is cut without a word."""
CHARS_PER_TOKEN = 4
IMAGE_TOKENS = 1600
_CUT_SHARE = 0.5

_STOP_REASONS: dict[str, StopReason] = {
    "stop": "endTurn",
    "length": "maxTokens",
    "load": "endTurn",
    "unload": "endTurn",
}


def build(request: ChatRequest, endpoint: Endpoint, refused: frozenset[str]) -> Json:
    """The body of a streamed request. refused: quirks of this endpoint and model."""
    options: Json = {"num_predict": request.max_tokens}
    if request.temperature is not UNSET:
        options["temperature"] = request.temperature
    window = _window(request)
    if window is not None:
        options["num_ctx"] = window
    body: Json = {
        "model": endpoint.model,
        "messages": _messages(request),
        "stream": True,
        "options": options,
    }
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": {"type": "object", "properties": {}, **tool.input_schema},
                },
            }
            for tool in request.tools
        ]
    if request.thinking is not UNSET and quirks.NO_THINKING not in refused:
        # Only gpt-oss knows levels; it knows no off.
        levels = endpoint.model.rpartition("/")[2].startswith("gpt-oss")
        off = request.thinking == "off"
        body["think"] = request.thinking if levels and not off else not off
    return body


def estimate_tokens(request: ChatRequest, images_too: bool = True) -> int:
    """Size of a prompt by characters and images. Protocol v1, "Context compression"."""
    chars = len(request.system) if request.system is not UNSET else 0
    images = 0
    for message in request.messages:
        for part in message.content:
            match part:
                case TextPart() | ThinkingPart():
                    chars += len(part.text)
                case ToolResultPart():
                    chars += len(part.content)
                case ToolUsePart():
                    chars += len(part.name) + len(orjson.dumps(part.input))
                case ImagePart():
                    images += images_too
    for tool in request.tools:
        chars += len(tool.name) + len(tool.description) + len(orjson.dumps(tool.input_schema))
    return chars // CHARS_PER_TOKEN + images * IMAGE_TOKENS


def _window(request: ChatRequest) -> int | None:
    """`num_ctx`: what was asked for, else room for this prompt and its answer.

    A new size makes Ollama load the model again, so sizes are powers of two.
    """
    if request.context_window is not UNSET:
        return request.context_window
    needed = int(estimate_tokens(request) * 1.2) + request.max_tokens
    if needed <= DEFAULT_WINDOW:
        return None
    return 1 << (needed - 1).bit_length()


def _messages(request: ChatRequest) -> list[Json]:
    sent: list[Json] = []
    if request.system is not UNSET and request.system.strip():
        sent.append({"role": "system", "content": request.system})
    names: dict[str, str] = {}
    for message in request.messages:
        if message.role == "assistant":
            for part in message.content:
                if isinstance(part, ToolUsePart):
                    names[part.id] = part.name
            sent += _assistant(message)
        else:
            for one in _user(message, names):
                if one["role"] == "user" and sent and sent[-1]["role"] == "user":
                    # Many chat templates refuse two messages of one role in a row.
                    last = sent[-1]
                    last["content"] = "\n\n".join(filter(None, (last["content"], one["content"])))
                    images = last.get("images", []) + one.get("images", [])
                    last.update({"images": images} if images else {})
                else:
                    sent.append(one)
    return sent


def _assistant(message: Message) -> list[Json]:
    text = "\n".join(part.text for part in message.content if isinstance(part, TextPart))
    calls = [
        {"id": part.id, "function": {"name": part.name, "arguments": part.input}}
        for part in message.content
        if isinstance(part, ToolUsePart)
    ]
    sent: Json = {"role": "assistant", "content": text}
    if calls:
        sent["tool_calls"] = calls
        thinking = "".join(
            part.text
            for part in message.content
            if isinstance(part, ThinkingPart)
            and part.data is not UNSET
            and part.data.get("format") == FORMAT
        )
        if thinking:
            sent["thinking"] = thinking
    return [sent] if text or calls else []


def _user(message: Message, names: dict[str, str]) -> list[Json]:
    sent: list[Json] = [
        {
            "role": "tool",
            "content": part.content or ("failed" if part.is_error else ""),
            "tool_name": part.tool_name or names.get(part.tool_use_id, ""),
            "tool_call_id": part.tool_use_id,
        }
        for part in message.content
        if isinstance(part, ToolResultPart)
    ]
    text = "\n".join(
        part.text for part in message.content if isinstance(part, TextPart) and part.text.strip()
    )
    images = [part.data for part in message.content if isinstance(part, ImagePart)]
    if text or images:
        user: Json = {"role": "user", "content": text}
        if images:
            user["images"] = images
        sent.append(user)
    return sent


class OllamaDecoder(Decoder):
    """Reads the lines of one chat stream."""

    def __init__(self, endpoint: Endpoint, estimated_tokens: int = 0) -> None:
        super().__init__(endpoint)
        self._estimated = estimated_tokens
        self._thinking_data = {"format": FORMAT}

    def feed(self, event: bytes, data: bytes) -> list[ChatEvent]:
        return self._line(self.parse(data))

    def _line(self, value: Json) -> list[ChatEvent]:
        if value.get("error"):
            raise faults.from_payload(self.endpoint, value)
        events: list[ChatEvent] = []
        message = value.get("message")
        if isinstance(message, dict):
            if isinstance(message.get("thinking"), str):
                events += self.thinking(message["thinking"])
            if isinstance(message.get("content"), str):
                events += self.text(message["content"])
            calls = message.get("tool_calls")
            for call in calls if isinstance(calls, list) else ():
                if isinstance(call, dict):
                    events += self._call(call)
        if value.get("done") is True:
            reason = value.get("done_reason")
            self.stop_reason = _STOP_REASONS.get(reason or "stop", "unknown")
            self.finished = True
            self._use(value)
        return events

    def whole(self, value: Any) -> list[ChatEvent]:
        events = self._line(value) if isinstance(value, dict) else []
        if not self.finished:
            raise self.no_answer(value)
        return events + self.end()

    def end(self) -> list[ChatEvent]:
        if not self.finished:
            raise self.cut()
        events: list[ChatEvent] = []
        if (
            self._estimated > DEFAULT_WINDOW // 2
            and self.usage
            and (0 < self.usage.input_tokens < self._estimated * _CUT_SHARE)
        ):
            events.append(
                WarningEvent(
                    message=f"{self.endpoint.host} read {self.usage.input_tokens} prompt tokens of "
                    f"about {self._estimated} sent: the prompt was probably cut. Raise the "
                    f"context length of model {self.endpoint.model}."
                )
            )
        return events + self.closing([])

    def close_thinking(self, data: Json | None = None) -> list[ChatEvent]:
        return super().close_thinking(data or {"format": FORMAT})

    def _call(self, call: Json) -> list[ChatEvent]:
        """Calls come whole, in any line; the arguments are an object, or its JSON text."""
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        name = function.get("name")
        if not isinstance(name, str) or not name:
            return []
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode()
        self.count(len(text))
        call_id = call.get("id")
        events = self.close_thinking()
        events.append(self.call(call_id if isinstance(call_id, str) else "", name, text))
        return events

    def _use(self, value: Json) -> None:
        prompt, answer = value.get("prompt_eval_count"), value.get("eval_count")
        if type(prompt) is int or type(answer) is int:
            self.usage = Usage(
                input_tokens=prompt if type(prompt) is int else 0,
                output_tokens=answer if type(answer) is int else 0,
            )
