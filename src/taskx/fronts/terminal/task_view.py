"""A task as a person sees it: the answer on stdout, everything else on stderr; or raw events."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import msgspec

from taskx.edits.log import EditLog
from taskx.fronts.terminal.output import count, duration
from taskx.protocol import agent as events
from taskx.protocol.agent import (
    AgentEvent,
    AgentEventParams,
    ApprovalParams,
    AskUserParams,
    Decision,
    Question,
    Summary,
)

DIM, RED, GREEN, BOLD, PLAIN = "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[1m", "\x1b[0m"
MAX_DIFF_LINES = 200
MAX_INPUT_CHARS = 120
DECISIONS: dict[str, Decision] = {
    "y": "allow",
    "yes": "allow",
    "a": "allowSession",
    "always": "allowSession",
}


class JsonView:
    """Each event as one line of JSON on stdout; the summary is the last line."""

    def __init__(self, task_id: str) -> None:
        self._task_id = task_id

    def event(self, event: AgentEvent) -> None:
        self._line(msgspec.json.encode(AgentEventParams(task_id=self._task_id, event=event)))

    def note(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def end(self, summary: Summary) -> None:
        self._line(msgspec.json.encode({"taskId": self._task_id, "summary": summary}))

    def _line(self, data: bytes) -> None:
        sys.stdout.buffer.write(data + b"\n")
        sys.stdout.buffer.flush()


class TextView:
    """The model's text on stdout; calls, diffs, output and problems on stderr."""

    def __init__(self, log: EditLog) -> None:
        self._log = log
        self._colour = sys.stderr.isatty()
        self._midline = False

    def event(self, event: AgentEvent) -> None:
        match event:
            case events.TextDeltaEvent():
                if event.text:
                    sys.stdout.write(event.text)
                    sys.stdout.flush()
                    self._midline = not event.text.endswith("\n")
            case events.AssistantMessageEvent():
                self._end_line()
            case events.ThinkingDeltaEvent():
                self._raw(event.text)
            case events.ToolStartedEvent():
                self.note(f"* {event.tool} {described(event.input)}".rstrip(), BOLD)
            case events.ToolOutputEvent():
                self._raw(event.text)
            case events.ToolFinishedEvent() if isinstance(event.error, dict):
                self.note(f"  {event.error['kind']}: {event.error['message']}", RED)
            case events.FileChangedEvent():
                self._diff(event)
            case events.ApprovalResolvedEvent() if event.by != "user":
                self.note(f"  {event.decision} (by {event.by})", DIM)
            case events.RetryEvent():
                wait = duration(event.delay_ms)
                self.note(f"retry {event.attempt} in {wait}: {event.error.get('message')}", DIM)
            case events.ModelSwitchedEvent():
                self.note(f"{event.from_} is left for {event.to}: {event.reason}", DIM)
            case events.CompactedEvent():
                before, after = count(event.before_tokens), count(event.after_tokens)
                self.note(f"history compressed from {before} to {after} tokens", DIM)
            case events.WarningEvent():
                self.note(f"warning: {event.message}")
            case events.ErrorEvent():
                self.note(f"taskx: {event.message}", RED)
            case events.SubagentStartedEvent():
                self.note(f"> {event.name}: {event.objective.splitlines()[0]}", BOLD)
            case events.SubagentFinishedEvent():
                self.note(f"< {event.name}: {event.status}", BOLD)
            case events.SubagentEvent() if not isinstance(event.event, _QUIET_INSIDE):
                self.event(event.event)
            case _:
                pass

    def note(self, text: str, style: str = "") -> None:
        self._end_line()
        styled = f"{style}{text}{PLAIN}" if style and self._colour else text
        print(styled, file=sys.stderr, flush=True)

    def end(self, summary: Summary) -> None:
        """One line: how it ended, what it changed and took."""
        used = summary.usage
        words = [
            summary.status,
            duration(summary.metrics.duration_ms),
            f"{count(used.input_tokens)} + {count(used.output_tokens)} tokens",
        ]
        if summary.metrics.cost_usd:
            words.append(f"${summary.metrics.cost_usd:.4f}")
        if summary.changed_files:
            words.append("changed " + ", ".join(file.path for file in summary.changed_files))
        if summary.skipped_checks:
            words.append("not run: " + ", ".join(summary.skipped_checks))
        self.note("; ".join(words), DIM)

    def _diff(self, event: events.FileChangedEvent) -> None:
        self.note(f"  {event.path} +{event.added} -{event.removed}", BOLD)
        for operation in self._log.operations():
            if str(operation.id) != event.operation:
                continue
            for change in operation.changes:
                if change.path == event.path:
                    self._diff_lines(self._log.diff(operation, change).splitlines())

    def _diff_lines(self, lines: list[str]) -> None:
        for line in lines[:MAX_DIFF_LINES]:
            style = {"+": GREEN, "-": RED}.get(line[:1], "")
            self.note(f"  {line}", style)
        if len(lines) > MAX_DIFF_LINES:
            self.note(f"  … {len(lines) - MAX_DIFF_LINES} more lines", DIM)

    def _raw(self, text: str) -> None:
        self._end_line()
        sys.stderr.write(f"{DIM}{text}{PLAIN}" if self._colour else text)
        sys.stderr.flush()

    def _end_line(self) -> None:
        """The answer's line is ended before anything else is said."""
        if self._midline:
            self._midline = False
            sys.stdout.write("\n")
            sys.stdout.flush()


_QUIET_INSIDE = (events.TextDeltaEvent, events.ThinkingDeltaEvent)


def described(arguments: dict[str, Any]) -> str:
    """A call's arguments on one line: the first text of them, shortened."""
    for value in arguments.values():
        if isinstance(value, str):
            line = " ".join(value[: 4 * MAX_INPUT_CHARS].split())
            return line if len(line) <= MAX_INPUT_CHARS else line[: MAX_INPUT_CHARS - 1] + "…"
    return ""


class Person:
    """Who sits at the terminal. Implements `engines.ports.Client`; in a pipe nobody answers."""

    def __init__(self, view: JsonView | TextView) -> None:
        self._view = view
        # Two calls that ask at once are asked about one after the other.
        self._turn = asyncio.Lock()

    async def request_approval(self, params: ApprovalParams) -> Decision:
        if not sys.stdin.isatty():
            self._view.note(f"{params.tool} needs approval, and nobody is here to give it")
            return "deny"
        async with self._turn:
            self._view.note(params.preview or f"{params.tool} {described(params.input)}")
            self._view.note(f"allow {params.tool}? [y]es, [a]lways in this task, [n]o")
            answer = await _line()
        return DECISIONS.get((answer or "").strip().lower(), "deny")

    async def ask_user(self, params: AskUserParams) -> dict[str, list[str]] | None:
        if not sys.stdin.isatty():
            return None
        answers: dict[str, list[str]] = {}
        async with self._turn:
            for question in params.questions:
                chosen = await self._ask(question)
                if chosen is None:
                    return None
                answers[question.id] = chosen
        return answers

    async def _ask(self, question: Question) -> list[str] | None:
        self._view.note(question.text)
        for number, option in enumerate(question.options, 1):
            self._view.note(f"  {number}. {option}")
        many = "numbers" if question.kind == "checkbox" else "a number"
        self._view.note(f"{many}, or nothing to leave it to the model:")
        words = (await _line() or "").replace(",", " ").split()
        picked = [int(word) for word in words if word.isascii() and word.isdigit()]
        options = [question.options[n - 1] for n in picked if 1 <= n <= len(question.options)]
        return options or None

    async def writable(self) -> None:
        return


async def _line() -> str | None:
    """The next line of the terminal, None at its end. Unlike `input`, it can be cancelled."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    return sys.stdin.readline() or None
