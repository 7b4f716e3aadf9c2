"""Commands through real processes: what they print, when they end, what they leave behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from taskx.errors import ToolError
from taskx.process import watchdog
from taskx.process.command import Outcome, start
from taskx.process.environment import MARK, is_secret, scrubbed
from taskx.process.launch import Launcher
from taskx.process.output import Capture, Deltas


def run(script: str, timeout_s: float = 20, loops: str = "asyncio", **options: object) -> Outcome:
    async def main() -> Outcome:
        launcher = Launcher(os.environ)
        try:
            command = start(
                launcher,
                ["sh", "-c", script],
                cwd="/",
                env=launcher.environment(),
                timeout_s=timeout_s,
                **options,  # type: ignore[arg-type]
            )
            return await command.wait()
        finally:
            launcher.close()

    if loops == "uvloop":
        import uvloop

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(main())
    return asyncio.run(main())


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def gone(pids: list[int], within_s: float = 5) -> bool:
    end = time.monotonic() + within_s
    while any(alive(pid) for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("loops", ["asyncio", "uvloop"])
@pytest.mark.parametrize(
    ("script", "code", "text"),
    [
        ("echo hi; echo no >&2; exit 3", 3, {"hi", "no"}),
        ("true", 0, set()),
        (r"printf '\355\240\275x\377'", 0, {"\ufffd\ufffd\ufffdx\ufffd"}),
        ("cat", 0, set()),
    ],
)
def test_command_gives_code_and_output(script: str, code: int, text: set[str], loops: str) -> None:
    outcome = run(script, loops=loops)
    assert (outcome.exit_code, set(outcome.capture.text().split("\n")) - {""}) == (code, text)
    assert not any((outcome.timed_out, outcome.stopped, outcome.left_behind))


@pytest.mark.parametrize("loops", ["asyncio", "uvloop"])
def test_L3_grandchild_that_keeps_the_pipe_does_not_hold_the_command(loops: str) -> None:
    begun = time.monotonic()
    outcome = run("sleep 300 & echo hi", timeout_s=2, loops=loops)
    assert outcome.capture.text() == "hi\n"
    assert (outcome.exit_code, outcome.left_behind) == (0, True)
    assert time.monotonic() - begun < 3


def test_L3_timeout_holds_when_everything_ignores_sigterm() -> None:
    begun = time.monotonic()
    outcome = run("trap '' TERM; (trap '' TERM; sleep 300) & echo hi; sleep 300", timeout_s=0.5)
    assert outcome.timed_out
    assert outcome.signal == "SIGKILL"
    assert outcome.capture.text() == "hi\n"
    assert time.monotonic() - begun < 3


def test_L3_descendant_in_its_own_session_is_ended_too() -> None:
    outcome = run("setsid sh -c 'echo $$; sleep 300' & sleep 0.2; wait", timeout_s=0.6)
    assert outcome.timed_out
    assert gone([int(outcome.capture.text().split()[0])])


def test_cancelled_waiter_ends_the_tree() -> None:
    async def main() -> int:
        launcher = Launcher(os.environ)
        seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        command = start(
            launcher,
            ["sh", "-c", "sleep 300 & echo $!; wait"],
            cwd="/",
            env=launcher.environment(),
            on_output=lambda _, text: seen.done() or seen.set_result(int(text)),
        )
        waiter = asyncio.create_task(command.wait())
        pid = await asyncio.wait_for(seen, 10)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
        launcher.close()
        return pid

    assert gone([asyncio.run(main())])


def test_endless_output_stays_bounded(tmp_path: Path) -> None:
    pieces: list[str] = []
    capture = Capture(tmp_path / "out" / "1.txt")
    outcome = run(
        "yes 0123456789",
        timeout_s=1,
        capture=capture,
        on_output=lambda _, text: pieces.append(text),
    )
    assert outcome.timed_out
    assert capture.total_bytes > 8_000_000
    assert len(outcome.capture.text()) < 66_000
    assert "bytes left out" in outcome.capture.text()
    assert sum(map(len, pieces)) < 40 * 9000
    assert capture.file is not None
    assert capture.file.stat().st_size == min(capture.total_bytes, 64 * 1024 * 1024)
    assert capture.file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 30, 31, 32, 33, 100])
@pytest.mark.parametrize("step", [1, 3, 1000])
def test_capture_keeps_head_and_tail(size: int, step: int, tmp_path: Path) -> None:
    data = bytes(ord("a") + i % 26 for i in range(size))
    capture = Capture(tmp_path / "f", head_bytes=16, tail_bytes=16)
    for i in range(0, size, step):
        capture.feed(data[i : i + step])
    capture.close()
    if size <= 32:
        assert capture.text() == data.decode()
        assert capture.file is None
    else:
        note = f"\n[… {size - 32} bytes left out …]\n"
        assert capture.text() == data[:16].decode() + note + data[-16:].decode()
        assert capture.file is not None
        assert capture.file.read_bytes() == data


def test_F7_capture_cuts_between_characters() -> None:
    data = "é€😀".encode() * 40
    for head in range(8, 17):
        capture = Capture(head_bytes=head, tail_bytes=head + 3)
        capture.feed(data)
        assert "\ufffd" not in capture.text()


def test_deltas_never_split_a_character() -> None:
    data = "aé€😀z".encode()
    for step in (1, 2, 3):
        deltas, text = Deltas(), ""
        for i in range(0, len(data), step):
            deltas.feed(data[i : i + step])
            text += deltas.take()
        assert text + deltas.take(last=True) == "aé€😀z"


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("ANTHROPIC_API_KEY", "x", True),
        ("MY_SERVICE_TOKEN", "x", True),
        ("DB_PASSWORD", "x", True),
        ("SSH_AUTH_SOCK", "/x", True),
        ("TASK_X_APPROVAL", "x", True),
        ("AWS_PROFILE", "x", True),
        ("DATABASE_URL", "postgres://u:p@h/db", True),
        ("DATABASE_URL", "postgres://h/db", False),
        ("KEYBOARD", "us", False),
        ("PATH", "/bin", False),
        ("TOKENIZERS_PARALLELISM", "1", False),
        ("AUTHOR", "me", False),
    ],
)
def test_keys_do_not_reach_commands(name: str, value: str, secret: bool) -> None:
    assert is_secret(name, value) is secret
    assert (name in scrubbed({name: value})) is not secret


def test_missing_program_and_folder_are_named() -> None:
    launcher = Launcher(os.environ)
    for argv, cwd, text in (
        (["/no/such"], "/", "no such program: /no/such"),
        (["true"], "/no/where", "no such folder: /no/where"),
    ):
        with pytest.raises(ToolError) as caught:
            launcher.start(argv, cwd=cwd, env=launcher.environment())
        assert caught.value.data() == {"kind": "notFound", "message": text}
    launcher.close()


HOST = textwrap.dedent(
    """
    import os, sys, subprocess
    from taskx.process.launch import Launcher
    launcher = Launcher(os.environ)
    child = launcher.start(
        ["sh", "-c", "sleep 301 & setsid sleep 302 & sleep 0.1; ps -o pid= --ppid $$; wait"],
        cwd="/", env=launcher.environment(), stdout=subprocess.PIPE)
    print(child.pid, *[child.stdout.readline().decode().strip() for _ in range(2)], flush=True)
    line = sys.stdin.readline()
    if line == "close\\n":
        launcher.close()
        child.wait()
    """
)


@pytest.mark.parametrize("how", ["close", "eof", "term", "kill"])
def test_L1_whole_tree_is_gone_however_the_runtime_ends(how: str) -> None:
    host = subprocess.Popen(
        [sys.executable, "-c", HOST], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert host.stdin is not None
    assert host.stdout is not None
    with host:
        pids = [int(pid) for pid in host.stdout.readline().split()]
        assert len(pids) == 3
        assert all(map(alive, pids))
        if how == "close":
            host.stdin.write("close\n")
            host.stdin.flush()
        elif how == "eof":
            host.stdin.close()
        else:
            host.send_signal(signal.SIGTERM if how == "term" else signal.SIGKILL)
        host.wait(10)
    assert gone(pids)


def test_watchdog_finds_only_its_own_mark() -> None:
    child = subprocess.Popen(["sleep", "300"], env={MARK: "abc.1."})
    assert watchdog.end_marked(f"{MARK}=abc.2.".encode()) == 0
    assert child.poll() is None
    assert watchdog.end_marked(f"{MARK}=abc.1.".encode()) >= 1
    assert child.wait(5) == -signal.SIGKILL
