"""The four kinds of endpoints as tests address them: a fake of each, and a config for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.process.client import Runtime
from tests.providers.fakes import anthropic, ollama, openai
from tests.providers.fakes.script import Script, folded
from tests.providers.fakes.server import Request, Server

COMPATIBLE_KEY = "compatible-key-0123456789"
Answer = Script | Callable[[Request], Script]


@dataclass(frozen=True)
class Kind:
    name: str
    model: str
    key: str | None
    path: str
    """Of the base URL."""
    make_api: Callable[..., Any]

    def serve(self, answer: Answer, newline: bytes = b"\n", **options: Any) -> Server:
        return Server(self.make_api(answer, newline=newline, **options))

    def config(self, server: Server | str, **fields: Any) -> dict[str, Any]:
        origin = server if isinstance(server, str) else server.origin
        config: dict[str, Any] = {"kind": self.name, "model": self.model}
        config["baseUrl"] = origin + self.path
        if self.key is not None:
            config["apiKey"] = self.key
        return {**config, **fields}


def _compatible(answer: Answer, **options: Any) -> openai.Api:
    options = {"key": COMPATIBLE_KEY, "official": False, "prefix": "/api/v1", **options}
    return openai.Api(answer, **options)


ANTHROPIC = Kind("anthropic", "claude-opus-4-6", anthropic.KEY, "", anthropic.Api)
OPENAI = Kind("openai", "gpt-4.1-mini", openai.KEY, "/v1", openai.Api)
COMPATIBLE = Kind("openaiCompatible", "some/model", COMPATIBLE_KEY, "/api/v1", _compatible)
OLLAMA = Kind("ollama", ollama.MODEL, None, "", ollama.Api)
KINDS = {kind.name: kind for kind in (ANTHROPIC, OPENAI, COMPATIBLE, OLLAMA)}

# A short script in each wire format, as pieces of bytes.
STREAMS: dict[str, Callable[[Script, bytes], list[bytes]]] = {
    "anthropic": lambda script, newline: anthropic.stream(script, newline=newline),
    "openai": lambda script, newline: openai.stream(script, newline=newline),
    "openaiCompatible": lambda script, newline: openai.stream(
        script, newline=newline, reasoning_field="reasoning"
    ),
    "ollama": lambda script, newline: ollama.stream(script, newline=newline),
}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def ask(text: str = "hi", **fields: Any) -> dict[str, Any]:
    """A `ChatRequest` with one message."""
    return {"messages": [user(text)], **fields}


class Chat:
    """One `chat/send` through a real process: its events as they came, and its reply."""

    def __init__(self, runtime: Runtime, config: dict[str, Any], request: dict[str, Any]) -> None:
        self._runtime = runtime
        self.id = runtime.start("chat/send", {"provider": config, "request": request})

    @property
    def reply(self) -> dict[str, Any]:
        return self._runtime.reply(self.id)

    @property
    def result(self) -> dict[str, Any]:
        reply = self.reply
        assert "result" in reply, reply
        result: dict[str, Any] = reply["result"]
        return result

    @property
    def error(self) -> dict[str, Any]:
        reply = self.reply
        assert "error" in reply, reply
        error: dict[str, Any] = reply["error"]
        return error

    @property
    def raw_events(self) -> list[dict[str, Any]]:
        """Those that came so far, as they came."""
        return [
            params["event"]
            for params in self._runtime.notifications("chat/event")
            if params["requestId"] == self.id
        ]

    @property
    def events(self) -> list[dict[str, Any]]:
        """All events, with neighbouring deltas joined."""
        assert self.reply
        return folded(self.raw_events)

    def wait_for_event(self) -> None:
        """Until the first event is here."""
        self._runtime.notification("chat/event", lambda params: params["requestId"] == self.id)
