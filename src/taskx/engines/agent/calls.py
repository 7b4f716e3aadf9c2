"""Runs the tool calls of one assistant message, and answers each exactly once.

Reads run beside each other, everything else in order. Whatever happens to a call (refused, failed,
stopped, cancelled with its task), it has one result in the history.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from taskx.engines.agent.guard import LoopGuard
from taskx.engines.ports import Emit
from taskx.errors import ToolError
from taskx.protocol import agent as events
from taskx.protocol.chat import BrokenToolCall, ToolResultPart, ToolUsePart

log = logging.getLogger("taskx.agent")

STOPPED = "Task has been stopped by user. Continue with the next step…"
CANCELLED = "The task was cancelled before this call finished."
OVER_LIMIT = "This task has used up its tool calls; this call was not run."


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call came to: text for the model, JSON for the client."""

    ok: bool
    content: str
    data: Any = None
    error_kind: str = ""
    background: asyncio.Task[Outcome] | None = None


class Runner(Protocol):
    """Runs one call that is well formed: approval, hooks and the tool itself."""

    async def run_call(self, use: ToolUsePart) -> Outcome: ...

    def partial_output(self, call_id: str) -> str: ...

    def describe(self, tool: str) -> tuple[events.ToolClass, bool]:
        """The class of a tool, and whether it may run beside others."""
        ...


