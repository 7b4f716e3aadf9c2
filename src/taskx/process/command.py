"""A command in the foreground or background: its output, its time limit, its whole tree's end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from taskx.process.launch import GRACE_S, Launcher, exited
from taskx.process.output import Capture, Deltas

# After the command itself has ended, its pipes get this long to run dry. Who still holds them
# then is a process left behind, and is ended.
DRAIN_S = 0.25
DELTA_S = 0.1
READ_BYTES = 64 * 1024
# Beyond this much output a command is read at no more than READ_BYTES per PAUSE_S, so that one
# that prints for ever leaves the event loop its time.
FREE_BYTES = 8 * 1024 * 1024
PAUSE_S = 0.002

OnOutput = Callable[[str, str], None]


@dataclass(frozen=True)
class Outcome:
    """exit_code: None when a signal ended it. left_behind: processes that it left were ended."""

    exit_code: int | None
    signal: str | None
    timed_out: bool
    stopped: bool
    left_behind: bool
    duration_ms: int
    capture: Capture


class Command:
    """A command that runs. `wait` must be awaited to its end, or `stop` called."""

    def __init__(
        self,
        launcher: Launcher,
        child: subprocess.Popen[bytes],
        capture: Capture,
        timeout_s: float | None,
        on_output: OnOutput | None,
    ) -> None:
        self._launcher = launcher
        self._child = child
        self._capture = capture
        self._on_output = on_output
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._open: dict[int, tuple[IO[bytes], str]] = {}
        self._deltas = {"stdout": Deltas(), "stderr": Deltas()}
        self._dry = asyncio.Event()
        self._stop = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = False
        for pipe, name in ((child.stdout, "stdout"), (child.stderr, "stderr")):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                self._open[pipe.fileno()] = (pipe, name)
                self._loop.add_reader(pipe.fileno(), self._read, pipe.fileno())
        if not self._open:
            self._dry.set()
        self._task = asyncio.create_task(self._run(timeout_s))

    async def wait(self) -> Outcome:
        """The outcome. When the waiter is cancelled, the command is ended first."""
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            self.stop()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.shield(self._task)
            raise

    def stop(self) -> None:
        """Ends the command's tree; `wait` then returns soon, with `stopped` set."""
        self._stopped = True
        self._stop.set()

    @property
    def done(self) -> bool:
        return self._task.done()

    @property
    def capture(self) -> Capture:
        return self._capture

    def _read(self, fd: int) -> None:
        try:
            data = os.read(fd, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        pipe, name = self._open[fd]
        if not data:
            self._loop.remove_reader(fd)
            del self._open[fd]
            pipe.close()
            if not self._open:
                self._dry.set()
            return
        self._capture.feed(data)
        if self._on_output is not None:
            self._deltas[name].feed(data)
            if self._timer is None:
                self._timer = self._loop.call_later(DELTA_S, self._flush)
        if self._capture.total_bytes > FREE_BYTES:
            self._loop.remove_reader(fd)
            self._loop.call_later(PAUSE_S, self._resume, fd)

    def _resume(self, fd: int) -> None:
        if fd in self._open:
            self._loop.add_reader(fd, self._read, fd)

    def _flush(self, last: bool = False) -> None:
        self._timer = None
        if self._on_output is None:
            return
        for name, deltas in self._deltas.items():
            text = deltas.take(last)
            if text:
                self._on_output(name, text)

    async def _run(self, timeout_s: float | None) -> Outcome:
        timed_out = left_behind = False
        try:
            ended = asyncio.ensure_future(exited(self._child))
            stop = asyncio.ensure_future(self._stop.wait())
            try:
                await asyncio.wait(
                    {ended, stop}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
                )
                timed_out = not ended.done() and not self._stop.is_set()
                if not ended.done():
                    self._launcher.signal_group(self._child.pid, signal.SIGTERM)
                    await asyncio.wait({ended}, timeout=GRACE_S)
                    await self._launcher.kill(self._child.pid)
                left_behind = not await self._drained(DRAIN_S)
            finally:
                ended.cancel()
                stop.cancel()
                await asyncio.gather(ended, stop, return_exceptions=True)
        finally:
            await self._launcher.kill(self._child.pid)
            await self._drained(DRAIN_S)
            self._close()
            returncode = await asyncio.to_thread(self._child.wait)
            self._launcher.release(self._child.pid)
        return Outcome(
            exit_code=returncode if returncode >= 0 else None,
            signal=signal.Signals(-returncode).name if returncode < 0 else None,
            timed_out=timed_out,
            stopped=self._stopped,
            left_behind=left_behind,
            duration_ms=round((self._loop.time() - self._started) * 1000),
            capture=self._capture,
        )

    async def _drained(self, timeout_s: float) -> bool:
        try:
            await asyncio.wait_for(self._dry.wait(), timeout_s)
        except TimeoutError:
            return False
        return True

    def _close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._flush(last=True)
        for fd, (pipe, _) in self._open.items():
            self._loop.remove_reader(fd)
            pipe.close()
        self._open.clear()
        self._capture.close()


def start(
    launcher: Launcher,
    argv: Sequence[str | bytes],
    *,
    cwd: str | Path,
    env: Mapping[str, str],
    capture: Capture | None = None,
    timeout_s: float | None = None,
    on_output: OnOutput | None = None,
    pass_fds: Sequence[int] = (),
) -> Command:
    """Starts `argv` with its output captured. Standard input is empty. Raises ToolError."""
    child = launcher.start(
        argv,
        cwd=cwd,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=pass_fds,
    )
    return Command(launcher, child, capture or Capture(), timeout_s, on_output)


async def run(
    launcher: Launcher,
    argv: Sequence[str | bytes],
    *,
    cwd: str | Path,
    env: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
    capture: Capture | None = None,
) -> Outcome:
    """Runs `argv` to its end outside any sandbox, for the runtime's own use (git, probes)."""
    command = start(
        launcher,
        argv,
        cwd=cwd,
        env=env if env is not None else launcher.environment(),
        capture=capture,
        timeout_s=timeout_s,
    )
    return await command.wait()
