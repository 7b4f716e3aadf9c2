"""`taskx run`: in a pipe, at a terminal, as JSON, and interrupted."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.agent.play import Model, call, calls, project, results_sent, say, text_of

COMMAND = (sys.executable, "-c", "from taskx.cli import taskx; taskx()", "run")
EDITED = "def greet(name):\n    return 'good day ' + name\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path / "project")


def environment(model: Model) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "TASK_X" not in name}
    return {
        **kept,
        "NO_PROXY": "127.0.0.1",
        "TASK_X_CACHE": "off",
        "XDG_CONFIG_HOME": os.devnull,
        "MY_KEY": model.kind.key or "",
    }


def arguments(model: Model, root: Path, *more: str) -> list[str]:
    return [
        *COMMAND, "greet politely", "--root", str(root), "--provider", "anthropic",
        "--base-url", model.server.origin, "--model", model.kind.model,
        "--api-key-env", "MY_KEY", *more,
    ]  # fmt: skip


def run(model: Model, root: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments(model, root, *more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(model),
        check=False,
    )


class Terminal:
    """The command with its standard input and stderr at a pseudo-terminal."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process = process
        self.shown = ""
        self._master = master

    def see(self, text: str) -> None:
        """Waits until the terminal shows `text` after what was seen before."""
        deadline = time.monotonic() + 30
        while text not in self.shown:
            left = deadline - time.monotonic()
            assert left > 0, f"not shown: {text!r}\n{self.shown}"
            if select.select([self._master], [], [], left)[0]:
                self.shown += os.read(self._master, 65536).decode("utf-8", "replace")
        self.shown = self.shown.partition(text)[2]

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())


@contextmanager
def at_terminal(model: Model, root: Path, *more: str) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        arguments(model, root, *more),
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=slave,
        env=environment(model),
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Terminal(process, master)
    finally:
        process.kill()
        process.communicate(timeout=10)
        os.close(master)


def test_A01_in_a_pipe_the_answer_is_on_stdout_and_the_rest_beside_it(root: Path) -> None:
    edit = call("replace_text", path="app.py", oldText="hello", newText="good day")
    missing = call("read_file", path="nothing.py")
    with Model(calls(edit, missing, text="I edit."), say("Done.")) as model:
        done = run(model, root, "--policy", "acceptEdits")
    assert (done.returncode, done.stdout) == (0, "I edit.\nDone.\n"), done.stderr
    assert (root / "app.py").read_text() == EDITED
    rows = done.stderr.splitlines()
    assert "* replace_text app.py" in rows
    assert "  +    return 'good day ' + name" in rows
    assert "  -    return 'hello ' + name" in rows
    assert any(row.startswith("  notFound: ") for row in rows)
    assert rows[-1].startswith("completed; ")
    assert "app.py" in rows[-1]


def test_A03_in_a_pipe_nobody_approves(root: Path) -> None:
    edit = call("replace_text", path="app.py", oldText="hello", newText="good day")
    with Model(calls(edit), say("I may not.")) as model:
        done = run(model, root)
    assert (done.returncode, done.stdout) == (0, "I may not.\n"), done.stderr
    assert "needs approval" in done.stderr
    assert "hello" in (root / "app.py").read_text()


def test_A01_json_is_the_raw_events_and_the_summary(root: Path) -> None:
    with Model(calls(call("read_file", path="app.py")), say("It greets.")) as model:
        done = run(model, root, "--json", "--mode", "ask")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, "")
    assert [row["event"]["type"] for row in rows[:2]] == ["started", "model"]
    assert rows[-2]["event"] == {"type": "done", "status": "completed"}
    assert rows[-1]["summary"]["text"] == "It greets."
    assert {row["taskId"] for row in rows} == {rows[-1]["summary"]["taskId"]}


def test_A03_A04_a_person_approves_denies_and_answers(root: Path) -> None:
    first = call("write_file", path="one.txt", content="1\n")
    second = call("write_file", path="two.txt", content="2\n")
    question = {"id": "q", "text": "Which?", "kind": "radio", "options": ["red", "blue"]}
    ask = call("ask_user", questions=[question])
    with (
        Model(calls(first), calls(second), calls(ask), say("Done.")) as model,
        at_terminal(model, root) as terminal,
    ):
        terminal.see("allow write_file?")
        terminal.type("y\n")
        terminal.see("allow write_file?")
        terminal.type("n\n")
        terminal.see("2. blue")
        terminal.see("a number")
        terminal.type("2\n")
        terminal.see("completed")
        assert terminal.process.wait(30) == 0
        told = json.loads(text_of(results_sent(model.sent(3))[0]))
    assert (root / "one.txt").read_text() == "1\n"
    assert not (root / "two.txt").exists()
    assert [answer["selected"] for answer in told["answers"]] == [["blue"]]


@pytest.mark.parametrize("moment", ["a command runs", "an approval is open"])
def test_A01_interrupted_it_ends_cleanly(root: Path, tmp_path: Path, moment: str) -> None:
    command = call("run_command", command="echo begun; sleep 300")
    data = tmp_path / "data"
    policy = "auto" if moment == "a command runs" else "manual"
    with (
        Model(calls(command)) as model,
        at_terminal(model, root, "--policy", policy, "--data-dir", str(data)) as terminal,
    ):
        terminal.see("begun\r\n" if policy == "auto" else "allow run_command?")
        terminal.process.send_signal(signal.SIGINT)
        terminal.see("cancelled")
        assert terminal.process.wait(15) == 130
    records = [json.loads(file.read_text()) for file in (data / "tasks").glob("*.json")]
    assert [record["status"] for record in records] == ["cancelled"]
    assert records[0]["messages"][-1]["content"][0]["type"] == "toolResult"


WRONG = [
    (("--max-iterations", "0"), 2, "maxIterations"),
    (("--task", "../x"), 2, "taskId"),
    (("--root", "/nowhere/at/all"), 2, "is not a folder"),
]


@pytest.mark.parametrize(("more", "code", "words"), WRONG)
def test_A01_wrong_arguments_are_named(
    root: Path, more: tuple[str, ...], code: int, words: str
) -> None:
    with Model(say("never")) as model:
        done = run(model, root, *more)
        assert model.asked == 0
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr
