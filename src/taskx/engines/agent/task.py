"""One task: from the prompt to the summary.

A turn: waiting messages join, the history is made to fit, the model answers, its calls run, the
record is saved. The task ends when the model calls nothing, no message waits and nothing runs in
the background; or at a limit, an error, or when it is cancelled.
Source: protocol v1, `agent/run`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from taskx.engines.agent import compression, records
from taskx.engines.agent.calls import Calls
from taskx.engines.agent.costs import Costs
from taskx.engines.agent.estimate import Estimator
from taskx.engines.agent.toolbox import Toolbox
from taskx.engines.agent.turn import Models
from taskx.engines.ports import Client, Emit
from taskx.errors import ProviderError
from taskx.protocol import agent as events
from taskx.protocol.agent import Limits, Metrics, Summary, TaskError
from taskx.protocol.chat import (
    ChatRequest,
    ContentPart,
    Message,
    TextPart,
    ToolUsePart,
    Usage,
)
from taskx.providers import ChatFold

log = logging.getLogger("taskx.agent")

MAX_STEERING = 10
OVERFLOW_SHARE = 0.7
"""Of a prompt that was refused as too long: what the window is taken for from then on."""
MAX_REFUSALS = 4


class PromptTooLong(Exception):
    """No stage of compression makes the prompt fit."""


@dataclass(slots=True)
class AgentTask:
    """A running task. `run` once; the other methods are called while it runs."""

    id: str
    models: Models
    toolbox: Toolbox
    calls: Calls
    costs: Costs
    limits: Limits
    system: str
    messages: list[Message]
    record: records.Record
    emit: Emit
    client: Client
    parent: str | None = None
    iterations: int = 0
    text: str = ""
    error: TaskError | None = None
    _steering: deque[str] = field(default_factory=deque)
    _steered: asyncio.Event = field(default_factory=asyncio.Event)
    _estimator: Estimator = field(default_factory=Estimator)
    _started: float = field(default_factory=time.monotonic)
    _runner: asyncio.Task[object] | None = None
    _stopping: bool = False
    _accepting: bool = True
    _window_cap: int | None = None

    # While it runs

    def steer(self, text: str) -> bool:
        """Queues a message of the user; False when the queue is full or the task is ending."""
        if len(self._steering) >= MAX_STEERING or not self._accepting:
            return False
        self._steering.append(text)
        self._steered.set()
        return True

    def stop(self) -> bool:
        """Ends a subagent's task as `cancelled`; its parent goes on."""
        if self._runner is None or self._stopping or not self._accepting:
            return False
        self._stopping = True
        self._runner.cancel()
        return True

    async def run(self) -> Summary:
        """The summary. Raises CancelledError when the request itself is cancelled."""
        self._runner = asyncio.current_task()
        status: events.Status = "failed"
        timer = asyncio.timeout(self._timeout_s())
        try:
            await self._save("running")
            async with timer:
                status = await self._turns()
        except TimeoutError:
            if not timer.expired():
                raise
            status = self._limit("the time limit")
        except ProviderError as error:
            self.error = TaskError(message=error.message, provider=error.data())
            self.emit(events.ErrorEvent(message=error.message, provider=error.data()))
        except PromptTooLong as error:
            self.error = TaskError(message=str(error))
            self.emit(events.ErrorEvent(message=str(error)))
        except Exception:
            # What was done so far is the user's: it is saved and reported like any other end.
            log.exception("task %s failed inside the runtime", self.id)
            self.error = TaskError(message="the task failed inside the runtime; its log says why")
            self.emit(events.ErrorEvent(message=self.error.message))
        except asyncio.CancelledError:
            status = "cancelled"
            if not self._stopping:
                raise
            asyncio.current_task().uncancel()  # type: ignore[union-attr]  # runs in a task
        finally:
            self._accepting = False
            await asyncio.shield(self._finish(status))
        return self.summary(status)

    def _timeout_s(self) -> float | None:
        return self.limits.timeout_ms / 1000 if isinstance(self.limits.timeout_ms, int) else None

    async def _finish(self, status: events.Status) -> None:
        await self.calls.end_background()
        self._pair_interrupted()
        self._keep_notes()
        await self._save(status)
        self.emit(events.DoneEvent(status=status))

    # Turns

    async def _turns(self) -> Literal["completed", "limited"]:
        while True:
            if self.iterations >= self.limits.max_iterations:
                return self._limit(f"the limit of {self.limits.max_iterations} iterations")
            self.iterations += 1
            self.emit(events.IterationEvent(n=self.iterations))
            fold = await self._answer()
            uses = [part for part in self.messages[-1].content if isinstance(part, ToolUsePart)]
            if uses:
                results = await self.calls.run(uses, fold.broken)
                self._append_user([*results, *self._notes()])
            elif not await self._more():
                return "completed"
            await self._save("running")
            reason = self._exhausted()
            if reason:
                return self._limit(reason)

    def _exhausted(self) -> str:
        """Which limit is used up, or an empty text."""
        limits = self.limits
        if self.calls.stuck:
            return "the repeat of a call that changes nothing"
        if self.calls.over_limit:
            return f"the limit of {limits.max_tool_calls} tool calls"
        if isinstance(limits.max_cost_usd, int | float) and (
            self.costs.total_usd >= limits.max_cost_usd
        ):
            return f"the cost limit of ${limits.max_cost_usd:g}"
        if isinstance(limits.max_tokens, int) and self.costs.tokens >= limits.max_tokens:
            return f"the limit of {limits.max_tokens} tokens"
        return ""

    def _limit(self, reason: str) -> Literal["limited"]:
        self.emit(events.WarningEvent(message=f"the task ended at {reason}"))
        return "limited"

    async def _answer(self) -> ChatFold:
        """One answer of the model, appended to the history."""
        refusals = 0
        while True:
            model = self.models.current
            window = await self._window()
            prompt_tokens = 0
            try:
                raw = self._fit(window, self.limits.compact_share)
                prompt_tokens = self._estimator.calibrated(raw)
                fold, usage = await self.models.ask(self._request(window, prompt_tokens))
            except PromptTooLong as error:
                if not self.models.fall_back(str(error)):
                    raise
            except ProviderError as error:
                if not error.context_overflow:
                    raise
                if self.models.current is not model:
                    # A fallback that was turned to meanwhile: its window is another one.
                    self._window_cap, refusals = None, 0
                    continue
                refusals += 1
                if refusals <= MAX_REFUSALS:
                    # Its window is smaller than it was taken for: less than what it refused.
                    self._window_cap = max(1, int(min(window, prompt_tokens) * OVERFLOW_SHARE))
                    continue
                if not self.models.fall_back(error.message):
                    raise
            else:
                self._take(fold, usage, raw, window)
                return fold
            self._window_cap, refusals = None, 0

    async def _window(self) -> int:
        """In tokens; what the endpoint's refusals have shown counts more than what it says."""
        given = self.limits.context_window_tokens
        window = await self.models.window(given if isinstance(given, int) else None)
        return window if self._window_cap is None else min(window, self._window_cap)

    def _request(self, window: int, prompt_tokens: int) -> ChatRequest:
        """Prompt and answer share the window: endpoints refuse a sum that does not fit."""
        return ChatRequest(
            system=self.system,
            messages=self.messages,
            tools=self.toolbox.specs(),
            max_tokens=max(256, min(16_384, window // 4, window - prompt_tokens)),
            context_window=window,
        )

    def _fit(self, window: int, share: float) -> float:
        """Compresses when needed; gives the raw estimate of what will be sent."""
        tools = self.toolbox.specs()
        done = compression.compress(
            self.messages, self.system, tools, self._estimator, window, share
        )
        if done.changed:
            self.messages[:] = done.messages
            self.emit(
                events.CompactedEvent(
                    folded=done.folded,
                    pruned=done.pruned,
                    dropped_retrieval=done.dropped_retrieval,
                    before_tokens=done.before_tokens,
                    after_tokens=done.after_tokens,
                    window_tokens=window,
                )
            )
        if not done.fits:
            raise PromptTooLong(
                f"the prompt takes about {done.after_tokens} tokens and the model's window is"
                f" {window}: shorten the request, or use a model with a larger window"
            )
        return self._estimator.raw(self.system, tools, self.messages)

    def _take(self, fold: ChatFold, usage: Usage | None, raw: float, window: int) -> None:
        content = fold.content()
        if usage is not None:
            self._estimator.calibrate(raw, usage.input_tokens)
        used = usage.input_tokens + usage.output_tokens if usage is not None else round(raw)
        self.emit(events.ContextEvent(used_tokens=used, window_tokens=window))
        self.text = "".join(part.text for part in content if isinstance(part, TextPart))
        calls = [part for part in content if isinstance(part, ToolUsePart)]
        if not content:
            content = [TextPart(text="(no answer)")]
        self.messages.append(Message(role="assistant", content=content))
        self.emit(
            events.AssistantMessageEvent(
                text=self.text,
                tool_calls=[
                    events.ToolCallEntry(id=call.id, name=call.name, input=call.input)
                    for call in calls
                ],
            )
        )

    async def _more(self) -> bool:
        """Whether the task goes on after an answer without calls: for a message or a command."""
        while True:
            notes = self._notes()
            if notes:
                self._append_user(notes)
                return True
            if not self.calls.in_background:
                return False
            waits = [
                asyncio.ensure_future(self._steered.wait()),
                asyncio.ensure_future(self.calls.background_ended.wait()),
            ]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()

    def _notes(self) -> list[ContentPart]:
        """What waits to be told to the model: background output, the guard's note, the user."""
        notes = [*self.calls.take_background(), *self.calls.notes]
        self.calls.notes.clear()
        self._steered.clear()
        while self._steering:
            text = self._steering.popleft()
            self.emit(events.SteeredEvent(text=text))
            notes.append(text)
        return [TextPart(text=note) for note in notes]

    def _append_user(self, parts: list[ContentPart]) -> None:
        self.messages.append(Message(role="user", content=parts))

    def _pair_interrupted(self) -> None:
        """Answers the calls of a turn that was cancelled, so that the history stays valid."""
        last = self.messages[-1]
        uses = [part for part in last.content if isinstance(part, ToolUsePart)]
        if last.role == "assistant" and uses:
            results: list[ContentPart] = [*self.calls.answered_so_far(uses)]
            self._append_user(results)

    def _keep_notes(self) -> None:
        """What was accepted and not yet told is there when the conversation goes on."""
        notes = self._notes()
        if not notes:
            return
        if self.messages[-1].role == "user":
            last = self.messages.pop()
            notes = [*last.content, *notes]
        self._append_user(notes)

    # The record and the summary

    async def _save(self, status: events.Status) -> None:
        summary = self.summary(status)
        messages = tuple(self.messages)
        try:
            await asyncio.to_thread(self.record.write, summary, messages)
        except OSError as error:
            self.emit(events.WarningEvent(message=f"the task could not be saved: {error}"))

    def summary(self, status: events.Status) -> Summary:
        report = self.toolbox.report()
        return Summary(
            task_id=self.id,
            status=status,
            text=self.text,
            changed_files=report.changed_files,
            operations=report.operations,
            validations=report.validations,
            validation_ran=report.validation_ran,
            skipped_checks=report.skipped_checks,
            usage=self.costs.usage(),
            metrics=Metrics(
                cost_usd=self.costs.total_usd,
                unpriced_tokens=self.costs.unpriced_tokens,
                subagents=self.costs.subagents,
                subagent_cost_usd=self.costs.subagent_cost_usd,
                subagent_tokens=self.costs.subagent_tokens,
                duration_ms=round((time.monotonic() - self._started) * 1000),
                model_calls=self.models.calls,
                retries=self.models.retries,
            ),
            model=self.models.current.model,
            iterations=self.iterations,
            tool_calls=self.calls.count,
            error=self.error,
        )
