"""A fake of the Anthropic API: Messages, token counting and models.

Source of the checks: Anthropic API reference, and the messages its API answers with.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

from tests.providers.fakes.script import Call, Redacted, Script, Text, Think, pieces
from tests.providers.fakes.server import Reply, Request, json_reply
from tests.providers.fakes.sse import event

KEY = "sk-ant-api03-fake-key-0123456789"
MODELS = {
    "claude-opus-4-6": 1_000_000,
    "claude-sonnet-4-5-20250929": 200_000,
    "claude-3-haiku-20240307": None,
}
STOPS = {
    "endTurn": "end_turn",
    "maxTokens": "max_tokens",
    "toolUse": "tool_use",
    "stopSequence": "stop_sequence",
    "contentFilter": "refusal",
}
_FIELDS = frozenset(
    {
        "model",
        "max_tokens",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "temperature",
        "stream",
        "thinking",
        "metadata",
        "stop_sequences",
        "top_p",
        "top_k",
        "output_config",
        "service_tier",
    }
)
_IMAGES = {"image/png", "image/jpeg", "image/gif", "image/webp"}


class Refused(Exception):
    """What the API answers instead."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        self.status = status
        self.kind = kind
        self.message = message


def error(status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> Reply:
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return json_reply(status, body, headers)


class Api:
    """answer: the script for a request. newline: of its stream."""

    def __init__(
        self, answer: Callable[[Request], Script] | Script, newline: bytes = b"\n"
    ) -> None:
        self.answer = answer
        self.newline = newline
        self.signatures: set[str] = set()

    def __call__(self, request: Request) -> Reply:
        try:
            self._check_headers(request)
            if request.path == "/v1/models":
                return json_reply(200, self._models())
            if request.path.startswith("/v1/models/"):
                return self._model(request.path.rpartition("/")[2])
            if request.path == "/v1/messages/count_tokens":
                return json_reply(200, {"input_tokens": 12})
            if request.path != "/v1/messages":
                raise Refused(404, "not_found_error", "Not Found")
            body = request.json
            self._check(body)
        except Refused as refused:
            return error(refused.status, refused.kind, refused.message)
        script = self.answer if isinstance(self.answer, Script) else self.answer(request)
        self.signatures.update(step.signature for step in script.steps if isinstance(step, Think))
        if not body.get("stream"):
            return json_reply(200, message(script, body["model"]))
        headers = {"content-type": "text/event-stream; charset=utf-8"}
        return Reply(200, headers, stream(script, body["model"], self.newline))

    @staticmethod
    def _check_headers(request: Request) -> None:
        # The SDK of today sends the key as a bearer token, the API takes both.
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        if KEY not in (request.headers.get("x-api-key"), bearer):
            raise Refused(401, "authentication_error", "invalid x-api-key")
        if "anthropic-version" not in request.headers:
            raise Refused(400, "invalid_request_error", "anthropic-version: header is required")

    @staticmethod
    def _models() -> dict[str, Any]:
        rows = [_row(name) for name in MODELS]
        return {"data": rows, "has_more": False, "first_id": None, "last_id": rows[-1]["id"]}

    @staticmethod
    def _model(name: str) -> Reply:
        if name == "claude-opus-latest":
            return json_reply(200, {**_row("claude-opus-4-6"), "max_input_tokens": 999_000})
        if name not in MODELS:
            raise Refused(404, "not_found_error", f"model: {name}")
        return json_reply(200, _row(name))

    def _check(self, body: Any) -> None:
        def refuse(message: str) -> None:
            raise Refused(400, "invalid_request_error", message)

        if not isinstance(body, dict):
            raise Refused(400, "invalid_request_error", "body: expected object")
        for name in body.keys() - _FIELDS:
            refuse(f"{name}: Extra inputs are not permitted")
        if not isinstance(body.get("model"), str):
            refuse("model: Field required")
        if body["model"] not in MODELS:
            raise Refused(404, "not_found_error", f"model: {body['model']}")
        if type(body.get("max_tokens")) is not int or body["max_tokens"] < 1:
            refuse("max_tokens: Input should be greater than or equal to 1")
        if not 0 <= body.get("temperature", 0) <= 1:
            refuse("temperature: Input should be less than or equal to 1")
        thinking = body.get("thinking", {})
        if thinking.get("type") == "enabled":
            if not 1024 <= thinking["budget_tokens"] < body["max_tokens"]:
                refuse("`max_tokens` must be greater than `thinking.budget_tokens`")
            if body.get("temperature", 1) != 1:
                refuse("`temperature` may only be set to 1 when thinking is enabled")
        for block in body.get("system", []):
            if not block["text"].strip():
                refuse("system: text content blocks must be non-empty")
        names = [tool["name"] for tool in body.get("tools", [])]
        for tool in body.get("tools", []):
            if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", tool["name"]):
                refuse("tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
            if tool["input_schema"].get("type") != "object":
                refuse("tools.0.custom.input_schema.type: Field required")
        if len(set(names)) != len(names):
            refuse("tools: Tool names must be unique.")
        self._check_messages(body["messages"])
        if _count_marks(body) > 4:
            refuse("A maximum of 4 blocks with cache_control may be provided.")

    def _check_messages(self, messages: Any) -> None:
        def refuse(message: str) -> None:
            raise Refused(400, "invalid_request_error", message)

        if not messages:
            refuse("messages: at least one message is required")
        open_calls: list[str] = []
        for index, one in enumerate(messages):
            role, content = one["role"], one["content"]
            if role not in ("user", "assistant"):
                refuse(f'messages: Unexpected role "{role}"')
            if isinstance(content, str):
                content = [{"type": "text", "text": content}]
            if not content:
                refuse(f"messages.{index}: all messages must have non-empty content")
            results = [part["tool_use_id"] for part in content if part["type"] == "tool_result"]
            if sorted(results) != sorted(open_calls):
                refuse(
                    f"messages.{index}: `tool_use` ids were found without `tool_result` blocks "
                    "immediately after, or `tool_result` blocks without their `tool_use`"
                )
            if any(part["type"] != "tool_result" for part in content[: len(results)]):
                refuse(f"messages.{index}: `tool_result` blocks must come first")
            open_calls = []
            for part in content:
                self._check_part(part, role, index, refuse)
                if part["type"] == "tool_use":
                    open_calls.append(part["id"])
        if open_calls:
            refuse("messages: `tool_use` ids were found without `tool_result` blocks")
        last = messages[-1]["content"]
        if messages[-1]["role"] == "assistant" and last[-1].get("text", "x")[-1:].isspace():
            refuse("messages: final assistant content cannot end with trailing whitespace")

    def _check_part(
        self, part: dict[str, Any], role: str, index: int, refuse: Callable[[str], None]
    ) -> None:
        kind = part["type"]
        allowed = {"assistant": {"text", "tool_use", "thinking", "redacted_thinking"}}.get(
            role, {"text", "image", "tool_result"}
        )
        if kind not in allowed:
            refuse(f"messages.{index}: `{kind}` blocks are not allowed for role `{role}`")
        if kind == "text" and not part["text"].strip():
            refuse("messages: text content blocks must contain non-whitespace text")
        if kind == "tool_use" and not re.fullmatch(r"[a-zA-Z0-9_-]+", part["id"]):
            refuse("messages: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        if kind == "tool_use" and not isinstance(part["input"], dict):
            refuse("messages: tool_use.input: Input should be a valid dictionary")
        if kind == "thinking" and part.get("signature") not in self.signatures:
            refuse(f"messages.{index}: Invalid `signature` in `thinking` block")
        if kind in ("thinking", "redacted_thinking") and "cache_control" in part:
            refuse("cache_control: not allowed on thinking blocks")
        if kind == "image":
            if part["source"]["media_type"] not in _IMAGES:
                refuse("image.source.media_type: unsupported")
            base64.b64decode(part["source"]["data"], validate=True)


def _count_marks(value: Any) -> int:
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(map(_count_marks, value.values()))
    return sum(map(_count_marks, value)) if isinstance(value, list) else 0


def _row(name: str) -> dict[str, Any]:
    row = {
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": "2025-01-01T00:00:00Z",
    }
    return row if MODELS[name] is None else {**row, "max_input_tokens": MODELS[name]}


def _usage(script: Script) -> dict[str, Any]:
    whole, answer, read, written = script.usage or (0, 0, 0, 0)
    return {
        "input_tokens": whole - read - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": answer,
    }


def _blocks(script: Script) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for step in script.steps:
        match step:
            case Text():
                blocks.append({"type": "text", "text": step.text})
            case Think():
                blocks.append(
                    {"type": "thinking", "thinking": step.text, "signature": step.signature}
                )
            case Redacted():
                blocks.append({"type": "redacted_thinking", "data": step.data})
            case Call():
                blocks.append(
                    {"type": "tool_use", "id": step.id, "name": step.name, "input": step.input}
                )
    return blocks


def message(script: Script, model: str) -> dict[str, Any]:
    """The answer in one piece."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": _blocks(script),
        "stop_reason": STOPS[script.stop],
        "stop_sequence": None,
        "usage": _usage(script),
    }


def stream(script: Script, model: str = "claude-opus-4-6", newline: bytes = b"\n") -> list[bytes]:
    """The answer as the API streams it: one piece of bytes an event."""
    frames: list[bytes] = []

    def send(kind: str, **fields: Any) -> None:
        frames.append(event({"type": kind, **fields}, kind, newline))

    start = message(Script((), usage=script.usage), model)
    start |= {"content": [], "stop_reason": None}
    start["usage"] = {**_usage(script), "output_tokens": 1}
    send("message_start", message=start)
    send("ping")
    for index, block in enumerate(_blocks(script)):
        first, deltas = _streamed(block)
        send("content_block_start", index=index, content_block=first)
        for delta in deltas:
            send("content_block_delta", index=index, delta=delta)
        send("content_block_stop", index=index)
    stop = {"stop_reason": STOPS[script.stop], "stop_sequence": None}
    # Counts are cumulative: both events carry the whole input.
    send("message_delta", delta=stop, usage=_usage(script))
    send("message_stop")
    return frames


def _streamed(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    import json

    match block["type"]:
        case "text":
            deltas = [{"type": "text_delta", "text": part} for part in pieces(block["text"], 2)]
            return {"type": "text", "text": ""}, deltas
        case "thinking":
            deltas = [
                {"type": "thinking_delta", "thinking": part}
                for part in pieces(block["thinking"], 2)
            ]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {"type": "thinking", "thinking": "", "signature": ""}, deltas
        case "tool_use":
            text = json.dumps(block["input"]) if block["input"] else ""
            deltas = [
                {"type": "input_json_delta", "partial_json": part}
                for part in ["", *pieces(text, 3)]
            ]
            return {**block, "input": {}}, deltas
        case _:
            return block, []
