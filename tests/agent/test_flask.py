"""One long task in a real project: everything a user does to it, and what is left on disk."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.agent.play import Model, Task, call, calls, results_sent, say, text_of
from tests.parts import flask_environment, source_distribution
from tests.process.client import Message, Runtime

HELPERS, SIGNALS, TESTS = "src/flask/helpers.py", "src/flask/signals.py", "tests/test_helpers.py"
SIGNAL = '\nmessage_read = _signals.signal("message-read")\n'
TEST = "\n\ndef test_message_read_signal():\n    assert flask.signals.message_read.name\n"
OLD_DOC = '    """Create a redirect response object.\n'
NEW_DOC = '    """Create a response that redirects to `location`.\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(shutil.copytree(source_distribution("flask"), tmp_path / "flask"))


def contents(root: Path) -> dict[str, bytes]:
    """Every file but what Python and pytest write beside the sources."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not {"__pycache__", ".pytest_cache"} & set(path.parts)
    }


def deny_deletes(message: Message) -> Message:
    tool = message["params"]["tool"]
    return {"result": {"decision": "deny" if tool == "delete_path" else "allow"}}


def runtime_in(environment: Path) -> Runtime:
    path = f"{environment}{os.pathsep}{os.environ['PATH']}"
    return Runtime(environment={"NO_PROXY": "127.0.0.1", "PATH": path}, answer=deny_deletes)


def test_A01_A05_A06_A10_a_task_in_flask(root: Path, tmp_path: Path) -> None:
    environment = flask_environment()
    before = contents(root)
    data = str(tmp_path / "data")
    find = call("retrieve_context", query="create a redirect response object")
    read = call("read_file", path=SIGNALS)
    edits = [
        call("replace_text", path=HELPERS, oldText=OLD_DOC, newText=NEW_DOC),
        call("write_file", path=SIGNALS, content=before[SIGNALS].decode() + SIGNAL),
        call("write_file", path=TESTS, content=before[TESTS].decode() + TEST),
    ]
    look = call("read_file", path=TESTS)
    tests = call("run_command", command=f"python -m pytest -q -p no:cacheprovider {TESTS}")
    hang = call("run_command", command="echo waiting; sleep 300")
    drop = call("delete_path", path="docs")
    with Model(
        calls(find, read, look),
        calls(*edits),
        calls(hang),
        calls(tests, drop),
        say("A signal was added."),
    ) as model:
        with runtime_in(environment) as runtime:
            runtime.initialize(dataDir=data)
            runtime.result("workspace/open", {"root": str(root)})
            task = Task(runtime, model, "add a signal for messages that are read", taskId="flask")
            task.wait_for("toolOutput", lambda event: "waiting" in event["text"])
            steer = {"taskId": "flask", "text": "then run the tests of the helpers"}
            assert runtime.result("agent/steer", steer) is True
            stop = {"taskId": "flask", "callId": hang.id}
            assert runtime.result("agent/cancelTool", stop) is True
            summary = task.summary(60)
            sent = [model.sent(index) for index in range(model.asked)]
            operations = runtime.result("edits/list")
            undo = {"operation": operations[0]["id"]}
            assert runtime.result("edits/undo", undo)["restored"] == [HELPERS]
            assert "Traceback" not in runtime.stderr()
            runtime.signal(signal.SIGKILL)
            runtime.process.wait(10)
        assert contents(root) == {
            **before,
            SIGNALS: before[SIGNALS] + SIGNAL.encode(),
            TESTS: before[TESTS] + TEST.encode(),
        }
        with runtime_in(environment) as runtime:
            runtime.initialize(dataDir=data)
            listed = runtime.result("agent/tasks")
            runtime.result("workspace/open", {"root": str(root)})
            pending = runtime.result("edits/pending")
            for row in pending:
                for operation in row["operations"]:
                    runtime.result("edits/undo", {"operation": operation})
    assert summary["status"] == "completed"
    assert sorted(file["path"] for file in summary["changedFiles"]) == [HELPERS, SIGNALS, TESTS]
    check_story(task, sent)
    assert [(row["taskId"], row["status"]) for row in listed] == [("flask", "completed")]
    assert sorted(row["path"] for row in pending) == [SIGNALS, TESTS]
    assert contents(root) == before


def check_story(task: Task, sent: list[Any]) -> None:
    """What the model was told of each step."""
    found = results_sent(sent[1])
    assert HELPERS in text_of(found[0])
    stopped = sent[3]["messages"][-1]["content"]
    assert text_of(stopped[0]).startswith("Task has been stopped by user.")
    assert "then run the tests" in stopped[1]["text"]
    ran, denied = results_sent(sent[4])
    assert " passed" in text_of(ran)
    assert "[exit code 0]" in text_of(ran)
    assert "denied" in text_of(denied)
    decisions = [(event["decision"], event["by"]) for event in task.events("approvalResolved")]
    assert decisions == [("deny", "user")]
