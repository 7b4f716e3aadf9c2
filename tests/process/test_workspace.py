"""workspace/open, refresh, filesChanged and context/inspect through the real process."""

from __future__ import annotations

import itertools
import os
import socket
import time
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


def make_large(root: Path, n: int = 2000, lines: int = 60) -> None:
    for number in range(n):
        folder = root / f"pack{number % 23:02d}"
        folder.mkdir(parents=True, exist_ok=True)
        body = "".join(
            f"def f_{number}_{k}(first, second):\n    return helper(first + {k}, second)\n"
            for k in range(lines)
        )
        (folder / f"m{number}.py").write_text(body)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("large")
    make_large(root)
    return root


def wait_for_work(runtime: Runtime) -> None:
    runtime.notification("workspace/progress", lambda p: p["phase"] == "indexing" and p["parsed"])


def test_P18_the_loop_answers_while_a_large_tree_is_indexed(runtime: Runtime, large: Path) -> None:
    request = runtime.start("workspace/open", {"root": str(large)})
    times = []
    while not runtime.replies(request):
        start = time.perf_counter()
        reply = runtime.request("context/inspect")
        times.append(time.perf_counter() - start)
        if "result" in reply:
            break  # the open has ended meanwhile
        assert reply["error"]["code"] == -32004
        runtime.request("no/such/method")
        if len(times) > 5000:
            break
    assert runtime.reply(request, 60)["result"]["stats"]["files"] == 2000
    times.sort()
    assert len(times) > 20
    # 50 ms is promised; the machine that runs the tests may be busy with others.
    assert times[int(len(times) * 0.95)] < 0.05, times[-10:]


def test_W01_an_open_can_be_cancelled_at_once(runtime: Runtime, tree: Path, large: Path) -> None:
    request = runtime.start("workspace/open", {"root": str(large)})
    wait_for_work(runtime)
    start = time.perf_counter()
    runtime.notify("$/cancelRequest", {"id": request})
    error = runtime.reply(request)["error"]
    assert time.perf_counter() - start < 1
    assert (error["code"], error["data"]["kind"]) == (-32800, "cancelled")
    assert runtime.request("context/inspect")["error"]["code"] == -32004
    assert opened(runtime, tree)["stats"]["files"] == 5


def test_W01_a_second_open_replaces_the_first(runtime: Runtime, tree: Path, large: Path) -> None:
    first = runtime.start("workspace/open", {"root": str(large)})
    wait_for_work(runtime)
    assert opened(runtime, tree)["stats"]["files"] == 5
    assert runtime.reply(first)["error"]["code"] == -32800
    assert runtime.request("context/inspect")["result"]["root"] == str(tree)


def test_W04_changes_during_an_open_are_applied_at_its_end(runtime: Runtime, large: Path) -> None:
    path = large / "pack00" / "m0.py"
    before = path.read_text()
    request = runtime.start("workspace/open", {"root": str(large)})
    wait_for_work(runtime)
    path.write_text("def only(): pass\n")
    runtime.notify("workspace/filesChanged", {"paths": [str(path)]})
    try:
        runtime.reply(request, 60)
        symbols = runtime.result("workspace/outline", {"path": "pack00/m0.py"})["symbols"]
        assert [symbol["name"] for symbol in symbols] == ["only"]
    finally:
        path.write_text(before)


def test_I1_special_files_neither_block_nor_count(runtime: Runtime, tree: Path) -> None:
    os.mkfifo(tree / "pipe.py")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tree / "sock.py"))
        (tree / "loop").symlink_to(".")
        (tree / "out").symlink_to("/")
        (tree / "huge.json").write_bytes(b"[1,\n" * 2_000_000)
        (tree / "bundle.js").write_bytes(b"var a=1;" * 600_000)
        (tree / "zero.bin").write_bytes(bytes(5000))
        (tree / "wide.py").write_bytes("def breit(): pass\n".encode("utf-16"))
        Path(os.fsdecode(os.fsencode(tree) + b"/\xff\xfe\n.py")).write_text("def odd(): pass\n")
        stats = opened(runtime, tree)["stats"]
    assert stats["files"] == 10
    assert stats["skipped"] == {"binary": 1, "tooLarge": 2, "unreadable": 0, "minified": 0}
    found = runtime.result("workspace/symbols", {"query": "breit"})["symbols"]
    assert [symbol["path"] for symbol in found][:1] == ["wide.py"]
