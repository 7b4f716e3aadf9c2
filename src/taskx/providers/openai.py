"""The OpenAI Chat Completions API, and the many servers that speak it with an accent.

Source: OpenAI API reference, "Chat completions" and "Streaming"; the accents are those of Azure,
DeepSeek, Google, Groq, llama.cpp, LM Studio, Mistral, Moonshot, OpenRouter, SGLang and vLLM.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from taskx.errors import ProviderError
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
)
from taskx.providers import catalog, faults, quirks
from taskx.providers.decoding import Decoder, loads
from taskx.providers.endpoint import Endpoint

PATH = "/chat/completions"
MODELS_PATH = "/models"
FORMAT = "openai"

_STOP_REASONS: dict[str, StopReason] = {
    "stop": "endTurn",
    "length": "maxTokens",
    "tool_calls": "toolUse",
    "function_call": "toolUse",
    "content_filter": "contentFilter",
    "eos": "endTurn",
    "end_turn": "endTurn",
    "stop_sequence": "stopSequence",
    "max_tokens": "maxTokens",
}
REASONING_FIELDS = ("reasoning_content", "reasoning")
_REASONING_KEYS = frozenset({*REASONING_FIELDS, "reasoning_details"})


def build(request: ChatRequest, endpoint: Endpoint, refused: frozenset[str]) -> Json:
    """The body of a streamed request. refused: quirks of this endpoint and model."""
    refused = refused | endpoint.vendor.quirks
    body: Json = {
        "model": endpoint.model,
        "messages": _messages(request),
        "stream": True,
    }
    limit = "max_tokens"
    if quirks.MAX_COMPLETION_TOKENS in refused and quirks.MAX_TOKENS not in refused:
        limit = "max_completion_tokens"
    body[limit] = request.max_tokens
    if quirks.NO_STREAM_OPTIONS not in refused:
        body["stream_options"] = {"include_usage": True}
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
    accepts = catalog.accepts_temperature("openai", endpoint.model)
    if request.temperature is not UNSET and quirks.NO_TEMPERATURE not in refused and accepts:
        body["temperature"] = request.temperature
    if request.thinking is not UNSET and quirks.NO_THINKING not in refused:
        if endpoint.vendor.effort_field == "reasoning":
            off = request.thinking == "off"
            body["reasoning"] = {"enabled": False} if off else {"effort": request.thinking}
        elif request.thinking != "off":
            body[endpoint.vendor.effort_field] = request.thinking
    return body


def _messages(request: ChatRequest) -> list[Json]:
    sent: list[Json] = []
    if request.system is not UNSET and request.system.strip():
        sent.append({"role": "system", "content": request.system})
    for message in request.messages:
        for one in _assistant(message) if message.role == "assistant" else _user(message):
            last = sent[-1] if sent else {}
            plain = isinstance(one.get("content"), str) and isinstance(last.get("content"), str)
            if plain and one["role"] == last["role"] == "user":
                # Many chat templates refuse two messages of one role in a row.
                last["content"] += "\n\n" + one["content"]
            else:
                sent.append(one)
    return sent


def _assistant(message: Message) -> list[Json]:
    text = "\n".join(part.text for part in message.content if isinstance(part, TextPart))
    calls = [
        {
            "id": part.id,
            "type": "function",
            "function": {"name": part.name, "arguments": orjson.dumps(part.input).decode()},
        }
        for part in message.content
        if isinstance(part, ToolUsePart)
    ]
    if not calls:
        # Reasoning of a finished turn is not sent back: some servers refuse it.
        return [{"role": "assistant", "content": text}] if text else []
    reasoning = [part for part in message.content if isinstance(part, ThinkingPart)]
    return [
        {
            "role": "assistant",
            "content": text or None,
            "tool_calls": calls,
            **_reasoning(reasoning),
        }
    ]


def _reasoning(parts: Iterable[ThinkingPart]) -> Json:
    """The reasoning of a message, in the field in which this kind of endpoint gave it."""
    sent: Json = {}
    for part in parts:
        data = part.data if part.data is not UNSET else {}
        if data.get("format") != FORMAT:
            continue
        if data.get("field"):
            sent[data["field"]] = sent.get(data["field"], "") + part.text
        if data.get("details"):
            sent.setdefault("reasoning_details", []).extend(data["details"])
    return sent


def _user(message: Message) -> list[Json]:
    """Tool results first, each a message of its own, then the rest as one."""
    sent: list[Json] = [
        {
            "role": "tool",
            "tool_call_id": part.tool_use_id,
            "content": part.content or ("failed" if part.is_error else ""),
        }
        for part in message.content
        if isinstance(part, ToolResultPart)
    ]
    rest: list[Json] = []
    for part in message.content:
        if isinstance(part, TextPart) and part.text.strip():
            rest.append({"type": "text", "text": part.text})
        elif isinstance(part, ImagePart):
            url = f"data:{part.media_type};base64,{part.data}"
            rest.append({"type": "image_url", "image_url": {"url": url}})
    if rest and all(part["type"] == "text" for part in rest):
        # A plain string is what every server takes.
        sent.append({"role": "user", "content": "\n".join(part["text"] for part in rest)})
    elif rest:
        sent.append({"role": "user", "content": rest})
    return sent


class OpenAiDecoder(Decoder):
    """Reads the chunks of one Chat Completions stream."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._calls: list[_Call] = []
        self._thinking_data = {"format": FORMAT}

    def feed(self, event: bytes, data: bytes) -> list[ChatEvent]:
        if len(data) < 16 and data.strip() == b"[DONE]":
            self.finished = True
            return []
        chunk = self.parse(data) if b"\n" not in data else self._parse_lines(data)
        return self._chunk(chunk, event)

    def _parse_lines(self, data: bytes) -> Json:
        """One chunk; of several glued together without blank lines, all, as one."""
        try:
            return self.parse(data)
        except ProviderError:
            return {"glued": [line for line in data.split(b"\n") if line.strip()]}

    def _chunk(self, chunk: Json, event: bytes) -> list[ChatEvent]:
        if "glued" in chunk:
            return [found for line in chunk["glued"] for found in self.feed(event, line)]
        if chunk.get("error") or event == b"error" or chunk.get("object") == "error":
            raise faults.from_payload(self.endpoint, chunk)
        if "usage" in chunk or "x_groq" in chunk:
            self._use(chunk)
        choices = chunk.get("choices")
        events: list[ChatEvent] = []
        for choice in choices if isinstance(choices, list) else ():
            # A second choice was not asked for.
            if isinstance(choice, dict) and choice.get("index") in (0, None):
                events += self._choice(choice)
        return events

    def whole(self, value: Any) -> list[ChatEvent]:
        if not isinstance(value, dict) or not isinstance(value.get("choices"), list):
            raise self.no_answer(value)
        events = self._chunk(value, b"")
        self.finished = True
        return events + self.end()

    def end(self) -> list[ChatEvent]:
        if not (self.finished or self.ended_well):
            raise self.cut()
        calls: list[ChatEvent] = [
            self.call(call.id, call.name, call.text)
            for call in self._calls
            if call.name or call.text
        ]
        return self.closing(calls)

    def _choice(self, choice: Json) -> list[ChatEvent]:
        delta = choice.get("delta") or choice.get("message")
        events: list[ChatEvent] = []
        if isinstance(delta, dict):
            if not _REASONING_KEYS.isdisjoint(delta):
                events += self._reason(delta)
            content = delta.get("content")
            events += self.text(content) if type(content) is str else self._parts(content)
            if isinstance(delta.get("refusal"), str):
                events += self.text(delta["refusal"])
            calls = delta.get("tool_calls")
            for call in calls if isinstance(calls, list) else ():
                if isinstance(call, dict):
                    self._call_delta(call)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            if reason == "error":
                raise faults.from_payload(self.endpoint, choice)
            self.stop_reason = _STOP_REASONS.get(reason, "unknown")
        if "usage" in choice:
            self._use(choice)
        return events

    def _reason(self, delta: Json) -> list[ChatEvent]:
        events: list[ChatEvent] = []
        details = delta.get("reasoning_details")
        if isinstance(details, list):
            kept = self._thinking_data.setdefault("details", [])
            _merge_details(kept, details)
        for name in REASONING_FIELDS:
            # vLLM and others send both names; one is enough.
            if isinstance(delta.get(name), str) and delta[name]:
                self._thinking_data["format"] = FORMAT
                self._thinking_data["field"] = name
                events += self.thinking(delta[name])
                break
        return events

    def _parts(self, content: Any) -> list[ChatEvent]:
        """Mistral's list of text and thinking parts."""
        events: list[ChatEvent] = []
        for part in content if isinstance(content, list) else ():
            if not isinstance(part, dict):
                continue
            if isinstance(part.get("text"), str):
                events += self.text(part["text"])
            elif isinstance(part.get("thinking"), list):
                for item in part["thinking"]:
                    if isinstance(item, dict) and isinstance(item.get("text"), str):
                        events += self.thinking(item["text"])
        return events

    def close_thinking(self, data: Json | None = None) -> list[ChatEvent]:
        events = super().close_thinking(data)
        if events:
            self._thinking_data = {"format": FORMAT}
        return events

    def _call_delta(self, delta: Json) -> None:
        function = delta.get("function")
        function = function if isinstance(function, dict) else {}
        call_id = delta["id"] if isinstance(delta.get("id"), str) else ""
        name = function["name"] if isinstance(function.get("name"), str) else ""
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            arguments = orjson.dumps(arguments).decode()
        if not isinstance(arguments, str):
            arguments = ""
        self.count(len(arguments))
        index = delta.get("index")
        call = self._find(index if type(index) is int else None, call_id, name, arguments)
        call.id = call.id or call_id
        if name and not call.name.endswith(name):
            call.name += name
        call.fragments.append(arguments)

    def _find(self, index: int | None, call_id: str, name: str, arguments: str) -> _Call:
        """The call a delta belongs to, whichever of index, id and name the server sends."""
        last = self._calls[-1] if self._calls else None
        found: _Call | None = None
        if index is not None:
            found = next((call for call in reversed(self._calls) if call.index == index), None)
            # Some servers number every call 0 and tell them apart by id.
            if found and call_id and found.id and found.id != call_id and name:
                found = None
        elif call_id:
            found = next((call for call in self._calls if call.id == call_id), None)
            if found is None and last and not last.id and not last.name:
                found = last
        elif last and not (name and last.name and self._starts_anew(last, name, arguments)):
            found = last
        if found is None:
            found = _Call(index)
            self._calls.append(found)
        return found

    @staticmethod
    def _starts_anew(last: _Call, name: str, arguments: str) -> bool:
        """Whether a named delta without index and id begins a call, or repeats a name."""
        if name != last.name:
            return True
        if not arguments.lstrip().startswith("{"):
            return False
        try:
            return isinstance(loads(last.text), dict)
        except ValueError:
            return False

    def _use(self, holder: Json) -> None:
        """Counts are cumulative where they come more than once; the last stand."""
        usage = holder.get("usage")
        if not isinstance(usage, dict):
            groq = holder.get("x_groq")
            usage = groq.get("usage") if isinstance(groq, dict) else None
        if not isinstance(usage, dict):
            return
        details = usage.get("prompt_tokens_details")
        details = details if isinstance(details, dict) else {}
        read = _first_count(
            details.get("cached_tokens"),
            usage.get("prompt_cache_hit_tokens"),
            usage.get("cached_tokens"),
            usage.get("cache_read_input_tokens"),
        )
        written = _first_count(
            details.get("cache_write_tokens"), usage.get("cache_creation_input_tokens")
        )
        prompt = _first_count(usage.get("prompt_tokens"), usage.get("input_tokens"))
        self.usage = Usage(
            input_tokens=prompt,
            output_tokens=_first_count(usage.get("completion_tokens"), usage.get("output_tokens")),
            cache_read_tokens=min(read, prompt),
            cache_write_tokens=min(written, prompt - min(read, prompt)),
        )


class _Call:
    """A tool call while its deltas arrive."""

    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.fragments: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self.fragments)


def _merge_details(kept: list[Json], details: list[Any]) -> None:
    """OpenRouter's structured reasoning: pieces with one index and type become one again."""
    for item in details:
        if not isinstance(item, dict):
            continue
        last = kept[-1] if kept else None
        same = last is not None and all(
            last.get(key) == item.get(key) for key in ("index", "type", "format")
        )
        if last is None or not same or item.get("index") is None:
            kept.append(dict(item))
            continue
        for key, value in item.items():
            if key in ("text", "summary", "data") and isinstance(value, str):
                last[key] = (last.get(key) or "") + value
            elif value is not None:
                last[key] = value


def _first_count(*counts: Any) -> int:
    for count in counts:
        if type(count) is int and count >= 0:
            return count
    return 0
