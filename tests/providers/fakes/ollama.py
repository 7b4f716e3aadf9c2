"""A fake of Ollama: `/api/chat`, `/api/tags`, `/api/show`.

Source of the checks: Ollama API documentation, and the messages its server answers with.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from tests.providers.fakes.script import Call, Script, Text, Think, pieces
from tests.providers.fakes.server import Reply, Request, json_reply
from tests.providers.fakes.sse import json_line

STOPS = {"endTurn": "stop", "maxTokens": "length", "toolUse": "stop"}
MODEL = "qwen3:latest"


def shown(
    capabilities: tuple[str, ...] = ("completion", "tools", "thinking"),
    window: Any = 40960,
    size: str = "8.2B",
    quantization: str = "Q4_K_M",
) -> dict[str, Any]:
    """The answer of `/api/show` for one model."""
    return {
        "license": "",
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": {
            "parent_model": "",
            "format": "gguf",
            "family": "qwen3",
            "families": ["qwen3"],
            "parameter_size": size,
            "quantization_level": quantization,
        },
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": window},
        "capabilities": list(capabilities),
        "modified_at": "2025-08-14T15:49:43.634137516-07:00",
    }


class Api:
    """models: name -> answer of `/api/show`."""

    def __init__(
        self,
        answer: Callable[[Request], Script] | Script,
        newline: bytes = b"\n",
        models: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        self.answer = answer
        self.newline = newline
        self.models = models if models is not None else {MODEL: shown()}

    def __call__(self, request: Request) -> Reply:
        match request.method, request.path:
            case "GET", "/api/tags":
                return json_reply(200, {"models": [self._row(name) for name in self.models]})
            case "POST", "/api/show":
                name = request.json.get("model") or request.json.get("name")
                found = self._find(name)
                if found is None:
                    return error(404, f"model '{name}' not found")
                return json_reply(200, found)
            case "POST", "/api/chat":
                return self._chat(request)
        return Reply(404, {"content-type": "text/plain"}, b"404 page not found")

    def _find(self, name: Any) -> dict[str, Any] | None:
        return self.models.get(name) or self.models.get(f"{name}:latest")

    @staticmethod
    def _row(name: str) -> dict[str, Any]:
        details = {"parameter_size": "", "quantization_level": "", "family": "", "format": "gguf"}
        row = {"name": name, "model": name, "modified_at": "2025-08-14T15:49:43-07:00", "size": 1}
        return {**row, "digest": "0" * 64, "details": details}

    def _chat(self, request: Request) -> Reply:
        body = request.json
        model = self._find(body.get("model"))
        if not body.get("model"):
            return error(400, "model is required")
        if model is None:
            return error(404, f"model '{body['model']}' not found")
        problem = _problem(body, model["capabilities"])
        if problem:
            return error(400, problem)
        script = self.answer if isinstance(self.answer, Script) else self.answer(request)
        lines = stream(script, body["model"], self.newline)
        if body.get("stream") is False:
            return Reply(200, {"content-type": "application/json"}, whole(script, body["model"]))
        return Reply(200, {"content-type": "application/x-ndjson"}, lines)


def error(status: int, message: str) -> Reply:
    return json_reply(status, {"error": message})


def _problem(body: dict[str, Any], capabilities: list[str]) -> str | None:
    model = body["model"]
    if body.get("tools") and "tools" not in capabilities:
        return f"registry.ollama.ai/library/{model} does not support tools"
    if body.get("think") and "thinking" not in capabilities:
        return f'"{model}" does not support thinking'
    for name, value in body.get("options", {}).items():
        kinds = (int, float) if name == "temperature" else int
        if isinstance(value, bool) or not isinstance(value, kinds):
            return f'option "{name}" must be of type integer'
    for message in body.get("messages", ()):
        if message["role"] not in ("system", "user", "assistant", "tool"):
            return f"invalid role: {message['role']}, must be one of [system user assistant tool]"
        if not isinstance(message.get("content", ""), str):
            return "json: cannot unmarshal array into Go struct field ChatRequest.messages.content"
        for image in message.get("images", ()):
            base64.b64decode(image, validate=True)
        for call in message.get("tool_calls", ()):
            if not isinstance(call["function"].get("arguments", {}), dict):
                return "json: cannot unmarshal string into Go value of type map[string]interface {}"
        if message["role"] == "tool" and not message.get("tool_name"):
            return "tool message without tool_name"
    return None


def _message(**fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "", **fields}


def _call(step: Call) -> dict[str, Any]:
    return {"id": step.id, "function": {"name": step.name, "arguments": step.input}}


def _last(script: Script) -> dict[str, Any]:
    counts: dict[str, Any] = {}
    if script.usage:
        counts = {"prompt_eval_count": script.usage[0], "eval_count": script.usage[1]}
    return {
        "done_reason": STOPS[script.stop],
        "done": True,
        "total_duration": 1,
        "load_duration": 1,
        "prompt_eval_duration": 1,
        "eval_duration": 1,
        **counts,
    }


def stream(script: Script, model: str = MODEL, newline: bytes = b"\n") -> list[bytes]:
    """The answer as Ollama streams it: one piece of bytes a line. Calls come before the last."""
    lines: list[dict[str, Any]] = []
    for step in script.steps:
        match step:
            case Text():
                lines += [_message(content=part) for part in pieces(step.text, step.pieces)]
            case Think():
                lines += [_message(thinking=part) for part in pieces(step.text, 2)]
            case Call():
                lines.append(_message(tool_calls=[_call(step)]))
    head = {"model": model, "created_at": "2025-08-14T15:49:43.634137516Z"}
    values = [{**head, "message": line, "done": False} for line in lines]
    values.append({**head, "message": _message(), **_last(script)})
    return [json_line(value, newline) for value in values]


def whole(script: Script, model: str) -> bytes:
    """The answer in one piece."""
    message = _message(
        content="".join(step.text for step in script.steps if isinstance(step, Text))
    )
    calls = [_call(step) for step in script.steps if isinstance(step, Call)]
    if calls:
        message["tool_calls"] = calls
    thought = "".join(step.text for step in script.steps if isinstance(step, Think))
    if thought:
        message["thinking"] = thought
    head = {"model": model, "created_at": "2025-08-14T15:49:43.634137516Z"}
    return json_line({**head, "message": message, **_last(script)})
