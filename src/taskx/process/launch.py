"""Starts children that cannot outlive the runtime, and ends them with all their descendants."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from taskx.errors import ToolError
from taskx.process import watchdog
from taskx.process.environment import MARK, scrubbed

# How long a group has between SIGTERM and SIGKILL.
GRACE_S = 0.3


class Launcher:
    """One per runtime. Every child gets a session of its own and a mark in its environment.

    Three nets, each for what the one before misses: the process group; the mark, found in /proc,
    for descendants that left the group; and a watchdog process that ends both kinds when the
    runtime is killed and can do nothing itself.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = dict(environ)
        self._token = secrets.token_hex(8)
        self._numbers = itertools.count(1)
        self._marks: dict[int, str] = {}
        self._watchdog: subprocess.Popen[bytes] | None = None

    def environment(
        self, extra: Mapping[str, str] | None = None, secrets_too: bool = False
    ) -> dict[str, str]:
        """Environment for a new child, with a fresh mark.

        secrets_too: leave the user's keys in, for a program that the user configured as trusted.
        """
        base = {**self._environ, **(extra or {})} if secrets_too else scrubbed(self._environ, extra)
        return {**base, MARK: f"{self._token}.{next(self._numbers)}."}

    def start(
        self,
        argv: Sequence[str | bytes],
        *,
        cwd: str | Path,
        env: Mapping[str, str],
        stdin: int | IO[Any] | None = subprocess.DEVNULL,
        stdout: int | IO[Any] | None = subprocess.DEVNULL,
        stderr: int | IO[Any] | None = subprocess.DEVNULL,
        pass_fds: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        """Starts `argv` in a new session. env: from `environment`.

        Raises ToolError: `notFound` when there is no such program or folder, else `failed`.
        """
        self._watch()
        try:
            child = subprocess.Popen(
                argv,
                cwd=cwd,
                env=env,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=pass_fds,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            what = "folder" if not os.path.isdir(cwd) else "program"
            raise ToolError("notFound", f"no such {what}: {error.filename}") from error
        except (OSError, ValueError) as error:
            raise ToolError("failed", f"the command could not be started: {error}") from error
        self.adopt(child.pid, env)
        return child

    def adopt(self, pid: int, env: Mapping[str, str]) -> None:
        """Takes charge of a child started elsewhere with `start_new_session` and this `env`."""
        self._watch()
        self._marks[pid] = env[MARK]
        self._tell(f"+{pid}\n")

    def release(self, pid: int) -> None:
        """Forgets a child that has ended and was reaped."""
        if self._marks.pop(pid, None) is not None:
            self._tell(f"-{pid}\n")

    def signal_group(self, pid: int, number: signal.Signals) -> None:
        """Signals the child's process group. The child must not have been reaped yet."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, number)

    async def kill(self, pid: int) -> None:
        """SIGKILL to the group and to every marked descendant outside it."""
        self.signal_group(pid, signal.SIGKILL)
        mark = self._marks.get(pid)
        if mark is not None:
            await asyncio.to_thread(watchdog.end_marked, f"{MARK}={mark}".encode())

    async def end(self, child: subprocess.Popen[bytes], grace_s: float = GRACE_S) -> int:
        """SIGTERM, then after `grace_s` SIGKILL, to the whole tree; reaps and forgets the child.

        Returns its exit code. Harmless for a child that has already ended.
        """
        try:
            self.signal_group(child.pid, signal.SIGTERM)
            await exited(child, grace_s)
        finally:
            await asyncio.shield(self._finish(child))
        return child.returncode

    async def _finish(self, child: subprocess.Popen[bytes]) -> None:
        await self.kill(child.pid)
        await asyncio.to_thread(child.wait)
        self.release(child.pid)

    def close(self) -> None:
        """Ends whatever is still running. Blocks for milliseconds."""
        for pid in list(self._marks):
            self.signal_group(pid, signal.SIGKILL)
        if self._marks:
            watchdog.end_marked(f"{MARK}={self._token}.".encode())
        self._marks.clear()
        if self._watchdog is not None:
            assert self._watchdog.stdin is not None
            with contextlib.suppress(OSError):
                self._watchdog.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._watchdog.wait(5)
            self._watchdog = None

    def _watch(self) -> None:
        if self._watchdog is not None and self._watchdog.poll() is None:
            return
        program = [sys.executable, "-I", "-S", watchdog.__file__, self._token]
        self._watchdog = subprocess.Popen(
            program,
            cwd="/",
            env={},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        )
        for pid in self._marks:
            self._tell(f"+{pid}\n")

    def _tell(self, line: str) -> None:
        if self._watchdog is not None and self._watchdog.stdin is not None:
            with contextlib.suppress(OSError):
                self._watchdog.stdin.write(line.encode())


async def exited(child: subprocess.Popen[bytes], timeout_s: float | None = None) -> bool:
    """Waits until the child has ended, without reaping it, so that its group id stays its own."""
    if child.returncode is not None:
        return True
    if not hasattr(os, "pidfd_open"):
        return await _exited_by_polling(child, timeout_s)
    try:
        fd = os.pidfd_open(child.pid)
    except ProcessLookupError:
        return True
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    loop.add_reader(fd, done.set)
    try:
        await asyncio.wait_for(done.wait(), timeout_s)
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(fd)
        os.close(fd)
    return True


async def _exited_by_polling(child: subprocess.Popen[bytes], timeout_s: float | None) -> bool:
    """The same where the system has no process descriptors (macOS)."""
    loop = asyncio.get_running_loop()
    end = None if timeout_s is None else loop.time() + timeout_s
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while True:
        try:
            if os.waitid(os.P_PID, child.pid, flags) is not None:  # noqa: ASYNC222 (WNOHANG)
                return True
        except ChildProcessError:
            return True
        if end is not None and loop.time() >= end:
            return False
        await asyncio.sleep(0.01)
