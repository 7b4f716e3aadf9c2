"""Session logs, leases and stored tasks. Rows P15, X01, X02, X05, X07, X08."""

from __future__ import annotations

import json
import resource
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.process.client import Runtime
from tests.process.conftest import StartProbe


def log_of(data_dir: Path, session: str) -> list[dict[str, Any]]:
    lines = (data_dir / "sessions" / f"{session}.jsonl").read_bytes().splitlines()
    return [json.loads(line) for line in lines]


def shape(entries: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What a log says, without times."""
    wanted = ("item", "kind", "status", "reason")
    return [(entry["type"], *(entry[key] for key in wanted if key in entry)) for entry in entries]


@pytest.mark.parametrize(
    ("how", "reason"),
    [("exit", "exit"), ("eof", "stdinClosed"), ("sigterm", "signal"), ("sigint", "signal")],
)
def test_X01_a_clean_end_writes_its_record_last(
    probe: StartProbe, tmp_path: Path, how: str, reason: str
) -> None:
    runtime = probe("--data-dir", str(tmp_path), "--session", "s1", initialize=False)
    assert runtime.initialize()["session"] == {"id": "s1", "durable": True}
    runtime.result("probe/item", {"item": "a"})
    runtime.result("probe/item", {"item": "a", "kind": "fast"})
    runtime.result("probe/item", {"item": "a", "kind": "fast"})
    runtime.result("probe/item", {"item": "b"})
    match how:
        case "exit":
            runtime.notify("exit")
        case "eof":
            runtime.close_stdin()
        case "sigterm":
            runtime.signal(signal.SIGTERM)
        case "sigint":
            runtime.signal(signal.SIGINT)
    assert runtime.exit_code() == 0
    assert shape(log_of(tmp_path, "s1")) == [
        ("sessionStart",),
        ("itemStart", "a", "command"),
        ("itemEnd", "a", "completed"),
        ("itemStart", "b", "command"),
        ("itemEnd", "b", "interrupted"),
        ("sessionEnd", reason),
    ]


def test_X01_an_oversize_line_ends_the_session_as_end_of_stdin_does(tmp_path: Path) -> None:
    with Runtime() as runtime:
        runtime.initialize(dataDir=str(tmp_path), sessionId="s1")
        runtime.pour(b"x" * (33 << 20))
        assert runtime.exit_code() == 0
    assert shape(log_of(tmp_path, "s1"))[-1] == ("sessionEnd", "stdinClosed")


def test_X01_files_and_folders_are_private(tmp_path: Path) -> None:
    data_dir = tmp_path / "new" / "data"
    with Runtime() as runtime:
        runtime.initialize(dataDir=str(data_dir), sessionId="s1")
        assert runtime.finish() == 0
    for folder in (data_dir.parent, data_dir, data_dir / "sessions"):
        assert folder.stat().st_mode & 0o777 == 0o700
    for path in (data_dir / "sessions").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600


def test_X02_an_end_that_cannot_be_recorded_is_exit_1(tmp_path: Path) -> None:
    """The disk is full, as far as the process can see, when it wants to write its end."""
    with Runtime("--data-dir", str(tmp_path), "--session", "s1") as runtime:
        runtime.initialize()
        size = (tmp_path / "sessions" / "s1.jsonl").stat().st_size
        resource.prlimit(runtime.process.pid, resource.RLIMIT_FSIZE, (size, size))
        runtime.close_stdin()
        assert runtime.exit_code() == 1
        assert "File too large" in runtime.stderr()
    assert shape(log_of(tmp_path, "s1")) == [("sessionStart",)]


def test_X02_an_unhandled_error_is_exit_1_with_its_reason_and_no_end_record(
    probe: StartProbe, tmp_path: Path
) -> None:
    runtime = probe("--data-dir", str(tmp_path), "--session", "s1")
    runtime.result("probe/item", {"item": "a"})
    runtime.start("probe/die", {})
    assert runtime.exit_code() == 1
    assert "Error" in runtime.stderr().splitlines()[-1]
    assert shape(log_of(tmp_path, "s1")) == [("sessionStart",), ("itemStart", "a", "command")]


def test_X05_a_session_in_use_is_exit_4_on_the_command_line(tmp_path: Path) -> None:
    arguments = ("--data-dir", str(tmp_path), "--session", "s1")
    with Runtime(*arguments) as holder:
        holder.initialize()
        lock = json.loads((tmp_path / "sessions" / "s1.lock").read_text())
        assert lock["pid"] == holder.process.pid
        with Runtime(*arguments) as second:
            assert second.exit_code() == 4
            assert f"process {holder.process.pid}" in second.stderr()
        assert holder.finish() == 0
    assert shape(log_of(tmp_path, "s1")) == [("sessionStart",), ("sessionEnd", "exit")]


def test_X05_a_session_in_use_is_an_error_of_initialize_and_the_process_stays(
    tmp_path: Path,
) -> None:
    data_dir = str(tmp_path)
    with Runtime() as holder, Runtime() as second:
        holder.initialize(dataDir=data_dir, sessionId="s1")
        error = second.error(
            "initialize", {"protocolVersion": 1, "dataDir": data_dir, "sessionId": "s1"}
        )
        assert (error["code"], error["data"]) == (-32006, {"kind": "sessionInUse"})
        assert second.initialize(dataDir=data_dir, sessionId="s2")["session"]["id"] == "s2"
        assert second.finish() == 0
        assert holder.finish() == 0


def test_X05_a_lock_left_by_a_dead_process_is_free(tmp_path: Path) -> None:
    arguments = ("--data-dir", str(tmp_path), "--session", "s1")
    with Runtime(*arguments) as runtime:
        runtime.initialize()
        runtime.signal(signal.SIGKILL)
        assert runtime.exit_code() == -signal.SIGKILL
    with Runtime(*arguments) as runtime:
        runtime.initialize()
        assert runtime.finish() == 0


def test_X07_the_next_load_closes_what_a_crash_left_open(probe: StartProbe, tmp_path: Path) -> None:
    arguments = ("--data-dir", str(tmp_path), "--session", "s1")
    runtime = probe(*arguments)
    for item in ("a", "b", "c", "c"):
        runtime.result("probe/item", {"item": item})
    runtime.result("probe/item", {"item": "b", "kind": "fast"})
    runtime.signal(signal.SIGKILL)
    runtime.exit_code()
    assert shape(log_of(tmp_path, "s1"))[-1] == ("itemEnd", "b", "completed")
    with open(tmp_path / "sessions" / "s1.jsonl", "ab") as file:
        file.write(b'{"type":"itemEnd","item":"a","sta')
    again = probe(*arguments)
    assert again.finish() == 0
    assert shape(log_of(tmp_path, "s1")) == [
        ("sessionStart",),
        ("itemStart", "a", "command"),
        ("itemStart", "b", "command"),
        ("itemStart", "c", "command"),
        ("itemStart", "c", "command"),
        ("itemEnd", "b", "completed"),
        ("itemEnd", "a", "interrupted"),
        ("itemEnd", "c", "interrupted"),
        ("itemEnd", "c", "interrupted"),
        ("sessionEnd", "crashInferred"),
        ("sessionStart",),
        ("sessionEnd", "exit"),
    ]


@pytest.mark.parametrize("cut", range(0, 260, 37))
def test_X07_a_log_torn_at_any_byte_is_loaded(tmp_path: Path, cut: int) -> None:
    whole = (
        b'{"type":"sessionStart","version":1,"session":"s1","pid":1,"time":1}\n'
        b'{"type":"itemStart","item":"a","kind":"task","time":1}\n'
        b'{"type":"itemEnd","item":"a","status":"completed","time":1}\n'
        b'{"type":"sessionEnd","reason":"exit","time":1}\n'
    )
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "s1.jsonl").write_bytes(whole[:cut])
    kept = whole[: whole.rfind(b"\n", 0, cut) + 1]
    with Runtime("--data-dir", str(tmp_path), "--session", "s1") as runtime:
        runtime.initialize()
        assert runtime.finish() == 0
    entries = log_of(tmp_path, "s1")
    assert entries[: kept.count(b"\n")] == [json.loads(line) for line in kept.splitlines()]
    assert shape(entries)[-2:] == [("sessionStart",), ("sessionEnd", "exit")]
    starts = [entry["item"] for entry in entries if entry["type"] == "itemStart"]
    ends = [entry["item"] for entry in entries if entry["type"] == "itemEnd"]
    assert starts == ends


def test_X08_without_a_data_dir_nothing_is_written(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": None, "XDG_CONFIG_HOME": None}
    with Runtime(environment=home, cwd=tmp_path) as runtime:
        session = runtime.initialize(sessionId="mine")["session"]
        assert session == {"id": "mine", "durable": False}
        assert runtime.finish() == 0
    assert list(tmp_path.iterdir()) == []


def task(data_dir: Path, name: str, **fields: Any) -> Path:
    path = data_dir / "tasks" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"version": 1, **fields}, separators=(",", ":")))
    return path


def test_P15_tasks_still_running_are_marked_failed_before_the_reply(tmp_path: Path) -> None:
    done = task(tmp_path, "done", status="completed", session="old", taskId="done")
    before = done.read_bytes()
    dead = task(tmp_path, "dead", status="running", session="old", taskId="dead", title="t")
    odd = task(tmp_path, "odd", taskId="odd", status="running")
    torn = tmp_path / "tasks" / "torn.json"
    torn.write_bytes(b'{"version":1,"status":"running","sess')
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "old.jsonl").write_bytes(
        b'{"type":"sessionStart","version":1,"session":"old","pid":1,"time":1}\n'
        b'{"type":"itemStart","item":"dead","kind":"task","time":1}\n'
    )
    with Runtime() as runtime:
        runtime.initialize(dataDir=str(tmp_path))
        for path in (dead, odd):
            record = json.loads(path.read_text())
            assert record["status"] == "failed"
            assert record["error"]["message"]
        assert json.loads(dead.read_text())["title"] == "t"
        assert done.read_bytes() == before
        assert not torn.exists()
        assert (tmp_path / "tasks" / "torn.json.bad").exists()
        assert runtime.finish() == 0
    assert shape(log_of(tmp_path, "old"))[-2:] == [
        ("itemEnd", "dead", "interrupted"),
        ("sessionEnd", "crashInferred"),
    ]


def test_P15_a_task_of_a_live_session_is_left_running(tmp_path: Path) -> None:
    with Runtime() as holder:
        holder.initialize(dataDir=str(tmp_path), sessionId="alive")
        record = task(tmp_path, "t", status="running", session="alive", taskId="t")
        with Runtime() as second:
            second.initialize(dataDir=str(tmp_path))
            assert json.loads(record.read_text())["status"] == "running"
        holder.signal(signal.SIGKILL)
        holder.exit_code()
        with Runtime() as third:
            third.initialize(dataDir=str(tmp_path), sessionId="alive")
            assert json.loads(record.read_text())["status"] == "failed"


def test_P15_both_ways_of_answering_initialize_give_the_same(tmp_path: Path) -> None:
    """A plain `initialize` is answered before the loop is there, others by the loop."""
    results = []
    for extra in ({}, {"clientInfo": {"name": "caf\u00e9"}}):  # json.dumps escapes it with \u
        with Runtime() as runtime:
            task(tmp_path, "t", status="running", session="x", taskId="t")
            result = runtime.initialize(dataDir=str(tmp_path), sessionId="s", **extra)
            assert json.loads((tmp_path / "tasks" / "t.json").read_text())["status"] == "failed"
            results.append(result)
            assert runtime.finish() == 0
    assert results[0] == results[1]
