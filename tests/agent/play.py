"""A model that follows a script, and a task that runs against it in a real runtime."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.process.client import Message, Runtime
from tests.providers.fakes.script import Call, Script, Text
from tests.providers.fakes.server import Request, Server
from tests.providers.kinds import ANTHROPIC, Kind

Step = Script | Callable[[Request], Script]

_ids = itertools.count(1)


def call(name: str, **arguments: Any) -> Call:
    """A tool call with an id of its own; `from_` stands for `from`."""
    fields = {key.rstrip("_"): value for key, value in arguments.items()}
    return Call(f"call_{next(_ids)}", name, fields)


def calls(*steps: Call, text: str = "") -> Script:
    said = (Text(text),) if text else ()
    return Script((*said, *steps), stop="toolUse", usage=(100, 10, 0, 0))


def say(text: str) -> Script:
    return Script((Text(text),), usage=(100, 10, 0, 0))


class Model:
    """A server whose n-th answer is the n-th step; the last step is repeated."""

    def __init__(self, *steps: Step, kind: Kind = ANTHROPIC, **options: Any) -> None:
        self.steps = steps
        self.kind = kind
        self.asked = 0
        self._lock = threading.Lock()
        self.server: Server = kind.serve(self._answer, **options)

    def __enter__(self) -> Model:
        self.server.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.server.__exit__(*error)

    def _answer(self, request: Request) -> Script:
        with self._lock:
            step = self.steps[min(self.asked, len(self.steps) - 1)]
            self.asked += 1
        return step if isinstance(step, Script) else step(request)

    def config(self, **fields: Any) -> dict[str, Any]:
        return self.kind.config(self.server, **fields)

    def sent(self, index: int) -> Any:
        """The body of the index-th chat request."""
        bodies = [request.json for request in self.server.requests if request.method == "POST"]
        return bodies[index]


class Task:
    """One `agent/run` in a runtime."""

    def __init__(self, runtime: Runtime, model: Model, prompt: str = "do it", **params: Any):
        self.runtime = runtime
        self.id = params.setdefault("taskId", f"task-{next(_ids)}")
        limits = {"contextWindowTokens": 100_000, **params.pop("limits", {})}
        self.request = runtime.start(
            "agent/run",
            {
                "prompt": prompt,
                "provider": model.config(),
                "chatMode": "agent",
                "policy": {"mode": "auto"},
                "limits": limits,
                **params,
            },
        )

    def summary(self, timeout: float = 30.0) -> dict[str, Any]:
        reply = self.runtime.reply(self.request, timeout)
        assert "result" in reply, reply
        result: dict[str, Any] = reply["result"]
        return result

    def error(self) -> dict[str, Any]:
        reply = self.runtime.reply(self.request)
        assert "error" in reply, reply
        error: dict[str, Any] = reply["error"]
        return error

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        found = [
            params["event"]
            for params in self.runtime.notifications("agent/event")
            if params["taskId"] == self.id
        ]
        return [event for event in found if kind in (None, event["type"])]

    def wait_for(self, kind: str, matches: Callable[[Any], bool] = lambda event: True) -> Any:
        def found() -> list[Any]:
            return [event for event in self.events(kind) if matches(event)]

        return self.runtime.wait(found, what=f"event {kind}")[0]


def results_sent(body: Any) -> list[dict[str, Any]]:
    """The tool results in the last message of an Anthropic request."""
    return [part for part in body["messages"][-1]["content"] if part["type"] == "tool_result"]


def text_of(result: dict[str, Any]) -> str:
    content = result["content"]
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def answering(*decisions: str) -> Callable[[Message], Message | None]:
    """A client that gives these decisions in turn; the last one is repeated."""
    left = list(decisions)

    def answer(message: Message) -> Message | None:
        decision = left.pop(0) if len(left) > 1 else left[0]
        return {"result": {"decision": decision}} if decision != "silence" else None

    return answer


def project(folder: Path) -> Path:
    """A small repository to work in."""
    folder.mkdir()
    (folder / "app.py").write_text("def greet(name):\n    return 'hello ' + name\n")
    (folder / "notes.txt").write_text("first\nsecond\n")
    return folder
