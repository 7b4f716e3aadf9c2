"""A fake of the OpenAI Chat Completions API, and of servers that speak it with an accent.

Source of the checks: OpenAI API reference, and the messages its API answers with.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

from tests.providers.fakes.script import Call, Script, Text, Think, pieces, wire_usage
from tests.providers.fakes.server import Reply, Request, json_reply
from tests.providers.fakes.sse import event

KEY = "sk-proj-fake-key-0123456789abcdef"
MODELS = ("gpt-4.1-mini", "gpt-4o", "o3", "gpt-5.1", "text-embedding-3-small", "whisper-1")
STOPS = {
    "endTurn": "stop",
    "maxTokens": "length",
    "toolUse": "tool_calls",
    "contentFilter": "content_filter",
}
_FIELDS = frozenset(
    {
        "model",
        "messages",
        "stream",
        "stream_options",
        "tools",
        "tool_choice",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "reasoning_effort",
        "stop",
        "top_p",
        "n",
        "seed",
        "user",
        "metadata",
        "store",
        "response_format",
    }
)


class Refused(Exception):
    def __init__(self, status: int, message: str, code: str | None, param: str | None) -> None:
        self.reply = error(status, message, code=code, param=param)


def error(
    status: int,
    message: str,
    kind: str = "invalid_request_error",
    code: str | None = None,
    param: str | None = None,
    headers: dict[str, str] | None = None,
) -> Reply:
    body = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return json_reply(status, body, headers)


class Api:
    """The official API, or with options a compatible server.

    prefix: the path before `/chat/completions`. reasoning_field: what reasoning is sent in.
    needs_reasoning: an assistant message with calls must bring the reasoning back that came with
    them. refuses: fields of the request it does not know. models: rows of its listing; None for
    a server without one.
    """

    def __init__(
        self,
        answer: Callable[[Request], Script] | Script,
        newline: bytes = b"\n",
        prefix: str = "/v1",
        key: str = KEY,
        reasoning_field: str = "reasoning_content",
        needs_reasoning: bool = False,
        refuses: tuple[str, ...] = (),
        models: list[dict[str, Any]] | None = None,
        official: bool = True,
    ) -> None:
        self.answer = answer
        self.newline = newline
        self.prefix = prefix
        self.key = key
        self.reasoning_field = reasoning_field
        self.needs_reasoning = needs_reasoning
        self.refuses = refuses
        self.official = official
        self.models = models
        if official and models is None:
            self.models = [{"id": name, "object": "model", "created": 1, "owned_by": "openai"}
                           for name in MODELS]  # fmt: skip

    def __call__(self, request: Request) -> Reply:
        try:
            if request.headers.get("authorization") != f"Bearer {self.key}":
                shown = request.headers.get("authorization", "").removeprefix("Bearer ")
                message = f"Incorrect API key provided: {shown[:8]}***{shown[-4:]}."
                raise Refused(401, message, "invalid_api_key", None)
            if request.path == f"{self.prefix}/models" and self.models is not None:
                return json_reply(200, {"object": "list", "data": self.models})
            if request.path != f"{self.prefix}/chat/completions":
                raise Refused(404, f"Invalid URL ({request.method} {request.path})", None, None)
            body = request.json
            self._check(body)
        except Refused as refused:
            return refused.reply
        script = self.answer if isinstance(self.answer, Script) else self.answer(request)
        if not body.get("stream"):
            return json_reply(200, completion(script, body["model"], self.reasoning_field))
        usage = bool(body.get("stream_options", {}).get("include_usage"))
        frames = stream(script, body["model"], self.newline, self.reasoning_field, usage)
        return Reply(200, {"content-type": "text/event-stream"}, frames)

    def _check(self, body: Any) -> None:
        def refuse(message: str, param: str | None = None, code: str | None = None) -> None:
            raise Refused(400, message, code, param)

        for name in body.keys() & set(self.refuses):
            raise Refused(422, f"Unsupported parameter: '{name}'", "unsupported_parameter", name)
        for name in body.keys() - _FIELDS:
            refuse(f"Unrecognized request argument supplied: {name}", name)
        known = [row["id"] for row in self.models or []]
        model = body.get("model")
        if self.official and model not in known:
            raise Refused(404, f"The model `{model}` does not exist", "model_not_found", None)
        if self.official and re.match(r"o\d|gpt-5", model):
            if "max_tokens" in body:
                refuse(
                    "Unsupported parameter: 'max_tokens' is not supported with this model. "
                    "Use 'max_completion_tokens' instead.",
                    "max_tokens",
                    "unsupported_parameter",
                )
            if body.get("temperature", 1) != 1:
                refuse(
                    "Unsupported value: 'temperature' does not support 0.5 with this model.",
                    "temperature",
                    "unsupported_value",
                )
        if not 0 <= body.get("temperature", 1) <= 2:
            refuse("Invalid 'temperature': decimal above maximum value.", "temperature")
        if "stream_options" in body and not body.get("stream"):
            refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
        if body.get("tools") == []:
            refuse("Invalid 'tools': empty array. Expected an array with minimum length 1.")
        for tool in body.get("tools", []):
            if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool["function"]["name"]):
                refuse("Invalid 'tools[0].function.name': string does not match pattern.")
        self._check_messages(body["messages"], refuse)

    def _check_messages(self, messages: Any, refuse: Callable[..., None]) -> None:
        if not messages:
            refuse("Invalid 'messages': empty array.", "messages")
        waiting: set[str] = set()
        for index, one in enumerate(messages):
            role, content = one["role"], one.get("content")
            where = f"messages[{index}]"
            if role == "tool":
                if one.get("tool_call_id") not in waiting:
                    refuse(
                        "Invalid parameter: messages with role 'tool' must be a response to a "
                        "preceding message with 'tool_calls'.",
                        where,
                    )
                waiting.discard(one["tool_call_id"])
                if not isinstance(content, str):
                    refuse(f"Invalid type for '{where}.content'.")
                continue
            if waiting:
                refuse(
                    "An assistant message with 'tool_calls' must be followed by tool messages "
                    f"responding to each 'tool_call_id'. Missing: {sorted(waiting)}",
                    where,
                )
            if role not in ("system", "developer", "user", "assistant"):
                refuse(f"Invalid value: '{role}'.", where)
            if role == "assistant":
                self._check_assistant(one, where, waiting, refuse)
            elif not content:
                refuse(f"Invalid '{where}.content': expected a string or a non-empty array.", where)
            for part in content if isinstance(content, list) else ():
                self._check_part(part, where, refuse)
        if waiting:
            refuse("An assistant message with 'tool_calls' must be followed by tool messages.")

    def _check_assistant(
        self, one: Any, where: str, waiting: set[str], refuse: Callable[..., None]
    ) -> None:
        calls = one.get("tool_calls")
        if one.get("content") is None and not calls:
            refuse(f"Invalid value for 'content': expected a string, got null. {where}")
        if calls == []:
            refuse(f"Invalid '{where}.tool_calls': empty array.")
        for call in calls or ():
            arguments = call["function"]["arguments"]
            if not isinstance(arguments, str) or not isinstance(json.loads(arguments), dict):
                refuse(f"Invalid '{where}.tool_calls[0].function.arguments'.")
            waiting.add(call["id"])
        if calls and self.needs_reasoning and not one.get(self.reasoning_field):
            refuse(
                f"Missing `{self.reasoning_field}` field in the assistant message at {where}. "
                "Thinking is enabled but it is missing in the tool call message."
            )
        if not calls and one.get(self.reasoning_field):
            refuse(f"`{self.reasoning_field}` is not allowed in the input messages")

    @staticmethod
    def _check_part(part: Any, where: str, refuse: Callable[..., None]) -> None:
        if part["type"] == "text":
            if not part["text"]:
                refuse(f"Invalid '{where}.content': empty text.")
        elif part["type"] == "image_url":
            head, _, data = part["image_url"]["url"].partition(";base64,")
            if head not in {f"data:image/{name}" for name in ("png", "jpeg", "gif", "webp")}:
                refuse("Invalid image data URL.")
            base64.b64decode(data, validate=True)
        else:
            refuse(f"Invalid value: '{part['type']}'.")


def usage_of(script: Script) -> dict[str, Any]:
    counts = wire_usage(script.usage or (0, 0, 0, 0))
    return {
        "prompt_tokens": counts["inputTokens"],
        "completion_tokens": counts["outputTokens"],
        "total_tokens": counts["inputTokens"] + counts["outputTokens"],
        "prompt_tokens_details": {"cached_tokens": counts.get("cacheReadTokens", 0)},
    }


def completion(script: Script, model: str, reasoning_field: str) -> dict[str, Any]:
    """The answer in one piece."""
    content = "".join(step.text for step in script.steps if isinstance(step, Text))
    thought = "".join(step.text for step in script.steps if isinstance(step, Think))
    calls = [
        {
            "id": step.id,
            "type": "function",
            "function": {"name": step.name, "arguments": json.dumps(step.input)},
        }
        for step in script.steps
        if isinstance(step, Call)
    ]
    answer: dict[str, Any] = {"role": "assistant", "content": content or None}
    if calls:
        answer["tool_calls"] = calls
    if thought:
        answer[reasoning_field] = thought
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": answer, "finish_reason": STOPS[script.stop]}],
        "usage": usage_of(script),
    }


def chunk(delta: dict[str, Any] | None, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": choices,
        **fields,
    }


def chunks(script: Script, reasoning_field: str = "reasoning_content") -> list[dict[str, Any]]:
    """The stream's chunks up to the one with the finish reason."""
    sent = [chunk({"role": "assistant", "content": ""})]
    n_calls = 0
    for step in script.steps:
        match step:
            case Text():
                sent += [chunk({"content": part}) for part in pieces(step.text, step.pieces)]
            case Think():
                sent += [chunk({reasoning_field: part}) for part in pieces(step.text, 2)]
            case Call():
                function = {"name": step.name, "arguments": ""}
                first = {"index": n_calls, "id": step.id, "type": "function", "function": function}
                sent.append(chunk({"tool_calls": [first]}))
                for part in pieces(json.dumps(step.input), 3):
                    rest = {"index": n_calls, "function": {"arguments": part}}
                    sent.append(chunk({"tool_calls": [rest]}))
                n_calls += 1
    sent.append(chunk({}, STOPS[script.stop]))
    return sent


def stream(
    script: Script,
    model: str = "gpt-4.1-mini",
    newline: bytes = b"\n",
    reasoning_field: str = "reasoning_content",
    usage: bool = True,
) -> list[bytes]:
    """The answer as the API streams it: one piece of bytes an event."""
    values: list[Any] = [{**value, "model": model} for value in chunks(script, reasoning_field)]
    if usage and script.usage:
        values.append({**chunk(None, usage=usage_of(script)), "model": model})
    return [event(value, newline=newline) for value in [*values, "[DONE]"]]
