"""Every call gets exactly one result, whatever happens to it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from taskx.engines.agent.calls import CANCELLED, STOPPED, Calls, Outcome
from taskx.engines.agent.guard import EQUAL_REPEATS, FAILING_REPEATS, LoopGuard
from taskx.errors import ToolError
from taskx.protocol import agent as events
from taskx.protocol.agent import AgentEvent, ToolClass
from taskx.protocol.chat import BrokenToolCall, ToolResultPart, ToolUsePart

Behaviour = Callable[[ToolUsePart], Awaitable[Outcome]]


class Runner:
    """Runs calls as the test says; notes which ran at the same time."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.now: set[str] = set()
        self.together: set[frozenset[str]] = set()

    async def run_call(self, use: ToolUsePart) -> Outcome:
        self.now.add(use.id)
        await asyncio.sleep(0)
        self.together.add(frozenset(self.now))
        try:
            return await self.behaviour(use)
        finally:
            self.now.discard(use.id)

    def partial_output(self, call_id: str) -> str:
        return "half" if call_id == "slow" else ""

    def describe(self, tool: str) -> tuple[ToolClass, bool]:
        return ("read", True) if tool.startswith("read") else ("write", False)


def calls_of(runner: Runner, seen: list[AgentEvent], items: list[tuple[str, str]]) -> Calls:
    return Calls(
        runner=runner,
        emit=seen.append,
        max_calls=10,
        start_item=lambda item, kind: items.append(("start", item)),
        end_item=lambda item, status: items.append((status, item)),
    )


def use(call_id: str, tool: str = "read_file", **arguments: Any) -> ToolUsePart:
    return ToolUsePart(id=call_id, name=tool, input=arguments)


async def echo(call: ToolUsePart) -> Outcome:
    match call.name:
        case "read_broken":
            raise ToolError("notFound", "no such file")
        case "read_bug":
            raise KeyError("inside")
        case _:
            return Outcome(True, f"did {call.id}", {"id": call.id})


def run_calls(
    uses: list[ToolUsePart], broken: list[BrokenToolCall] | None = None
) -> tuple[list[ToolResultPart], list[AgentEvent], Runner, list[tuple[str, str]]]:
    seen: list[AgentEvent] = []
    items: list[tuple[str, str]] = []
    runner = Runner(echo)
    results = asyncio.run(calls_of(runner, seen, items).run(uses, broken or []))
    return results, seen, runner, items


def test_A06_results_keep_the_order_and_reads_run_beside_each_other() -> None:
    uses = [use("a"), use("b"), use("w", "write_file"), use("c")]
    results, _, runner, items = run_calls(uses)
    assert [part.tool_use_id for part in results] == ["a", "b", "w", "c"]
    assert frozenset({"a", "b"}) in runner.together
    assert all(len(group) == 1 or group <= {"a", "b"} for group in runner.together)
    assert sorted(item for kind, item in items if kind == "start") == ["a", "b", "c", "w"]
    assert sorted(item for kind, item in items if kind != "start") == ["a", "b", "c", "w"]


FAILURES = [
    (use("x", "read_broken"), [], "notFound", "no such file"),
    (use("x", "read_bug"), [], "failed", "read_bug failed inside the runtime"),
    (
        use("x", "write_file"),
        [BrokenToolCall(id="x", name="write_file", reason="truncated", arguments='{"pa')],
        "invalidInput",
        "were cut off at the output limit",
    ),
    (
        use("x", "write_file"),
        [BrokenToolCall(id="x", name="write_file", reason="malformed", arguments="[1]")],
        "invalidInput",
        "not a JSON object",
    ),
]


@pytest.mark.parametrize(("call", "broken", "kind", "text"), FAILURES)
def test_P9_A9_a_failed_or_broken_call_is_an_error_result(
    call: ToolUsePart, broken: list[BrokenToolCall], kind: str, text: str
) -> None:
    results, seen, runner, _ = run_calls([call], broken)
    assert len(results) == 1
    assert results[0].is_error
    assert text in results[0].content
    finished = [event for event in seen if isinstance(event, events.ToolFinishedEvent)]
    assert [event.ok for event in finished] == [False]
    assert isinstance(finished[0].error, dict)
    assert finished[0].error["kind"] == kind
    assert bool(runner.together) == (not broken)


def test_A06_L8_stopping_one_call_keeps_its_output_and_the_others() -> None:
    started = asyncio.Event()

    async def behaviour(call: ToolUsePart) -> Outcome:
        if call.id == "slow":
            started.set()
            await asyncio.Event().wait()
        return Outcome(True, "fine")

    async def body() -> tuple[list[ToolResultPart], list[bool]]:
        calls = calls_of(Runner(behaviour), [], [])
        running = asyncio.ensure_future(calls.run([use("slow"), use("fast")], []))
        await started.wait()
        stopped = [calls.stop("slow"), calls.stop("other")]
        return await running, stopped

    results, stopped = asyncio.run(body())
    assert stopped == [True, False]
    assert results[0].content == f"{STOPPED}\n\nOutput until then:\nhalf"
    assert results[1].content == "fine"


def test_A06_a_cancelled_turn_still_answers_each_call() -> None:
    started = asyncio.Event()

    async def behaviour(call: ToolUsePart) -> Outcome:
        if call.id == "second":
            started.set()
            await asyncio.Event().wait()
        return Outcome(True, "fine")

    async def body() -> list[ToolResultPart]:
        uses = [use("first", "write_file"), use("second", "write_file"), use("third")]
        calls = calls_of(Runner(behaviour), [], [])
        running = asyncio.ensure_future(calls.run(uses, []))
        await started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return calls.answered_so_far(uses)

    results = asyncio.run(body())
    assert [part.content for part in results] == ["fine", CANCELLED, CANCELLED]


def test_A07_a_background_command_reports_twice() -> None:
    async def body() -> tuple[list[AgentEvent], list[str]]:
        ready = asyncio.Event()

        async def ending() -> Outcome:
            await ready.wait()
            return Outcome(True, "built", {"exitCode": 0})

        async def behaviour(call: ToolUsePart) -> Outcome:
            task = asyncio.ensure_future(ending())
            return Outcome(True, "started", {"background": True}, background=task)

        seen: list[AgentEvent] = []
        calls = calls_of(Runner(behaviour), seen, [])
        await calls.run([use("b", "run_command", command="make")], [])
        assert calls.in_background
        ready.set()
        await calls.background_ended.wait()
        assert not calls.in_background
        return seen, calls.take_background()

    seen, told = asyncio.run(body())
    finished = [event for event in seen if isinstance(event, events.ToolFinishedEvent)]
    assert [event.result for event in finished] == [{"background": True}, {"exitCode": 0}]
    assert finished[1].background is True
    assert told == ["The background command `make` ended.\nbuilt"]


def test_calls_over_the_limit_are_answered_and_not_run() -> None:
    results, _, _, _ = run_calls([use(f"c{number}") for number in range(12)])
    assert [part.is_error for part in results] == [False] * 10 + [True] * 2


GUARD = [
    ([False] * (FAILING_REPEATS + 1), ["fine", "fine", "warn", "stop"]),
    ([True] * (EQUAL_REPEATS + 1), ["fine"] * 4 + ["warn", "stop"]),
]


@pytest.mark.parametrize(("outcomes", "expected"), GUARD)
def test_A1_the_same_call_again_and_again_ends_the_task(
    outcomes: list[bool], expected: list[str]
) -> None:
    guard = LoopGuard()
    verdicts = [guard.after("read_file", {"path": "a"}, ok=ok, result="r") for ok in outcomes]
    assert verdicts == expected


def test_A1_polling_with_changing_results_is_no_loop() -> None:
    guard = LoopGuard()
    verdicts = {
        guard.after("run_command", {"command": "date"}, ok=True, result=str(number))
        for number in range(50)
    }
    assert verdicts == {"fine"}
