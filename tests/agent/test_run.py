"""`agent/run`: turns, tools, approvals, steering, limits, records."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.agent.play import (
    Model,
    Task,
    answering,
    call,
    calls,
    project,
    results_sent,
    say,
    text_of,
)
from tests.process.client import Runtime
from tests.providers.fakes.script import Script
from tests.providers.fakes.server import Request


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path / "project")


def test_A01_a_task_reads_edits_and_reports(runtime: Runtime, root: Path) -> None:
    read = call("read_file", path="app.py")
    edit = call("replace_text", path="app.py", oldText="hello", newText="good day")
    with Model(calls(read, text="I look."), calls(edit), say("Done.")) as model:
        prices = [{"model": "claude", "inputPerMtok": 3, "outputPerMtok": 15}]
        task = Task(runtime, model, "greet politely", prices=prices)
        summary = task.summary()
    assert (root / "app.py").read_text() == "def greet(name):\n    return 'good day ' + name\n"
    assert summary["status"] == "completed"
    assert summary["text"] == "Done."
    assert summary["changedFiles"] == [{"path": "app.py", "added": 1, "removed": 1}]
    assert (summary["iterations"], summary["toolCalls"]) == (3, 2)
    assert summary["error"] is None
    assert summary["usage"]["inputTokens"] == 300
    assert summary["metrics"]["costUsd"] == pytest.approx(300 * 3e-6 + 30 * 15e-6)
    kinds = [event["type"] for event in task.events()]
    assert kinds[:3] == ["started", "model", "iteration"]
    assert kinds[-1] == "done"
    assert kinds.count("usage") == kinds.count("context") == kinds.count("assistantMessage") == 3
    assert [event["path"] for event in task.events("fileChanged")] == ["app.py"]
    finished = task.events("toolFinished")
    assert [(event["tool"], event["ok"]) for event in finished] == [
        ("read_file", True),
        ("replace_text", True),
    ]
    pending = runtime.result("edits/pending")
    assert len(json.dumps(pending)) > 50


def test_A02_a_read_only_mode_offers_and_runs_no_writes(runtime: Runtime, root: Path) -> None:
    write = call("write_file", path="new.py", content="x = 1\n")
    with Model(calls(write), say("I cannot.")) as model:
        task = Task(runtime, model, chatMode="ask", policy={"mode": "auto", "allowAll": True})
        assert task.summary()["status"] == "completed"
        offered = {tool["name"] for tool in model.sent(0)["tools"]}
        refused = results_sent(model.sent(1))
    assert "read_file" in offered
    assert not offered & {"write_file", "run_command", "delete_path"}
    assert "read-only" in text_of(refused[0])
    assert not (root / "new.py").exists()


DECISIONS: list[tuple[list[str], list[bool], list[str]]] = [
    (["allow", "allow"], [True, True], ["user", "user"]),
    (["allowSession", "deny"], [True, True], ["user", "session"]),
    (["deny", "allow"], [False, True], ["user", "user"]),
    (["nonsense", "allow"], [False, True], ["user", "user"]),
]


@pytest.mark.parametrize(("decisions", "written", "by"), DECISIONS)
def test_A03_A5_approvals(
    tmp_path: Path, root: Path, decisions: list[str], written: list[bool], by: list[str]
) -> None:
    first = call("write_file", path="one.txt", content="1\n")
    second = call("write_file", path="two.txt", content="2\n")
    with (
        Runtime(environment={"NO_PROXY": "127.0.0.1"}, answer=answering(*decisions)) as runtime,
        Model(calls(first), calls(second), say("ok")) as model,
    ):
        runtime.initialize(dataDir=str(tmp_path / "data"))
        runtime.result("workspace/open", {"root": str(root)})
        task = Task(runtime, model, policy={"mode": "manual"})
        task.summary()
        resolved = task.events("approvalResolved")
        asked = [request["params"] for request in runtime.requests]
    assert [(root / name).exists() for name in ("one.txt", "two.txt")] == written
    assert [event["by"] for event in resolved] == by
    assert asked[0]["tool"] == "write_file"
    assert asked[0]["permission"] == "write"
    assert "+1" in asked[0]["preview"]


def test_A03_silence_is_a_denial_with_its_own_reason(tmp_path: Path, root: Path) -> None:
    write = call("write_file", path="one.txt", content="1\n")
    with (
        Runtime(environment={"NO_PROXY": "127.0.0.1"}, answer=answering("silence")) as runtime,
        Model(calls(write), say("ok")) as model,
    ):
        runtime.initialize(dataDir=str(tmp_path / "data"))
        runtime.result("workspace/open", {"root": str(root)})
        task = Task(runtime, model, policy={"mode": "manual"}, limits={"approvalTimeoutMs": 200})
        task.summary()
        assert [event["by"] for event in task.events("approvalResolved")] == ["timeout"]
        assert "nobody answered" in text_of(results_sent(model.sent(1))[0])
    assert not (root / "one.txt").exists()


def test_A04_the_user_is_asked_and_the_answer_reaches_the_model(tmp_path: Path, root: Path) -> None:
    question = {"id": "q", "text": "Which?", "kind": "radio", "options": ["red", "blue"]}
    with (
        Runtime(
            environment={"NO_PROXY": "127.0.0.1"},
            answer=lambda message: {"result": {"answers": {"q": ["blue", "red"]}}},
        ) as runtime,
        Model(calls(call("ask_user", questions=[question])), say("blue it is")) as model,
    ):
        runtime.initialize(dataDir=str(tmp_path / "data"))
        runtime.result("workspace/open", {"root": str(root)})
        Task(runtime, model).summary()
        told = json.loads(text_of(results_sent(model.sent(1))[0]))
    assert told == {"answered": True, "answers": [{"question": "Which?", "selected": ["blue"]}]}


def test_A05_a_steered_message_joins_before_the_task_would_end(runtime: Runtime) -> None:
    reached, released = threading.Event(), threading.Event()

    def slow(request: Request) -> Script:
        reached.set()
        assert released.wait(20)
        return say("first answer")

    with Model(slow, say("second answer")) as model:
        task = Task(runtime, model)
        assert reached.wait(20)
        accepted = [
            runtime.result("agent/steer", {"taskId": task.id, "text": f" note {number} "})
            for number in range(11)
        ]
        other = runtime.result("agent/steer", {"taskId": "nobody", "text": "x"})
        empty = runtime.error("agent/steer", {"taskId": task.id, "text": "  "})
        released.set()
        summary = task.summary()
        joined = model.sent(1)["messages"][-1]["content"]
    assert accepted == [True] * 10 + [False]
    assert other is False
    assert empty["code"] == -32602
    assert summary["text"] == "second answer"
    assert [part["text"] for part in joined][:2] == ["note 0", "note 1"]
    assert [event["text"] for event in task.events("steered")][-1] == "note 9"


def test_A06_one_call_is_stopped_and_the_task_goes_on(runtime: Runtime) -> None:
    command = call("run_command", command="echo started; sleep 60")
    with Model(calls(command), say("went on")) as model:
        task = Task(runtime, model)
        task.wait_for("toolOutput", lambda event: "started" in event["text"])
        params = {"taskId": task.id, "callId": command.id}
        assert runtime.result("agent/cancelTool", params) is True
        summary = task.summary()
        told = text_of(results_sent(model.sent(1))[0])
        assert runtime.result("agent/cancelTool", params) is False
    assert summary["status"] == "completed"
    assert told.startswith("Task has been stopped by user. Continue with the next step…")
    assert "started" in told


def test_A07_a_background_command_is_waited_for(runtime: Runtime, root: Path) -> None:
    command = call("run_command", command="sleep 0.3; echo built", background=True)
    with Model(calls(command), say("waiting"), say("it is built")) as model:
        task = Task(runtime, model)
        summary = task.summary()
        told = model.sent(2)["messages"][-1]["content"][0]["text"]
    assert summary["text"] == "it is built"
    assert "built" in told
    finished = task.events("toolFinished")
    assert [event.get("background") for event in finished] == [None, True]
    assert finished[0]["result"]["background"] is True


def test_A08_a_task_is_stored_listed_loaded_continued_and_deleted(
    runtime: Runtime, tmp_path: Path
) -> None:
    with Model(say("one"), say("two")) as model:
        task = Task(runtime, model, "remember me\nplease", taskId="kept")
        task.summary()
        listed = runtime.result("agent/tasks")
        stored = runtime.result("agent/task", {"taskId": "kept"})
        Task(runtime, model, "again", taskId="kept").summary()
        continued = model.sent(1)["messages"]
    assert [(row["taskId"], row["title"], row["status"]) for row in listed] == [
        ("kept", "remember me", "completed")
    ]
    assert stored["summary"]["text"] == "one"
    assert [message["role"] for message in stored["messages"]] == ["user", "assistant"]
    assert [message["role"] for message in continued] == ["user", "assistant", "user"]
    file = tmp_path / "data" / "tasks" / "kept.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert model.kind.key is not None
    assert model.kind.key not in file.read_text()
    assert runtime.result("agent/deleteTask", {"taskId": "kept"}) is True
    assert runtime.result("agent/deleteTask", {"taskId": "kept"}) is False
    assert runtime.error("agent/task", {"taskId": "kept"})["code"] == -32602
    assert runtime.error("agent/task", {"taskId": "../x"})["code"] == -32602


def test_A1_a_model_in_a_circle_is_limited(runtime: Runtime) -> None:
    def again(request: Request) -> Script:
        return calls(call("read_file", path="app.py"))

    with Model(again) as model:
        task = Task(runtime, model)
        summary = task.summary()
    assert summary["status"] == "limited"
    assert summary["toolCalls"] == 6
    assert any("repeats" in event["message"] for event in task.events("warning"))


LIMITS: list[tuple[dict[str, Any], str]] = [
    ({"maxIterations": 2}, "2 iterations"),
    ({"maxToolCalls": 1}, "1 tool calls"),
    ({"maxTokens": 150}, "150 tokens"),
    ({"maxCostUsd": 0.000001}, "cost limit"),
]


@pytest.mark.parametrize(("limits", "words"), LIMITS)
def test_A12_limits_end_a_task(runtime: Runtime, limits: dict[str, Any], words: str) -> None:
    def more(request: Request) -> Script:
        number = len(request.json["messages"])
        return calls(call("list_files", path="."), call("find_files", pattern=f"*{number}"))

    with Model(more) as model:
        prices = [{"model": "claude", "inputPerMtok": 3, "outputPerMtok": 15}]
        task = Task(runtime, model, limits=limits, prices=prices)
        assert task.summary()["status"] == "limited"
    assert any(words in event["message"] for event in task.events("warning"))


def test_A12_a_fallback_takes_over_from_an_endpoint_that_is_down(runtime: Runtime) -> None:
    with Model(say("from the second")) as second:
        first = {
            **second.config(),
            "baseUrl": "http://127.0.0.1:9",
            "model": "claude-3-haiku-20240307",
        }
        task = Task(
            runtime,
            second,
            provider=first,
            fallbacks=[second.config()],
            limits={"maxRetries": 1},
        )
        summary = task.summary()
    assert summary["text"] == "from the second"
    assert [event["attempt"] for event in task.events("retry")] == [1]
    switched = task.events("modelSwitched")
    assert [event["to"] for event in switched] == ["claude-opus-4-6"]
    assert summary["metrics"]["retries"] == 1


def test_A13_mentions_come_from_the_index_only(runtime: Runtime, root: Path) -> None:
    (root / ".gitignore").write_text("secret.txt\n")
    (root / "secret.txt").write_text("the password is swordfish\n")
    runtime.result("workspace/refresh")
    with Model(say("seen")) as model:
        task = Task(
            runtime,
            model,
            editor={
                "activeFile": "app.py",
                "openFiles": ["app.py"],
                "diagnostics": [],
                "mentions": ["notes.txt", "secret.txt"],
            },
        )
        task.summary()
        sent = json.dumps(model.sent(0)["messages"])
    assert "first\\\\nsecond" in sent or "first\\nsecond" in sent
    assert "swordfish" not in sent
    assert any("secret.txt" in event["message"] for event in task.events("warning"))


def test_A06_a_subagent_has_its_own_history_and_its_cost_is_summed(runtime: Runtime) -> None:
    hand_over = call("run_subagent", role="Reviewer", objective="look at app.py")
    with Model(
        calls(hand_over),
        calls(call("read_file", path="app.py")),
        say("it greets"),
        say("the review says it greets"),
    ) as model:
        task = Task(runtime, model)
        summary = task.summary()
        first = json.dumps(model.sent(1)["messages"])
        offered = {tool["name"] for tool in model.sent(1)["tools"]}
    assert "look at app.py" in first
    assert "do it" not in first
    assert "write_file" not in offered
    assert "run_subagent" not in offered
    assert "ask_user" not in offered
    assert summary["metrics"]["subagents"] == 1
    assert summary["metrics"]["subagentTokens"] == 220
    started = task.events("subagentStarted")[0]
    finished = task.events("subagentFinished")[0]
    assert started["role"] == finished["role"] == "review"
    assert finished["status"] == "completed"
    inner = [event["event"]["type"] for event in task.events("subagent")]
    assert inner[0] == "started"
    assert inner[-1] == "done"
    assert started["taskId"] != task.id


def test_L6_cancelling_a_run_withdraws_its_question(tmp_path: Path, root: Path) -> None:
    write = call("write_file", path="one.txt", content="1\n")
    with (
        Runtime(environment={"NO_PROXY": "127.0.0.1"}, answer=answering("silence")) as runtime,
        Model(calls(write), say("never")) as model,
    ):
        runtime.initialize(dataDir=str(tmp_path / "data"))
        runtime.result("workspace/open", {"root": str(root)})
        task = Task(runtime, model, policy={"mode": "manual"})
        task.wait_for("approvalRequested")
        asked = runtime.wait(lambda: runtime.requests, what="the question")[0]
        for _ in range(2):
            runtime.notify("$/cancelRequest", {"id": task.request})
        assert task.error() == {
            "code": -32800,
            "message": task.error()["message"],
            "data": {"kind": "cancelled"},
        }
        withdrawn = runtime.notification("$/cancelRequest")
        runtime.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"decision": "allow"}})
        stored = runtime.result("agent/task", {"taskId": task.id})
        assert len(runtime.replies(task.request)) == 1
    assert withdrawn == {"id": asked["id"]}
    assert not (root / "one.txt").exists()
    assert stored["summary"]["status"] == "cancelled"
    assert stored["messages"][-1]["content"][0]["type"] == "toolResult"


def test_A01_limits_and_prices_of_the_configuration_hold_where_the_request_is_silent(
    tmp_path: Path, root: Path
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        "[limits]\nmaxIterations = 2\nmaxToolCalls = 7\n"
        "[[prices]]\nmodel = 'claude'\ninputPerMtok = 3\noutputPerMtok = 15\n"
    )
    read = call("read_file", path="app.py")
    with Runtime("--config", str(path), environment={"NO_PROXY": "127.0.0.1"}) as process:
        process.initialize()
        process.result("workspace/open", {"root": str(root)})
        with Model(*(calls(read) for _ in range(3))) as model:
            summary = Task(process, model, "look around").summary()
        assert (summary["iterations"], summary["toolCalls"]) == (2, 2)
        assert summary["metrics"]["costUsd"] == pytest.approx(200 * 3e-6 + 20 * 15e-6)
        with Model(*(calls(read) for _ in range(4))) as model:
            prices = [{"model": "claude", "inputPerMtok": 0, "outputPerMtok": 0}]
            asked = {"maxIterations": 3}
            summary = Task(process, model, "look", prices=prices, limits=asked).summary()
        assert summary["iterations"] == 3
        assert summary["metrics"]["costUsd"] == 0
