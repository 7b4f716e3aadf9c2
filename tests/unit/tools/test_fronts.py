"""tools/* and edits/* as handlers, over a workspace that is open but has no index yet."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from taskx.errors import InvalidParams, ToolError
from taskx.fronts.runtime import edits, tools
from taskx.protocol import capabilities
from taskx.protocol.edits import PathsParams, UndoParams
from taskx.protocol.methods import METHODS
from taskx.protocol.tools import ToolsCallParams
from taskx.tools import registry
from taskx.tools.services import ToolServices

Story = Callable[[Any], Awaitable[Any]]


def run(root: Path, data_dir: Path | None, story: Story, confine: bool = True) -> Any:
    async def main() -> Any:
        services = ToolServices(os.environ, data_dir, confine)
        workspace = SimpleNamespace(summary=lambda: SimpleNamespace(root=str(root)), snapshot=None)
        items: list[tuple[str, str]] = []
        session = SimpleNamespace(
            start_item=lambda *row: items.append(row), end_item=lambda *row: items.append(row)
        )
        app = SimpleNamespace(workspace=workspace, tools=services, session=session)
        try:
            return await story(SimpleNamespace(app=app, request_id=1))
        finally:
            await services.close()

    return asyncio.run(main())


async def use(context: Any, name: str, **given: Any) -> Any:
    return await tools.call(context, ToolsCallParams(name=name, input=given))


def test_A09_the_list_is_what_initialize_says(tmp_path: Path) -> None:
    listed = tools.list_tools(None, None)  # type: ignore[arg-type]
    rows = msgspec.to_builtins(listed)["tools"]
    assert [row["name"] for row in rows] == capabilities.TOOLS == list(registry.tools())
    assert {row["class"] for row in rows} == {"read", "write", "execute", "destructive"}
    assert all(set(row) == {"name", "description", "inputSchema", "class"} for row in rows)
    assert {"tools/list", "tools/call", "edits/list", "edits/undo"} <= set(METHODS)


def test_A10_edits_survive_a_restart(tmp_path: Path) -> None:
    root, data = tmp_path / "ws", tmp_path / "data"
    root.mkdir()
    (root / "a").write_bytes(b"1\r\n2\r\n")

    async def first(context: Any) -> Any:
        await use(context, "replace_text", path="a", oldText="2", newText="x")
        await use(context, "write_file", path="b", content="b\n")
        return await use(context, "write_file", path="c", content="c\n")

    async def second(context: Any) -> Any:
        listed = await edits.list_operations(context, None)
        waiting = await edits.pending(context, None)
        kept = await edits.keep(context, PathsParams(paths=[str(root / "c")]))
        undone = await edits.undo(context, UndoParams(operation=listed[1].id))
        reverted = await edits.revert(context, PathsParams())
        return listed, waiting, kept, undone, reverted

    made = run(root, data, first)
    assert msgspec.to_builtins(made.changes) == [
        {"path": "c", "operation": "3", "kind": "create", "added": 1, "removed": 0}
    ]
    listed, waiting, kept, undone, reverted = run(root, data, second)
    assert [(row.id, row.tool, row.status) for row in listed] == [
        ("1", "replace_text", "pending"),
        ("2", "write_file", "pending"),
        ("3", "write_file", "pending"),
    ]
    assert listed[0].files[0].diff == "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\r\n-2\r\n+x\r\n"
    assert [(row.path, row.original, row.current) for row in waiting] == [
        ("a", "1\r\n2\r\n", "1\r\nx\r\n"),
        ("b", None, "b\n"),
        ("c", None, "c\n"),
    ]
    assert kept.kept == ["c"]
    assert (undone.restored, undone.conflicts) == (["b"], [])
    assert (reverted.reverted, reverted.conflicts) == (["a"], [])
    assert {p.name: p.read_bytes() for p in root.iterdir()} == {
        "a": b"1\r\n2\r\n",
        "c": b"c\n",
    }
    assert list((data / "runs").iterdir()) == []


def test_A10_wrong_ids_and_paths(tmp_path: Path) -> None:
    async def story(context: Any) -> None:
        with pytest.raises(ToolError, match="no operation 9"):
            await edits.undo(context, UndoParams(operation="9"))
        with pytest.raises(InvalidParams, match=r"params\.operation"):
            await edits.undo(context, UndoParams(operation="x"))
        with pytest.raises(InvalidParams, match="outside"):
            await edits.keep(context, PathsParams(paths=["../x"]))
        with pytest.raises(ToolError, match="no such file"):
            await use(context, "read_file", path="none")

    run(tmp_path, None, story)


def test_A16_without_a_sandbox_commands_run_plainly(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()

    async def story(context: Any) -> Any:
        assert context.app.tools.sandboxed is False
        return await use(context, "run_command", command=f"echo x > {tmp_path}/outside")

    run(root, None, story, confine=False)
    assert (tmp_path / "outside").read_text() == "x\n"


def test_A07_background_command_of_the_client_ends_with_the_runtime(tmp_path: Path) -> None:
    async def story(context: Any) -> Any:
        started = await use(context, "run_command", command="echo $$; sleep 4323", background=True)
        assert started.data["background"] is True

    run(tmp_path, None, story)
    import subprocess

    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "sleep 4323" not in listed.stdout


def test_folders_of_killed_runtimes_are_removed(tmp_path: Path) -> None:
    old = tmp_path / "data" / "runs" / "run-old"
    (old / "tmp").mkdir(parents=True)
    (old / "lock").touch()
    root = tmp_path / "ws"
    root.mkdir()

    async def story(context: Any) -> Any:
        await use(context, "run_command", command="true")
        return [p.name for p in (tmp_path / "data" / "runs").iterdir()]

    [left] = run(root, tmp_path / "data", story)
    assert left != "run-old"
