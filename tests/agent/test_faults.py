"""What goes wrong around a task: refused prompts, limits, subagents, records that go on."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tests.agent.play import Model, Task, call, calls, results_sent, say, text_of
from tests.process.client import Runtime
from tests.providers.fakes.script import Script
from tests.providers.fakes.server import Request, json_reply


def test_A11_a_window_that_is_smaller_than_it_was_said_to_be(runtime: Runtime) -> None:
    refused = threading.Event()

    def read(request: Request) -> Script:
        n = len(request.json["messages"])
        return calls(call("read_file", path="long.txt", startLine=n * 20 + 1, endLine=n * 20 + 400))

    def last(request: Request) -> Script:
        if not refused.is_set():
            refused.set()
            model.server.replies.append(
                json_reply(
                    400,
                    {
                        "type": "error",
                        "error": {
                            "type": "invalid_request_error",
                            "message": "prompt is too long: 30000 tokens > 20000 maximum",
                        },
                    },
                )
            )
        return calls(call("read_file", path="app.py"))

    with Model(*[read] * 8, last, say("it fits now")) as model:
        task = Task(runtime, model, limits={"contextWindowTokens": 200_000})
        summary = task.summary()
    assert refused.is_set()
    assert (summary["status"], summary["text"]) == ("completed", "it fits now")
    compacted = task.events("compacted")
    assert len(compacted) == 1
    assert compacted[0]["windowTokens"] < 200_000
    assert compacted[0]["afterTokens"] < compacted[0]["beforeTokens"]


def test_A13_the_editors_problems_reach_the_tool_and_subagents(runtime: Runtime) -> None:
    problem = {"path": "app.py", "line": 2, "message": "no such name: nmae", "severity": "error"}
    ask = call("get_diagnostics")
    hand_over = call("run_subagent", role="research", objective="look")
    with Model(calls(ask), calls(hand_over), calls(ask), say("seen"), say("done")) as model:
        editor = {"openFiles": [], "diagnostics": [problem]}
        Task(runtime, model, editor=editor).summary()
        told = [text_of(results_sent(model.sent(index))[0]) for index in (1, 3)]
    assert told == ["app.py:2: error: no such name: nmae"] * 2


def test_A08_a_subagent_is_no_task_of_its_own_on_disk(runtime: Runtime) -> None:
    hand_over = call("run_subagent", role="research", objective="look")
    with Model(calls(hand_over), say("seen"), say("done"), say("more")) as model:
        Task(runtime, model, "first words", taskId="whole").summary()
        before = runtime.result("agent/tasks")
        Task(runtime, model, "other words", taskId="whole").summary()
        after = runtime.result("agent/tasks")
    assert [row["taskId"] for row in before] == [row["taskId"] for row in after] == ["whole"]
    assert after[0]["title"] == "first words"
    assert after[0]["createdMs"] == before[0]["createdMs"]


def test_A05_a_message_accepted_before_a_limit_is_kept_for_the_next_run(runtime: Runtime) -> None:
    reached, released = threading.Event(), threading.Event()

    def slow(request: Request) -> Script:
        reached.set()
        assert released.wait(20)
        return calls(call("read_file", path="app.py"))

    with Model(slow, say("I know")) as model:
        task = Task(runtime, model, taskId="on", limits={"maxIterations": 1})
        assert reached.wait(20)
        assert runtime.result("agent/steer", {"taskId": "on", "text": "mind the gap"}) is True
        released.set()
        assert task.summary()["status"] == "limited"
        assert [event["text"] for event in task.events("steered")] == ["mind the gap"]
        Task(runtime, model, "and then?", taskId="on").summary()
        last = model.sent(1)["messages"][-1]["content"]
    assert [part["type"] for part in last][:1] == ["tool_result"]
    assert json.dumps(last).index("mind the gap") < json.dumps(last).index("and then?")


def test_A12_a_subagent_spends_what_is_left_of_its_parents_limits(runtime: Runtime) -> None:
    hand_over = call("run_subagent", role="research", objective="look")

    def more(request: Request) -> Script:
        return calls(call("find_files", pattern=f"*{len(request.json['messages'])}"))

    with Model(calls(hand_over), more) as model:
        task = Task(runtime, model, limits={"maxTokens": 400})
        summary = task.summary()
    assert task.events("subagentFinished")[0]["status"] == "limited"
    assert summary["status"] == "limited"
    assert summary["metrics"]["subagentTokens"] == 330


def test_A01_an_id_is_one_tasks_at_a_time(runtime: Runtime) -> None:
    released = threading.Event()

    def slow(request: Request) -> Script:
        assert released.wait(20)
        return say("done")

    with Model(slow) as model:
        first = Task(runtime, model, taskId="same")
        second = Task(runtime, model, taskId="same")
        assert second.error()["code"] == -32602
        released.set()
        assert first.summary()["status"] == "completed"


def test_A14_checks_run_skipped_and_told_after_an_edit(runtime: Runtime, root: Path) -> None:
    (root / "Makefile").write_text("test:\n\t@grep -q good app.py\nlint:\n\t@true\n")
    runtime.result("workspace/refresh")
    known = {check["id"]: check for check in runtime.result("context/inspect")["project"]["checks"]}
    tested = next(name for name, check in known.items() if check["kind"] == "test")
    edit = call("replace_text", path="app.py", oldText="hello", newText="good day")
    run = call("run_check", id=tested)
    again = call("run_check", id=tested, timeoutMs=60_000)
    with Model(calls(run), calls(edit), calls(again), say("done")) as model:
        summary = Task(runtime, model).summary()
        told = text_of(results_sent(model.sent(2))[0])
    assert [(run["id"], run["ok"], run["afterLastEdit"]) for run in summary["validations"]] == [
        (tested, False, False),
        (tested, True, True),
    ]
    assert summary["validationRan"] is True
    assert summary["skippedChecks"] == [name for name in known if name != tested]
    assert tested in told


def test_A15_the_review_role_is_asked_for_findings(runtime: Runtime) -> None:
    hand_over = call("run_subagent", role="review", objective="look")
    with Model(calls(hand_over), say("seen"), say("done")) as model:
        Task(runtime, model).summary()
        systems = [json.dumps(model.sent(index)["system"]) for index in (0, 1)]
    assert ["task-x-findings" in system for system in systems] == [False, True]


def test_A16_without_a_sandbox_a_warning_says_so_and_commands_are_asked_about(
    tmp_path: Path, root: Path
) -> None:
    command = call("run_command", command="echo ran > ran.txt")
    with (
        Runtime(
            environment={"NO_PROXY": "127.0.0.1"},
            answer=lambda message: {"result": {"decision": "deny"}},
        ) as runtime,
        Model(calls(command), say("ok")) as model,
    ):
        runtime.initialize(dataDir=str(tmp_path / "data"), sandbox=False)
        runtime.result("workspace/open", {"root": str(root)})
        task = Task(runtime, model)
        task.summary()
        asked = [request["params"]["tool"] for request in runtime.requests]
    assert any("not confined" in event["message"] for event in task.events("warning"))
    assert asked == ["run_command"]
    assert not (root / "ran.txt").exists()


def test_K4_the_longest_prefix_prices_a_model_and_events_sum_to_the_total(runtime: Runtime) -> None:
    prices = [
        {"model": "claude", "inputPerMtok": 100, "outputPerMtok": 100},
        {"model": "claude-opus-4", "inputPerMtok": 2, "outputPerMtok": 4},
        {"model": "claude-opus", "inputPerMtok": 50, "outputPerMtok": 50},
    ]
    hand_over = call("run_subagent", role="research", objective="look")
    with Model(calls(hand_over), say("seen"), say("done")) as model:
        task = Task(runtime, model, prices=prices)
        metrics = task.summary()["metrics"]
    inner = [event["event"] for event in task.events("subagent")]
    spent = [event for event in [*task.events("usage"), *inner] if event["type"] == "usage"]
    assert [event["inputTokens"] for event in spent] == [100, 100, 100]  # K1: counted once
    assert metrics["costUsd"] == pytest.approx(sum(event["costUsd"] for event in spent))
    assert metrics["costUsd"] == pytest.approx(300 * 2e-6 + 30 * 4e-6)
    assert metrics["unpricedTokens"] == 0


def test_A08_E11_a_kill_in_mid_task_leaves_a_failed_task_and_undoable_edits(
    tmp_path: Path, root: Path
) -> None:
    edit = call("replace_text", path="app.py", oldText="hello", newText="good day")
    hang = call("run_command", command="echo begun; sleep 60")
    data = str(tmp_path / "data")
    with Model(calls(edit), calls(hang)) as model:
        with (
            Runtime(environment={"NO_PROXY": "127.0.0.1"}) as first,
            Runtime(environment={"NO_PROXY": "127.0.0.1"}) as other,
        ):
            first.initialize(dataDir=data)
            first.result("workspace/open", {"root": str(root)})
            task = Task(first, model, "greet", taskId="killed")
            task.wait_for("toolOutput", lambda event: "begun" in event["text"])
            other.initialize(dataDir=data)
            running = other.result("agent/tasks")
            first.process.kill()
            first.process.wait(10)
        with Runtime() as second:
            second.initialize(dataDir=data)
            listed = second.result("agent/tasks")
            stored = second.result("agent/task", {"taskId": "killed"})
            second.result("workspace/open", {"root": str(root)})
            operations = second.result("edits/list")
            undone = second.result("edits/undo", {"operation": operations[0]["id"]})
    assert [(row["taskId"], row["status"]) for row in running] == [("killed", "running")]
    assert [(row["taskId"], row["status"]) for row in listed] == [("killed", "failed")]
    assert stored["summary"]["error"]["message"]
    assert [row["path"] for row in operations[0]["files"]] == ["app.py"]
    assert undone
    assert (root / "app.py").read_text() == "def greet(name):\n    return 'hello ' + name\n"
