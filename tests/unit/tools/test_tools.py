"""The tools on a real workspace: what they read, write, run and refuse."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from taskx.edits.log import EditLog
from taskx.errors import ToolError
from taskx.process.launch import Launcher
from taskx.process.sandbox import Sandbox
from taskx.tools import registry
from taskx.tools.context import ToolContext, ToolResult


class Project:
    """summary() as the contract of the open workspace has it; no index."""

    snapshot = None

    def __init__(self, checks: list[dict[str, str]]) -> None:
        self.checks = checks

    def summary(self) -> dict[str, Any]:
        return {"project": {"checks": self.checks}}


@pytest.fixture
def context(tmp_path: Path) -> Iterator[ToolContext]:
    root = tmp_path / "ws"
    root.mkdir()
    launcher = Launcher(os.environ)
    changed: list[str] = []

    async def note(paths: Any) -> None:
        changed.extend(paths)

    sandbox = Sandbox(launcher, root, "bubblewrap", tmp_path / "run", path=os.environ["PATH"])
    made = ToolContext(
        root=root,
        edits=EditLog(root),
        launcher=launcher,
        spill=tmp_path / "spill",
        sandbox=sandbox,
        changed=note,
    )
    yield made
    launcher.close()


def do(context: ToolContext, name: str, call_id: str = "", **given: Any) -> ToolResult:
    return asyncio.run(registry.call(name, given, context, call_id=call_id))


def refuse(context: ToolContext, name: str, **given: Any) -> tuple[str, str]:
    with pytest.raises(ToolError) as caught:
        do(context, name, **given)
    return caught.value.kind, caught.value.message


def fill(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def git(root: Path, *args: str) -> None:
    subprocess.run(
        ["git", "-C", root, "-c", "user.name=n", "-c", "user.email=a@b", *args],
        check=True,
        capture_output=True,
    )


def test_A09_schemas_are_json_schemas_of_objects() -> None:
    tools = registry.tools()
    assert set(tools) >= {
        "read_file", "list_files", "find_files", "search_text", "search_symbols", "get_outline",
        "get_dependencies", "retrieve_context", "get_diagnostics", "git_status", "git_diff",
        "git_log", "write_file", "replace_text", "apply_patch", "create_directory", "move_path",
        "delete_path", "run_command", "run_check",
    }  # fmt: skip
    for tool in tools.values():
        schema = tool.input_schema
        assert json.loads(json.dumps(schema)) == schema
        assert schema["type"] == "object"
        assert "$ref" not in json.dumps(schema)
        assert len(tool.description) > 40
        for required in schema["required"]:
            assert required in schema["properties"]


@pytest.mark.parametrize(
    ("name", "given", "kind", "text"),
    [
        ("read_file", {}, "invalidInput", "path"),
        ("read_file", {"path": 3}, "invalidInput", "path: expected `str`"),
        ("read_file", {"path": "none"}, "notFound", "no such file: none"),
        ("read_file", {"path": "d"}, "invalidInput", "is a folder"),
        ("read_file", {"path": "bin"}, "invalidInput", "binary"),
        ("read_file", {"path": "../x"}, "outsideWorkspace", "outside"),
        ("read_file", {"path": ".env"}, "excluded", "secrets"),
        ("read_file", {"path": "a.txt", "startLine": 9}, "invalidInput", "only 2 lines"),
        ("write_file", {"path": "a.txt", "content": "x"}, "stale", "read it first"),
        ("write_file", {"path": "a.txt"}, "invalidInput", "content"),
        ("write_file", {"path": ".git/hooks/x", "content": ""}, "denied", "git"),
        ("write_file", {"path": "d/.GIT/config", "content": ""}, "denied", "git"),
        ("write_file", {"path": ".env.local", "content": ""}, "excluded", "secrets"),
        ("write_file", {"path": ".task-x/hooks.json", "content": ""}, "excluded", "executed"),
        ("write_file", {"path": "/etc/x", "content": ""}, "outsideWorkspace", "outside"),
        ("write_file", {"path": "d", "content": ""}, "invalidInput", "folder"),
        ("write_file", {"path": "a.txt/x", "content": ""}, "invalidInput", "not a folder"),
        ("replace_text", {"path": "n", "oldText": "a", "newText": "b"}, "notFound", "no such"),
        ("delete_path", {"path": "."}, "invalidInput", "itself"),
        ("move_path", {"from": "d", "to": "d/e"}, "invalidInput", "inside"),
        ("move_path", {"from": "a.txt", "to": "d"}, "invalidInput", "d/a.txt"),
        ("move_path", {"from": "a.txt", "to": "d/b.txt"}, "invalidInput", "exists"),
        ("run_command", {"command": " "}, "invalidInput", "empty"),
        ("run_command", {"command": "true", "cwd": "n"}, "notFound", "no such folder"),
        ("run_command", {"command": "true", "cwd": ".."}, "outsideWorkspace", "outside"),
        ("git_log", {"revision": "--output=x"}, "invalidInput", "not a revision"),
        ("search_text", {"pattern": "(", "regex": True}, "invalidInput", "pattern"),
        ("get_outline", {"path": "a.txt"}, "unavailable", "not ready"),
        ("run_check", {"id": "x"}, "notFound", "no check"),
        ("no_tool", {}, "notFound", "no tool"),
    ],
)
def test_A09_refusals(
    name: str, given: dict[str, Any], kind: str, text: str, context: ToolContext
) -> None:
    fill(
        context.root,
        {"a.txt": "1\n2\n", "d/b.txt": "b", "bin": b"\0\1", ".env": "K=1", ".git/HEAD": "x"},
    )
    before = {p: p.read_bytes() for p in context.root.rglob("*") if p.is_file()}
    got = refuse(context, name, **given)
    assert got[0] == kind
    assert text in got[1]
    assert {p: p.read_bytes() for p in context.root.rglob("*") if p.is_file()} == before
    assert context.edits.operations() == []


def test_read_write_replace_patch_move_delete_and_undo(context: ToolContext) -> None:
    root = context.root
    fill(root, {"a.txt": "1\r\n2\r\n", "b.txt": "x\n"})
    result = do(context, "read_file", path="a.txt")
    assert result.content == "a.txt, lines 1-2 of 2\n1\n2\n"
    assert result.data["lineEnding"] == "crlf"
    result = do(context, "write_file", path="a.txt", content="1\n2\n3")
    assert (root / "a.txt").read_bytes() == b"1\r\n2\r\n3\r\n"
    assert [(c.path, c.kind, c.added, c.removed) for c in result.changes] == [
        ("a.txt", "modify", 1, 0)
    ]
    do(context, "replace_text", path="b.txt", oldText="x", newText="y")
    do(context, "write_file", path="new/c.txt", content="c")
    text = (
        "*** Begin Patch\n*** Update File: b.txt\n-y\n+z\n*** Update File: new/c.txt\n"
        "*** Move to: new/d.txt\n-c\n+d\n*** Add File: e.txt\n+e\n*** End Patch\n"
    )
    result = do(context, "apply_patch", patch=text)
    assert sorted((c.path, c.kind) for c in result.changes) == [
        ("b.txt", "modify"), ("e.txt", "create"), ("new/c.txt", "delete"),
        ("new/d.txt", "create"),
    ]  # fmt: skip
    do(context, "move_path", **{"from": "new", "to": "old/place"})
    assert (root / "old/place/d.txt").read_bytes() == b"d"
    do(context, "create_directory", path="deep/er")
    do(context, "delete_path", path="old")
    assert sorted(p.name for p in root.iterdir()) == ["a.txt", "b.txt", "deep", "e.txt"]
    for operation in reversed(context.edits.operations()):
        assert context.edits.undo(operation.id)[1] == [], operation
    assert {p.name: p.read_bytes() for p in root.rglob("*")} == {
        "a.txt": b"1\r\n2\r\n",
        "b.txt": b"x\n",
    }


def test_E6_changed_since_it_was_read(context: ToolContext) -> None:
    path = context.root / "f"
    path.write_bytes(b"one\n")
    do(context, "read_file", path="f")
    status = path.stat()
    path.write_bytes(b"two\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    for name, given in (
        ("write_file", {"content": "x"}),
        ("replace_text", {"oldText": "two", "newText": "x"}),
    ):
        assert refuse(context, name, path="f", **given)[0] == "stale"
    assert path.read_bytes() == b"two\n"
    do(context, "read_file", path="f")
    do(context, "write_file", path="f", content="three\n")
    do(context, "write_file", path="f", content="four\n")
    assert path.read_bytes() == b"four\n"


def test_E5_edits_go_through_links(context: ToolContext) -> None:
    fill(context.root, {"dir/real": "a\n"})
    os.chmod(context.root / "dir/real", 0o755)
    os.symlink("dir/real", context.root / "link")
    do(context, "replace_text", path="link", oldText="a", newText="b")
    assert os.readlink(context.root / "link") == "dir/real"
    assert (context.root / "dir/real").read_bytes() == b"b\n"
    assert (context.root / "dir/real").stat().st_mode & 0o777 == 0o755
    assert [p.path for p in context.edits.pending()] == ["dir/real"]


def test_S4_write_tools_keep_out_of_hooks(context: ToolContext) -> None:
    git(context.root, "init", "-q")
    git(context.root, "config", "core.hooksPath", ".githooks")
    for path in (".githooks/pre-commit", "vendor/sub/.git/hooks/pre-commit", ".git/config"):
        assert refuse(context, "write_file", path=path, content="x")[0] == "denied"
    patch = "--- /dev/null\n+++ b/.githooks/pre-push\n@@ -0,0 +1 @@\n+x\n"
    assert refuse(context, "apply_patch", patch=patch)[0] == "denied"


def test_secrets_need_the_user(context: ToolContext) -> None:
    fill(context.root, {".env": "K=1\n", ".env.example": "K=\n", "id_rsa": "k", "id_rsa.pub": "k"})
    assert registry.secret_paths("write_file", {"path": ".env", "content": ""}, context) == [".env"]
    patch = "--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-K=1\n+K=2\n"
    assert registry.secret_paths("apply_patch", {"patch": patch}, context) == [".env"]
    assert registry.secret_paths("read_file", {"path": ".env.example"}, context) == []
    do(context, "read_file", path=".env.example")
    do(context, "read_file", path="id_rsa.pub")
    assert refuse(context, "read_file", path="id_rsa")[0] == "excluded"

    async def allowed() -> ToolResult:
        return await registry.call("apply_patch", {"patch": patch}, context, secrets_ok=True)

    asyncio.run(allowed())
    assert (context.root / ".env").read_bytes() == b"K=2\n"
    assert "K" not in do(context, "search_text", pattern="K=2").content


def test_long_results_are_kept_whole_in_a_file(context: ToolContext) -> None:
    lines = "".join(f"line {i}\n" for i in range(30000))
    fill(context.root, {"long.txt": lines})
    result = do(context, "read_file", path="long.txt")
    assert len(result.content.encode()) < 66_000
    assert "go on from line" in result.content
    assert do(context, "read_file", path="long.txt", startLine=29999).data["content"] == (
        "line 29998\nline 29999\n"
    )
    result = do(context, "run_command", call_id="c/1", command="cat long.txt")
    assert len(result.content.encode()) < 67_000
    path = result.content.split("whole result is in ")[1].split(";")[0]
    assert Path(path).read_text() == lines
    assert do(context, "read_file", path=path, startLine=15000, endLine=15000).data["content"] == (
        "line 14999\n"
    )
    assert refuse(context, "read_file", path=str(context.spill.parent / "x"))[0] == (
        "outsideWorkspace"
    )


def test_commands(context: ToolContext) -> None:
    result = do(context, "run_command", command="echo out; echo err >&2; exit 3")
    assert result.data["exitCode"] == 3
    assert set(result.data["output"].split()) == {"out", "err"}
    assert result.content.endswith("[exit code 3]")
    fill(context.root, {"sub/x": ""})
    assert do(context, "run_command", command="ls", cwd="sub").data["output"] == "x\n"
    kind, message = refuse(context, "run_command", command="echo hi; sleep 99", timeoutMs=300)
    assert kind == "timeout"
    assert "hi" in message
    result = do(context, "run_command", command="git init -q . && git config core.pager evil")
    assert any(".git/config was removed" in note for note in result.data["notes"])


def test_A07_background_command_and_partial_output(context: ToolContext) -> None:
    async def main() -> tuple[ToolResult, str, ToolResult]:
        seen = asyncio.Event()
        given = {"command": "echo one; read x < fifo; echo two", "background": True}
        first = await registry.call(
            "run_command", given, context, call_id="7", on_output=lambda *_: seen.set()
        )
        assert first.background is not None
        await asyncio.wait_for(seen.wait(), 10)
        partial = context.partial_output("7")
        fd = os.open(context.root / "fifo", os.O_WRONLY)
        os.write(fd, b"\n")
        os.close(fd)
        return first, partial, await asyncio.wait_for(first.background, 10)

    os.mkfifo(context.root / "fifo")
    first, partial, last = asyncio.run(main())
    assert first.data["background"] is True
    assert partial == "one\n"
    assert last.data["output"] == "one\ntwo\n"
    assert context.partial_output("7") == ""


def test_L8_cancelled_command_ends_and_what_it_did_stays(context: ToolContext) -> None:
    async def main() -> str:
        seen = asyncio.Event()
        given = {"command": "echo half > f; echo half; sleep 4322 & wait"}
        task = asyncio.create_task(
            registry.call(
                "run_command", given, context, call_id="8", on_output=lambda *_: seen.set()
            )
        )
        await asyncio.wait_for(seen.wait(), 10)
        partial = context.partial_output("8")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return partial

    assert asyncio.run(main()) == "half\n"
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "sleep 4322" not in listed.stdout
    assert (context.root / "f").read_text() == "half\n"


def test_A14_checks(context: ToolContext) -> None:
    context.workspace = Project(
        [
            {"id": "t", "kind": "test", "command": "test -e ok", "dir": "", "source": "Makefile"},
            {"id": "u", "kind": "lint", "command": "pwd", "dir": "sub", "source": "x"},
        ]
    )
    (context.root / "sub").mkdir()
    assert do(context, "run_check").content == "t (test): test -e ok\nu (lint): pwd"
    result = do(context, "run_check", id="t")
    assert (result.data["ok"], result.data["kind"], result.data["id"]) == (False, "test", "t")
    (context.root / "ok").touch()
    assert do(context, "run_check", id="t").data["ok"] is True
    assert do(context, "run_check", id="u").data["output"].strip() == str(context.root / "sub")


def test_git_tools_run_nothing_of_the_repository(context: ToolContext) -> None:
    root = context.root
    git(root, "init", "-q", "-b", "main")
    fill(root, {"a.txt": "1\n", "b.bin": "x\n", ".gitattributes": "*.txt filter=f diff=d\n"})
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    evil = f"touch {root}/evil"
    for name, value in {
        "core.fsmonitor": evil, "core.pager": evil, "diff.external": evil,
        "diff.d.command": evil, "diff.d.textconv": evil, "filter.f.clean": evil,
        "filter.f.process": evil, "filter.f.required": "true", "log.showSignature": "true",
        "gpg.program": evil, "core.hooksPath": str(root), "alias.status": f"!{evil}",
    }.items():  # fmt: skip
        git(root, "config", name, value)
    fill(root, {"post-index-change": f"#!/bin/sh\n{evil}\n", "a.txt": "2\n", "new.txt": "n\n"})
    os.chmod(root / "post-index-change", 0o755)
    os.utime(root / "b.bin")
    status = do(context, "git_status").content
    assert " M a.txt" in status
    assert "?? new.txt" in status
    assert "-1\n+2\n" in do(context, "git_diff").content
    assert do(context, "git_diff", paths=["b.bin"]).content == "no difference"
    assert "first" in do(context, "git_log", path="a.txt", patch=True).content
    assert not (root / "evil").exists()


def test_git_tools_without_a_repository(context: ToolContext) -> None:
    assert refuse(context, "git_status")[0] == "unavailable"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ["a.py", "src/b.py", "src/x/c.py"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**", ["src/b.py", "src/d.txt", "src/x/c.py"]),
        ("**/*.{py,txt}", ["a.py", "src/b.py", "src/d.txt", "src/x/c.py"]),
        ("[a-b].py", ["a.py", "src/b.py"]),
        ("[!a].py", ["src/b.py", "src/x/c.py"]),
        ("src/?/c.py", ["src/x/c.py"]),
        ("é+(1)*", ["é+(1).md"]),
        ("nothing", []),
    ],
)
def test_find_files(pattern: str, found: list[str], context: ToolContext) -> None:
    names = ["a.py", "src/b.py", "src/d.txt", "src/x/c.py", "é+(1).md", "ign/z.py"]
    fill(context.root, dict.fromkeys(names, "x") | {".gitignore": "ign/\n"})
    assert do(context, "find_files", pattern=pattern).data["paths"] == found


def test_list_files(context: ToolContext) -> None:
    fill(
        context.root,
        {"a.py": "", "src/b.py": "", "src/x/c.py": "", "node/m": "", ".gitignore": "node\n"},
    )
    assert do(context, "list_files").content == ".gitignore\na.py\nsrc/ (2 files)"
    assert do(context, "list_files", path="src", depth=2).content == "b.py\nx/ (1 files)\nx/c.py"
    assert refuse(context, "list_files", path="none")[0] == "notFound"


def test_diagnostics(context: ToolContext) -> None:
    fill(context.root, {"a.py": "def f(:\n  pass\n", "ok.py": "x = 1\n"})
    context.diagnostics = [{"path": "z.py", "line": 3, "severity": "warning", "message": "m"}]
    assert do(context, "get_diagnostics").content == "z.py:3: warning: m"
    assert do(context, "get_diagnostics", paths=["ok.py"]).data == {"diagnostics": []}
    [first, *_] = do(context, "get_diagnostics", paths=["a.py"]).data["diagnostics"]
    assert (first["path"], first["line"]) == ("a.py", 1)


def test_previews_say_what_would_happen(context: ToolContext) -> None:
    fill(context.root, {"a.txt": "1\n2\n", "d/x": "x", "d/y": "y"})
    check: Callable[..., str] = lambda name, **given: registry.preview(name, given, context)  # noqa: E731
    assert check("write_file", path="a.txt", content="1\nX\n") == (
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n 1\n-2\n+X\n"
    )
    assert "-2\n+X" in check("replace_text", path="a.txt", oldText="2", newText="X")
    assert check("run_command", command="make", cwd="d") == "in d:\nmake"
    assert check("delete_path", path="d") == "delete d with 2 files:\nd/x\nd/y"
    assert "this call will fail" in check("replace_text", path="a.txt", oldText="q", newText="X")
    assert len(check("write_file", path="n", content="x\n" * 50_000)) < 20_100
    assert (context.root / "a.txt").read_text() == "1\n2\n"


def test_numbers_in_quotes_are_numbers(context: ToolContext) -> None:
    fill(context.root, {"a.txt": "1\n2\n"})
    assert do(context, "read_file", path="a.txt", startLine="2").data["content"] == "2\n"