@dataclass(slots=True)
class Calls:
    """The calls of one task: running ones by id, background ones, counts and the loop guard."""

    runner: Runner
    emit: Emit
    max_calls: int
    start_item: Callable[[str, str], None]
    end_item: Callable[[str, str], None]
    count: int = 0
    stuck: bool = False
    over_limit: bool = False
    notes: list[str] = field(default_factory=list)
    _results: dict[str, ToolResultPart] = field(default_factory=dict)
    _running: dict[str, asyncio.Task[Outcome]] = field(default_factory=dict)
    _stopped: dict[str, str] = field(default_factory=dict)  # call id -> output until then
    _background: dict[str, asyncio.Task[Outcome]] = field(default_factory=dict)
    _finished_background: list[str] = field(default_factory=list)
    _guard: LoopGuard = field(default_factory=LoopGuard)
    background_ended: asyncio.Event = field(default_factory=asyncio.Event)

    def stop(self, call_id: str) -> bool:
        """Stops one running call, a background command too; the task goes on."""
        task = self._running.get(call_id) or self._background.get(call_id)
        if task is None or task.done():
            return False
        self._stopped[call_id] = self.runner.partial_output(call_id)
        task.cancel()
        return True

    async def run(
        self, uses: Sequence[ToolUsePart], broken: Sequence[BrokenToolCall]
    ) -> list[ToolResultPart]:
        """Results in the order of the calls."""
        self._results = {}
        spoiled = {call.id: call for call in broken}
        for batch in self._batches(uses, spoiled):
            await self._run_batch(batch, spoiled, self._results)
        return self.answered_so_far(uses)

    def answered_so_far(self, uses: Sequence[ToolUsePart]) -> list[ToolResultPart]:
        """A result for each call, also when `run` was cancelled half way."""
        return [
            self._results.get(use.id) or part_for(use, CANCELLED, is_error=True) for use in uses
        ]

    def _batches(
        self, uses: Sequence[ToolUsePart], spoiled: dict[str, BrokenToolCall]
    ) -> list[list[ToolUsePart]]:
        """Neighbouring calls that may run beside each other share a batch."""
        batches: list[list[ToolUsePart]] = []
        together = False
        for use in uses:
            alone = use.id in spoiled or not self.runner.describe(use.name)[1]
            if not batches or alone or not together:
                batches.append([])
            batches[-1].append(use)
            together = not alone
        return batches

    async def _run_batch(
        self,
        batch: list[ToolUsePart],
        spoiled: dict[str, BrokenToolCall],
        results: dict[str, ToolResultPart],
    ) -> None:
        async with asyncio.TaskGroup() as group:
            for use in batch:
                group.create_task(self._run_one(use, spoiled.get(use.id), results))

    async def _run_one(
        self,
        use: ToolUsePart,
        broken: BrokenToolCall | None,
        results: dict[str, ToolResultPart],
    ) -> None:
        self.count += 1
        tool_class, _ = self.runner.describe(use.name)
        self.start_item(use.id, "toolCall")
        self.emit(
            events.ToolStartedEvent(
                call_id=use.id, tool=use.name, class_=tool_class, input=use.input
            )
        )
        started = time.perf_counter()
        status = "cancelled"
        try:
            outcome = await self._outcome(use, broken)
            status = "completed" if outcome.ok else "failed"
            elapsed_ms = round((time.perf_counter() - started) * 1000)
            self._report(use, tool_class, outcome, elapsed_ms)
            results[use.id] = part_for(use, outcome.content, is_error=not outcome.ok)
            self._watch(use, outcome)
            if outcome.background is not None:
                self._follow(use, outcome.background)
        finally:
            self.end_item(use.id, status)

    async def _outcome(self, use: ToolUsePart, broken: BrokenToolCall | None) -> Outcome:
        if self.count > self.max_calls:
            self.over_limit = True
            return Outcome(False, OVER_LIMIT, error_kind="denied")
        if broken is not None:
            return Outcome(False, broken_text(broken), error_kind="invalidInput")
        running = asyncio.ensure_future(self.runner.run_call(use))
        self._running[use.id] = running
        try:
            return await running
        except ToolError as error:
            return Outcome(False, error.message, error_kind=error.kind)
        except Exception:
            # A bug in one tool is no reason to lose the user's task.
            log.exception("tool %s failed", use.name)
            return Outcome(False, f"{use.name} failed inside the runtime", error_kind="failed")
        except asyncio.CancelledError:
            if use.id in self._stopped and not is_cancelling():
                return Outcome(False, self._stopped_text(use.id), error_kind="cancelled")
            running.cancel()
            await asyncio.wait([running])
            if not running.cancelled() and running.exception() is None:
                # It was done in the same moment: what it started has nobody to wait for it.
                command = running.result().background
                if command is not None:
                    command.cancel()
            raise
        finally:
            del self._running[use.id]

    def _stopped_text(self, call_id: str) -> str:
        printed = self._stopped.get(call_id, "")
        return f"{STOPPED}\n\nOutput until then:\n{printed}" if printed else STOPPED

    def _report(
        self, use: ToolUsePart, tool_class: str, outcome: Outcome, elapsed_ms: int, **more: Any
    ) -> None:
        log.info(
            "tool call tool=%s class=%s ok=%s kind=%s ms=%d",
            use.name,
            tool_class,
            outcome.ok,
            outcome.error_kind or "-",
            elapsed_ms,
        )
        if outcome.ok:
            more["result"] = outcome.data
        else:
            more["error"] = {"kind": outcome.error_kind or "failed", "message": outcome.content}
        self.emit(
            events.ToolFinishedEvent(
                call_id=use.id, tool=use.name, ok=outcome.ok, duration_ms=elapsed_ms, **more
            )
        )

    def _watch(self, use: ToolUsePart, outcome: Outcome) -> None:
        match self._guard.after(use.name, use.input, ok=outcome.ok, result=outcome.content):
            case "warn":
                note = self._guard.note(use.name)
                self.notes.append(note)
                self.emit(
                    events.WarningEvent(message=f"the model repeats the same call to {use.name}")
                )
            case "stop":
                self.stuck = True
            case _:
                pass

    # Background commands

    @property
    def in_background(self) -> bool:
        return bool(self._background)

    def _follow(self, use: ToolUsePart, task: asyncio.Task[Outcome]) -> None:
        """The command is an item of its own: it ends with the second `toolFinished`."""
        item = f"{use.id}:command"
        self.start_item(item, "command")
        self._background[use.id] = task
        started = time.perf_counter()

        def ended(done: asyncio.Task[Outcome]) -> None:
            del self._background[use.id]
            outcome = background_outcome(done, self._stopped_text(use.id))
            elapsed_ms = round((time.perf_counter() - started) * 1000)
            self._report(use, "execute", outcome, elapsed_ms, background=True)
            command = str(use.input.get("command", ""))
            self._finished_background.append(
                f"The background command `{command}` ended.\n{outcome.content}"
            )
            self.end_item(item, "completed" if outcome.ok else "failed")
            self.background_ended.set()

        task.add_done_callback(ended)

    def take_background(self) -> list[str]:
        """What background commands printed since the last call, for the model."""
        taken, self._finished_background = self._finished_background, []
        self.background_ended.clear()
        return taken

    async def end_background(self) -> None:
        """Ends what still runs in the background, with the task."""
        tasks = list(self._background.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
            await asyncio.sleep(0)  # their done callbacks report first


def is_cancelling() -> bool:
    """Whether the current task itself is being cancelled, and not only what it waits for."""
    current = asyncio.current_task()
    return current is not None and current.cancelling() > 0


def background_outcome(done: asyncio.Task[Outcome], stopped: str) -> Outcome:
    if done.cancelled():
        return Outcome(False, stopped, error_kind="cancelled")
    error = done.exception()
    if isinstance(error, ToolError):
        return Outcome(False, error.message, error_kind=error.kind)
    if error is not None:
        log.error("a background command failed", exc_info=error)
        return Outcome(False, "the command could not be run", error_kind="failed")
    return done.result()


def broken_text(call: BrokenToolCall) -> str:
    """What the model is told of arguments that were cut off or are no JSON object."""
    if call.reason == "truncated":
        return (
            "The arguments of this call were cut off at the output limit, so it was not run. Send"
            " it again with less content, for example in several smaller calls."
        )
    return (
        "The arguments of this call are not a JSON object, so it was not run. Send it again with"
        f" valid JSON. What arrived: {call.arguments[:200]}"
    )


def part_for(use: ToolUsePart, content: str, *, is_error: bool) -> ToolResultPart:
    return ToolResultPart(
        tool_use_id=use.id, tool_name=use.name, content=content or "(empty)", is_error=is_error
    )


def as_text(data: Any) -> str:
    """A JSON result as the model reads it."""
    return msgspec.json.encode(data).decode()
