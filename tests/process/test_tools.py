"""tools/* and edits/* through the real process: what an editor sees, and what survives a kill."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.process.client import Runtime

Start = Callable[..., Runtime]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    (root / "src").mkdir(parents=True)
    (root / "src/app.py").write_bytes(b"def main():\r\n    return 1\r\n")
    (root / "README.md").write_bytes(b"# Shop\n")
    return root


@pytest.fixture
def start(tmp_path: Path, root: Path) -> Any:
    running: list[Runtime] = []

    def begin(**options: Any) -> Runtime:
        runtime = Runtime().__enter__()
        running.append(runtime)
        runtime.initialize(dataDir=str(tmp_path / "data"), **options)
        runtime.result("workspace/open", {"root": str(root)})
        return runtime

    yield begin
    for runtime in running:
        runtime.__exit__(None, None, None)


def call(runtime: Runtime, name: str, **given: Any) -> Any:
    return runtime.result("tools/call", {"name": name, "input": given})


def refuse(runtime: Runtime, name: str, **given: Any) -> Any:
    error = runtime.error("tools/call", {"name": name, "input": given})
    assert error["code"] == -32005
    assert set(error["data"]) == {"kind", "message"}
    return error["data"]["kind"]


def gone(needle: str, within_s: float = 5) -> bool:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
        if needle not in listed.stdout:
            return True
        time.sleep(0.02)
    return False


def test_A09_tools_list_and_call(start: Start, root: Path) -> None:
    runtime = start()
    listed = runtime.result("tools/list")["tools"]
    assert {row["name"] for row in listed} >= {"read_file", "apply_patch", "run_command"}
    shown = call(runtime, "read_file", path="src/app.py")
    assert shown["content"] == "src/app.py, lines 1-2 of 2\ndef main():\n    return 1\n"
    assert shown["changes"] == []
    changed = call(
        runtime, "replace_text", path="src/app.py", oldText="return 1", newText="return 2"
    )
    assert changed["changes"] == [
        {"path": "src/app.py", "operation": "1", "kind": "modify", "added": 1, "removed": 1}
    ]
    assert (root / "src/app.py").read_bytes() == b"def main():\r\n    return 2\r\n"
    assert call(runtime, "search_text", pattern="return 2")["data"]["matches"] == [
        {"path": "src/app.py", "line": 2, "text": "    return 2"}
    ]
    assert refuse(runtime, "read_file", path="none") == "notFound"
    assert refuse(runtime, "read_file") == "invalidInput"
    assert refuse(runtime, "write_file", path="README.md", content="x") == "stale"
    assert refuse(runtime, "write_file", path="../x", content="x") == "outsideWorkspace"
    assert refuse(runtime, "no_tool") == "notFound"
    error = runtime.error("tools/call", {"input": {}})
    assert error["code"] == -32602
    assert runtime.finish() == 0


def test_A09_without_a_workspace(tmp_path: Path) -> None:
    with Runtime() as runtime:
        runtime.initialize()
        assert runtime.result("tools/list")["tools"]
        error = runtime.error("tools/call", {"name": "read_file", "input": {"path": "x"}})
        assert error["code"] == -32004
        assert runtime.error("edits/list")["code"] == -32004


def test_A10_edits_are_there_after_a_kill(start: Start, root: Path) -> None:
    first = start()
    call(first, "replace_text", path="src/app.py", oldText="1", newText="2")
    call(first, "write_file", path="new.txt", content="new\n")
    first.signal(signal.SIGKILL)
    assert first.exit_code() == -signal.SIGKILL
    second = start()
    assert [(row["path"], row["added"]) for row in second.result("edits/pending")] == [
        ("new.txt", 1),
        ("src/app.py", 1),
    ]
    listed = second.result("edits/list")
    assert [(row["id"], row["status"]) for row in listed] == [("1", "pending"), ("2", "pending")]
    assert second.result("edits/undo", {"operation": "1"}) == {
        "restored": ["src/app.py"],
        "conflicts": [],
    }
    assert second.result("edits/keep", {"paths": ["new.txt"]}) == {"kept": ["new.txt"]}
    assert second.result("edits/revert") == {"reverted": [], "conflicts": []}
    assert (root / "src/app.py").read_bytes() == b"def main():\r\n    return 1\r\n"
    assert (root / "new.txt").read_bytes() == b"new\n"
    error = second.error("edits/undo", {"operation": "99"})
    assert (error["code"], error["data"]["kind"]) == (-32005, "notFound")
    assert second.error("edits/undo", {})["code"] == -32602


def test_E6_two_runtimes_on_one_workspace_and_one_data_dir(start: Start, root: Path) -> None:
    one, two = start(), start()
    call(one, "read_file", path="README.md")
    call(two, "read_file", path="README.md")
    call(one, "write_file", path="README.md", content="one\n")
    assert refuse(two, "write_file", path="README.md", content="two\n") == "stale"
    call(two, "read_file", path="README.md")
    call(two, "write_file", path="README.md", content="two\n")
    assert [row["id"] for row in one.result("edits/list")] == ["1", "2"]
    assert one.result("edits/revert")["reverted"] == ["README.md"]
    assert two.result("edits/pending") == []
    assert (root / "README.md").read_bytes() == b"# Shop\n"


def test_L3_command_whose_grandchild_keeps_the_pipe(start: Start) -> None:
    runtime = start()
    begun = time.monotonic()
    shown = call(runtime, "run_command", command="sleep 300 & echo hi", timeoutMs=2000)
    assert shown["data"]["output"] == "hi\n"
    assert time.monotonic() - begun < 3
    error = runtime.error(
        "tools/call",
        {"name": "run_command", "input": {"command": "echo hi; sleep 4331", "timeoutMs": 300}},
    )
    assert error["data"]["kind"] == "timeout"
    assert "hi" in error["data"]["message"]
    assert gone("sleep 4331")


@pytest.mark.parametrize("how", ["cancel", "eof", "term", "kill"])
def test_P20_L1_L11_commands_end_with_request_and_runtime(start: Start, how: str) -> None:
    runtime = start()
    command = f"touch started-{how}; sleep 4332 & setsid sleep 4332 & wait"
    given = {"name": "run_command", "input": {"command": command}}
    request = runtime.start("tools/call", given)
    root = Path(runtime.result("context/inspect")["root"])
    end = time.monotonic() + 20
    while not (root / f"started-{how}").exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    if how == "cancel":
        runtime.notify("$/cancelRequest", {"id": request})
        assert runtime.reply(request)["error"]["code"] == -32800
    elif how == "eof":
        runtime.close_stdin()
        assert runtime.exit_code() == 0
    else:
        runtime.signal(signal.SIGTERM if how == "term" else signal.SIGKILL)
        assert runtime.exit_code() == (0 if how == "term" else -signal.SIGKILL)
    assert gone("sleep 4332")


def test_A16_S4_sandbox_through_the_process(start: Start, root: Path) -> None:
    subprocess.run(["git", "init", "-q", root], check=True)
    outside = Path.home() / f".task-x-outside-{os.getpid()}"
    runtime = start()
    script = f"echo x > {outside}; echo evil > .git/hooks/pre-commit; git config core.pager evil"
    try:
        shown = call(runtime, "run_command", command=script)
        assert not outside.exists()
    finally:
        outside.unlink(missing_ok=True)
    assert "Read-only file system" in shown["data"]["output"]
    assert not (root / ".git/hooks/pre-commit").exists()
    assert "evil" not in (root / ".git/config").read_text()
    assert refuse(runtime, "write_file", path=".git/hooks/pre-commit", content="x") == "denied"


def test_A16_sandbox_false_switches_it_off(start: Start, tmp_path: Path) -> None:
    runtime = start(sandbox=False)
    call(runtime, "run_command", command=f"echo x > {tmp_path}/outside")
    assert (tmp_path / "outside").read_text() == "x\n"


def test_P02_keys_do_not_reach_commands(root: Path) -> None:
    with Runtime(environment={"ANTHROPIC_API_KEY": "sk-secret", "PLAIN": "shown"}) as runtime:
        runtime.initialize()
        runtime.result("workspace/open", {"root": str(root)})
        shown = call(runtime, "run_command", command="env")["data"]["output"]
        assert "sk-secret" not in shown
        assert "PLAIN=shown" in shown


def test_E11_killed_while_it_edits(start: Start, root: Path) -> None:
    """Random kills of the real process in the middle of edits; the next finds a whole state."""
    rng = random.Random(5)
    for trial in range(8):
        runtime = start()
        before = len(runtime.result("edits/list"))
        for number in range(40):
            runtime.start(
                "tools/call",
                {
                    "name": "apply_patch",
                    "input": {
                        "patch": f"--- /dev/null\n+++ b/{trial}-{number}.txt\n@@ -0,0 +1 @@\n+x\n"
                    },
                },
            )
        time.sleep(rng.random() * 0.2)
        runtime.signal(signal.SIGKILL)
        runtime.exit_code()
        after = start()
        listed = after.result("edits/list")
        assert len(listed) >= before
        pending = {row["path"] for row in after.result("edits/pending")}
        on_disk = {p.name for p in root.glob("*-*.txt")}
        assert pending == on_disk
        assert not list(root.rglob("*.task-x~"))
        after.signal(signal.SIGKILL)
        after.exit_code()
    last = start()
    assert last.result("edits/revert")["conflicts"] == []
    assert not list(root.glob("*-*.txt"))


def test_A09_tools_of_the_index(start: Start, root: Path) -> None:
    (root / "src/util.py").write_text(
        "from src.shapes import Circle\n\n\ndef total_area(shapes: list[Circle]) -> float:\n"
        '    """Area of all shapes."""\n    return sum(shape.area() for shape in shapes)\n'
    )
    (root / "src/shapes.py").write_text(
        "class Circle:\n    def __init__(self, r: float) -> None:\n        self.r = r\n\n"
        "    def area(self) -> float:\n        return 3.14 * self.r**2\n"
    )
    (root / "src/__init__.py").write_text("")
    runtime = start()
    found = call(runtime, "search_symbols", query="total_area")["data"]["symbols"]
    assert (found[0]["path"], found[0]["name"], found[0]["kind"]) == (
        "src/util.py",
        "total_area",
        "function",
    )
    outline = call(runtime, "get_outline", path="src/shapes.py")
    assert outline["content"].split("\n")[0] == "class Circle 1-6"
    assert "  method area 5-6" in outline["content"].split("\n")
    used = call(runtime, "get_dependencies", path="src/shapes.py")["data"]
    assert [entry["path"] for entry in used["usedBy"]] == ["src/util.py"] * len(used["usedBy"])
    assert used["usedBy"]
    excerpts = call(runtime, "retrieve_context", query="how is the area of all shapes computed?")
    assert "total_area" in excerpts["content"]
    assert refuse(runtime, "get_outline", path="none.py") == "notFound"
    assert refuse(runtime, "get_dependencies", path="none.py") == "notFound"
    call(runtime, "replace_text", path="src/util.py", oldText="total_area", newText="sum_of_areas")
    found = call(runtime, "search_symbols", query="sum_of_areas")["data"]["symbols"]
    assert found[0]["name"] == "sum_of_areas"
    assert call(runtime, "find_files", pattern="*.py")["data"]["total"] == 4
    call(runtime, "write_file", path="src/fresh.py", content="fresh = 1\n")
    assert call(runtime, "search_text", pattern="fresh = 1")["data"]["matches"][0]["line"] == 1


def test_A14_checks_that_the_project_declares(start: Start, root: Path) -> None:
    (root / "Makefile").write_text("test:\n\t@echo checked; test -f README.md\n")
    runtime = start()
    listed = call(runtime, "run_check")["data"]["checks"]
    check = next(row for row in listed if row["kind"] == "test")
    result = call(runtime, "run_check", id=check["id"])["data"]
    assert (result["ok"], result["kind"]) == (True, "test")
    assert "checked" in result["output"]
