"""What ends a task's parts: background commands, subagents, a full window, routes."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.agent.play import Model, Task, call, calls, results_sent, say, text_of
from tests.process.client import Message, Runtime
from tests.providers.fakes.script import Script
from tests.providers.fakes.server import Request

PNG = {"mediaType": "image/png", "data": "iVBORw0KGgo="}


def test_A07_A8_a_background_command_that_never_ends_is_stopped(runtime: Runtime) -> None:
    command = call("run_command", command="echo up; sleep 600", background=True)
    with Model(calls(command), say("waiting"), say("it was stopped")) as model:
        task = Task(runtime, model)
        task.wait_for("assistantMessage", lambda event: event["text"] == "waiting")
        task.wait_for("toolOutput", lambda event: "up" in event["text"])
        stop = {"taskId": task.id, "callId": command.id}
        assert runtime.result("agent/cancelTool", stop) is True
        summary = task.summary()
        told = model.sent(2)["messages"][-1]["content"][0]["text"]
    assert summary["text"] == "it was stopped"
    assert "Task has been stopped by user. Continue with the next step…" in told
    assert "up" in told
    ended = task.events("toolFinished")[-1]
    assert (ended["ok"], ended["error"]["kind"], ended["background"]) == (False, "cancelled", True)


def test_A07_A05_a_message_reaches_a_task_that_waits_for_a_command(runtime: Runtime) -> None:
    command = call("run_command", command="echo up; sleep 600", background=True)
    with Model(calls(command), say("waiting"), say("I see"), say("over")) as model:
        task = Task(runtime, model)
        task.wait_for("assistantMessage", lambda event: event["text"] == "waiting")
        assert runtime.result("agent/steer", {"taskId": task.id, "text": "hello"}) is True
        task.wait_for("assistantMessage", lambda event: event["text"] == "I see")
        stop = {"taskId": task.id, "callId": command.id}
        assert runtime.result("agent/cancelTool", stop) is True
        assert task.summary()["text"] == "over"


def test_A8_L11_a_background_command_ends_with_the_runtime(tmp_path: Path, root: Path) -> None:
    command = call("run_command", command="echo up; sleep 600", background=True)
    with (
        Runtime(environment={"NO_PROXY": "127.0.0.1"}) as runtime,
        Model(calls(command), say("waiting")) as model,
    ):
        runtime.initialize(dataDir=str(tmp_path / "data"))
        runtime.result("workspace/open", {"root": str(root)})
        task = Task(runtime, model)
        task.wait_for("toolOutput", lambda event: "up" in event["text"])
        assert runtime.finish() == 0
        assert task.events("done") == [{"type": "done", "status": "cancelled"}]


def test_A06_a_stopped_subagent_leaves_its_parent_running(runtime: Runtime) -> None:
    hand_over = call("run_subagent", role="testing", objective="wait")
    wait = call("run_command", command="echo up; sleep 600")
    with Model(calls(hand_over), calls(wait), say("went on")) as model:
        task = Task(runtime, model)
        started = task.wait_for("subagentStarted")
        task.wait_for("subagent", lambda event: event["event"]["type"] == "toolOutput")
        stop = {"taskId": started["taskId"]}
        assert runtime.result("agent/cancelSubagent", {"taskId": task.id}) is False
        assert runtime.result("agent/cancelSubagent", stop) is True
        summary = task.summary()
        assert runtime.result("agent/cancelSubagent", stop) is False
        told = json.loads(text_of(results_sent(model.sent(2))[0]))
    assert (summary["status"], summary["text"]) == ("completed", "went on")
    assert told["status"] == "cancelled"
    assert task.events("subagentFinished")[0]["status"] == "cancelled"


def test_A3_A4_answers_reach_their_own_call_and_grants_stay_where_they_were_given(
    tmp_path: Path, root: Path
) -> None:
    hand_over = [
        call("run_subagent", role="implementation", objective=f"part {name}") for name in "ab"
    ]
    held: list[Message] = []
    both = threading.Event()

    def hold(message: Message) -> None:
        held.append(message)
        if len(held) == 2:
            both.set()

    def answer(request: Request) -> Script:
        messages = request.json["messages"]
        said = json.dumps(messages[0])
        name = "a" if "part a" in said else "b" if "part b" in said else ""
        if not name:
            return calls(*hand_over) if len(messages) == 1 else say("both are done")
        if len(messages) == 1:
            return calls(call("write_file", path=f"{name}.txt", content=name))
        return say(text_of(results_sent(request.json)[0]))

    with (
        Runtime(environment={"NO_PROXY": "127.0.0.1"}, answer=hold) as runtime,
        Model(answer) as model,
    ):
        runtime.initialize(dataDir=str(tmp_path / "data"))
        runtime.result("workspace/open", {"root": str(root)})
        task = Task(runtime, model, policy={"mode": "manual", "deny": ["run_command"]})
        assert both.wait(20)
        for message in reversed(held):
            wanted = message["params"]["input"]["path"] == "a.txt"
            decision = "allowSession" if wanted else "deny"
            runtime.send({"jsonrpc": "2.0", "id": message["id"], "result": {"decision": decision}})
        assert task.summary()["status"] == "completed"
    assert (root / "a.txt").read_text() == "a"
    assert not (root / "b.txt").exists()


def test_A11_a_long_task_is_compressed_and_goes_on(runtime: Runtime) -> None:
    def read(request: Request) -> Script:
        n = len(request.json["messages"])
        first = n * 20 + 1
        read = call("read_file", path="long.txt", startLine=first, endLine=first + 150)
        # The endpoint counts honestly, so that the task's estimates are calibrated to it.
        return replace(calls(read), usage=(len(request.body) // 4, 10, 0, 0))

    with Model(*[read] * 14, say("all is read")) as model:
        task = Task(runtime, model, limits={"contextWindowTokens": 16_000, "compactPercent": 60})
        summary = task.summary(60)
    assert (summary["status"], summary["text"]) == ("completed", "all is read")
    compacted = task.events("compacted")
    assert compacted
    assert any(event["pruned"] for event in compacted)
    for event in compacted:
        assert event["afterTokens"] < event["beforeTokens"]
        assert event["windowTokens"] == 16_000
    assert len(task.events("context")) == 15


def test_A11_a_prompt_that_cannot_fit_is_one_clear_error(runtime: Runtime) -> None:
    with Model(say("never")) as model:
        task = Task(runtime, model, "word " * 10_000, limits={"contextWindowTokens": 4000})
        summary = task.summary()
        assert model.asked == 0
    assert summary["status"] == "failed"
    assert "4000" in summary["error"]["message"]
    assert len(task.events("error")) == 1


def test_A12_a_route_and_a_roles_provider_are_used(runtime: Runtime) -> None:
    hand_over = call("run_subagent", role="review", objective="look")
    with (
        Model(say("never")) as given,
        Model(calls(hand_over), say("done")) as routed,
        Model(say("looks good")) as reviewer,
    ):
        task = Task(
            runtime,
            given,
            "Fix the bug in greet: it crashes",
            routes=[
                {
                    "kinds": [
                        "question", "codeModification", "debugging", "refactoring", "testing",
                        "review", "documentation", "planning", "other",
                    ],
                    "provider": routed.config(),
                }
            ],
            roleProviders=[{"role": "review", "provider": reviewer.config()}],
        )  # fmt: skip
        assert task.summary()["text"] == "done"
        assert (given.asked, routed.asked, reviewer.asked) == (0, 2, 1)
    assert task.events("model")[0]["route"] == "debugging"


IMAGES: list[tuple[list[Any], bool]] = [([PNG] * 8, True), ([PNG] * 9, False)]


@pytest.mark.parametrize(("images", "taken"), IMAGES)
def test_A01_a_prompt_takes_eight_images(runtime: Runtime, images: list[Any], taken: bool) -> None:
    with Model(say("seen")) as model:
        task = Task(runtime, model, images=images)
        if taken:
            task.summary()
            parts = model.sent(0)["messages"][0]["content"]
            assert [part["type"] for part in parts].count("image") == 8
        else:
            assert task.error()["code"] == -32602
