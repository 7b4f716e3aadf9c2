"""workspace/open, refresh, filesChanged and context/inspect through the real process."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process.client import Message, Runtime

FILES = {
    "app/main.py": "from app.tools import helper\n\ndef main():\n    helper()\n",
    "app/tools.py": "def helper():\n    pass\n",
    "web/index.ts": "export function render(): void {}\n",
    "README.md": "# Sample\n",
    ".gitignore": "build/\n*.log\n",
    "build/out.py": "def generated(): pass\n",
    "noise.log": "def logged(): pass\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Runtime]:
    with Runtime(environment={"TASK_X_CACHE": None, "XDG_CACHE_HOME": str(tmp_path / "c")}) as run:
        run.initialize()
        yield run


def opened(runtime: Runtime, root: Path, **params: object) -> Message:
    result: Message = runtime.result("workspace/open", {"root": str(root), **params})
    return result


def test_W01_open_gives_a_summary(runtime: Runtime, tree: Path) -> None:
    summary = opened(runtime, tree, userInstructions="ignored", userPromptsDir="/nowhere")
    assert summary["root"] == str(tree)
    assert set(summary) == {"root", "project", "stats", "instructions", "excludes"}
    stats = summary["stats"]
    assert stats["files"] == stats["parsed"] == 5
    assert stats["languages"]["python"] == 2
    assert stats["symbols"] >= 3
    assert stats["skipped"] == {"binary": 0, "tooLarge": 0, "unreadable": 0, "minified": 0}
    assert stats["fromCache"] is False


def test_W01_exclude_leaves_files_out(runtime: Runtime, tree: Path) -> None:
    summary = opened(runtime, tree, exclude=["web/", "*.md"])
    assert summary["stats"]["files"] == 3
    assert summary["excludes"] == ["web/", "*.md"]


@pytest.mark.parametrize(
    ("root", "why"),
    [
        ("relative/path", "absolute"),
        ("/no/such/folder/anywhere", "does not exist"),
        (__file__, "not a folder"),
        ("/with\0zero", "absolute"),
    ],
)
def test_W01_a_root_that_cannot_be_opened_is_refused(
    runtime: Runtime, tree: Path, root: str, why: str
) -> None:
    opened(runtime, tree)
    error = runtime.request("workspace/open", {"root": root})["error"]
    assert error["code"] == -32602
    assert "root" in error["message"]
    assert why in error["message"]
    # What was open stays open.
    assert runtime.request("context/inspect")["result"]["root"] == str(tree)


def test_W02_progress_ends_with_ready(runtime: Runtime, tree: Path) -> None:
    summary = opened(runtime, tree)
    events = runtime.notifications("workspace/progress")
    phases = [event["phase"] for event in events]
    assert phases[0] == "indexing"
    assert phases[-2:] == ["graph", "ready"]
    assert set(events[0]) == {"phase", "files", "parsed", "elapsedMs"}
    assert set(events[-2]) == {"phase", "files", "elapsedMs"}
    assert events[-1]["stats"] == summary["stats"]
    times = [event["elapsedMs"] for event in events if event["phase"] == "indexing"]
    assert all(b - a >= 140 for a, b in itertools.pairwise(times))


def test_W03_refresh_parses_only_what_changed(runtime: Runtime, tree: Path) -> None:
    opened(runtime, tree)
    stats = runtime.request("workspace/refresh")["result"]["stats"]
    assert stats["parsed"] == 0
    (tree / "app/new.py").write_text("class New: pass\n")
    (tree / "web/index.ts").write_text("export function other(a: number): void {}\n")
    (tree / "README.md").unlink()
    stats = runtime.request("workspace/refresh")["result"]["stats"]
    assert (stats["files"], stats["parsed"]) == (5, 2)


def test_W04_files_changed_updates_only_these_paths(runtime: Runtime, tree: Path) -> None:
    symbols = opened(runtime, tree)["stats"]["symbols"]
    (tree / "app/tools.py").write_text("def helper():\n    pass\ndef more():\n    pass\n")
    (tree / "web/index.ts").write_text("")
    runtime.notify("workspace/filesChanged", {"paths": ["app/tools.py"]})
    event = runtime.notification("workspace/progress", lambda p: p["phase"] == "updated")
    assert event["stats"]["parsed"] == 1
    assert event["stats"]["symbols"] == symbols + 1


def test_W04_deleted_files_and_folders_leave(runtime: Runtime, tree: Path) -> None:
    opened(runtime, tree)
    for path in sorted((tree / "app").iterdir()):
        path.unlink()
    (tree / "app").rmdir()
    (tree / "README.md").unlink()
    runtime.notify(
        "workspace/filesChanged", {"paths": [str(tree / "app"), "README.md", "/etc/passwd"]}
    )
    event = runtime.notification("workspace/progress", lambda p: p["phase"] == "updated")
    assert event["stats"]["files"] == 2
    assert runtime.request("context/inspect")["result"]["stats"]["files"] == 2


def test_W04_an_ignore_file_changes_the_folder_it_governs(runtime: Runtime, tree: Path) -> None:
    opened(runtime, tree)
    (tree / ".gitignore").write_text("web/\n")
    runtime.notify("workspace/filesChanged", {"paths": [".gitignore"]})
    event = runtime.notification("workspace/progress", lambda p: p["phase"] == "updated")
    # build/out.py and noise.log come, web/index.ts goes.
    assert event["stats"]["files"] == 6


def test_W04_equal_size_and_mtime_is_still_a_change(runtime: Runtime, tree: Path) -> None:
    opened(runtime, tree)
    path = tree / "app/tools.py"
    status = path.stat()
    path.write_text(path.read_text().replace("def helper", "sin helper"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    runtime.notify("workspace/filesChanged", {"paths": ["app/tools.py"]})
    event = runtime.notification("workspace/progress", lambda p: p["phase"] == "updated")
    assert event["stats"]["parsed"] == 1


def test_W05_inspect_without_a_workspace(runtime: Runtime) -> None:
    assert runtime.request("context/inspect")["error"]["code"] == -32004
    assert runtime.request("workspace/refresh")["error"]["code"] == -32004


def test_W05_inspect_gives_the_summary(runtime: Runtime, tree: Path) -> None:
    summary = opened(runtime, tree)
    assert runtime.request("context/inspect")["result"] == summary


def test_W13_ignored_files_are_not_indexed(runtime: Runtime, tree: Path) -> None:
    stats = opened(runtime, tree)["stats"]
    assert stats["files"] == 5
    runtime.notify("workspace/filesChanged", {"paths": ["build/out.py", "noise.log", "README.md"]})
    event = runtime.notification("workspace/progress", lambda p: p["phase"] == "updated")
    assert event["stats"]["files"] == 5
    assert event["stats"]["parsed"] == 1


def test_W01_a_second_process_opens_from_the_cache(tmp_path: Path, tree: Path) -> None:
    environment = {"TASK_X_CACHE": None, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for expected in ((5, False), (0, True)):
        with Runtime(environment=environment) as runtime:
            runtime.initialize()
            stats = opened(runtime, tree)["stats"]
            assert (stats["parsed"], stats["fromCache"]) == expected
            assert stats["files"] == 5
            assert runtime.finish() == 0
    modes = {p.stat().st_mode & 0o777 for p in (tmp_path / "cache").rglob("*") if p.is_file()}
    assert modes == {0o600}
