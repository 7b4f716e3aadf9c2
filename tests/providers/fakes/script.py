"""What a fake model answers, and the events that `chat/send` must make of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Text:
    text: str
    pieces: int = 2


@dataclass(frozen=True)
class Think:
    text: str
    signature: str = "c2lnbmF0dXJl"


@dataclass(frozen=True)
class Redacted:
    """A block of reasoning that only the endpoint can read; Anthropic only."""

    data: str


@dataclass(frozen=True)
class Call:
    id: str
    name: str
    input: dict[str, Any]


@dataclass(frozen=True)
class Script:
    """stop: of the protocol. usage: input (cached parts included), output, cache read and write."""

    steps: tuple[Any, ...]
    stop: str = "endTurn"
    usage: tuple[int, int, int, int] | None = (12, 3, 0, 0)
    options: dict[str, Any] = field(default_factory=dict)


def pieces(text: str, count: int) -> list[str]:
    """The text in `count` parts or fewer, none empty, joined to the same text."""
    size = max(1, -(-len(text) // count))
    return [text[start : start + size] for start in range(0, len(text), size)]


def wire_usage(usage: tuple[int, int, int, int]) -> dict[str, int]:
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    counts = dict(zip(names, usage, strict=True))
    return {name: count for name, count in counts.items() if count or name[0] in "io"}


def folded(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events with neighbouring deltas joined: what must be the same however a stream was cut."""
    joined: list[dict[str, Any]] = []
    for event in events:
        last = joined[-1] if joined else None
        if (
            last
            and event["type"] in ("textDelta", "thinkingDelta")
            and last["type"] == event["type"]
        ):
            joined[-1] = {**event, "text": last["text"] + event["text"]}
        else:
            joined.append(event)
    return joined


def expected(script: Script) -> list[dict[str, Any]]:
    """The folded events of a script, for any kind of endpoint that can say all of it."""
    events: list[dict[str, Any]] = []
    for step in script.steps:
        match step:
            case Text():
                events.append({"type": "textDelta", "text": step.text})
            case Think():
                events.append({"type": "thinkingDelta", "text": step.text})
            case Call():
                events.append(
                    {"type": "toolCall", "id": step.id, "name": step.name, "input": step.input}
                )
    if script.usage:
        events.append({"type": "usage", "usage": wire_usage(script.usage)})
    events.append({"type": "done", "stopReason": script.stop})
    return events


HELLO = Script((Text("Hello, wörld \U0001f44b!\u2028next\u2029line"),))
REASONED = Script(
    (Think("Let me see… \U0001f914 yes."), Text("The answer is 42.")), usage=(40, 20, 0, 0)
)
CALLS = Script(
    (
        Text("I read two files."),
        Call("call_1", "read_file", {"path": "a.py", "lines": [1, 20], "note": '"ü"\n'}),
        Call("call_2", "list_files", {}),
    ),
    stop="toolUse",
    usage=(100, 30, 0, 0),
)
THOUGHTFUL_CALL = Script(
    (Think("I need the file."), Call("call_9", "read_file", {"path": "b.py"})),
    stop="toolUse",
)
CUT = Script((Text("It goes on and"),), stop="maxTokens", usage=(9, 4096, 0, 0))
CACHED = Script((Text("cached"),), usage=(1000, 5, 800, 0))
EVERY_KIND = {
    "hello": HELLO,
    "reasoned": REASONED,
    "calls": CALLS,
    "thoughtful call": THOUGHTFUL_CALL,
    "cut": CUT,
}
