"""The event loop of a serving process, from the first line after start-up to the exit code."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys

import uvloop

from taskx.fronts.runtime.lifecycle import Launch
from taskx.fronts.runtime.session import Gate
from taskx.rpc.framing import LineSplitter
from taskx.rpc.peer import Peer
from taskx.rpc.stdio import Reader, Writer

log = logging.getLogger("taskx.serve")

# How long open replies are waited for, and then cancelled work. Source: protocol v1, "Lifecycle".
EXIT_GRACE_SECONDS = 5.0
CANCEL_GRACE_SECONDS = 0.5

# Worker threads hold the GIL for a millisecond at most while the loop wants it (the default is 5),
# so that answers stay prompt while a workspace is indexed.
SWITCH_INTERVAL_SECONDS = 0.001

# How soon to look again whether the lines read so far are handled.
_BACKLOG_CHECK_SECONDS = 0.001

# A client that has closed its end and takes no output for this long is gone.
_STALL_CHECK_SECONDS = 0.5


class Server:
    """One connection on standard streams, from start to drained."""

    def __init__(self, launch: Launch, in_fd: int, out_fd: int) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._ended: asyncio.Future[str] = loop.create_future()
        self._gate = Gate(launch, lambda: self._end("exit"))
        self._writer = Writer(out_fd, loop, self._broken)
        self._peer = Peer(
            self._gate,
            self._writer,
            withdraw_method="$/cancelRequest",
            on_protocol_end=lambda: self._end("stdinClosed"),
            splitter=LineSplitter(first=not launch.initialized),
        )
        self._reader = Reader(in_fd, loop, self._chunk, lambda: self._end("stdinClosed"))
        self._gate.attach(self._peer)
        self._stalled_at = -1
        self._stalled_checks = 0

    async def run(self, pending: bytes, interrupted: bool) -> str:
        """Serves until the end, drains, and returns the reason of the end."""
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._end, "signal")
        if interrupted:
            self._end("signal")
        if pending:
            self._peer.receive(pending)
        if not self._ended.done():
            self._reader.resume()
        reason = await self._ended
        await self._drain()
        return reason

    def _chunk(self, chunk: bytes) -> None:
        self._peer.receive(chunk)
        if self._peer.congested or self._peer.backlog:
            self._reader.pause()
            self._resume_when_ready()

    def _resume_when_ready(self) -> None:
        """Reads on when the output has room and the lines read so far are handled."""
        if self._ended.done():
            return
        if self._peer.congested:
            self._loop.call_later(_STALL_CHECK_SECONDS, self._check_stall)
            self._writer.when_below(0, self._resume_when_ready)
        elif self._peer.backlog:
            self._loop.call_later(_BACKLOG_CHECK_SECONDS, self._resume_when_ready)
        else:
            self._reader.resume()

    def _check_stall(self) -> None:
        """While reading is paused, an end of stdin shows only as a hang-up of the other end."""
        if self._ended.done() or not self._peer.congested:
            self._stalled_checks = 0
            return
        written = self._writer.written_bytes
        moved = written != self._stalled_at
        self._stalled_at = written
        self._stalled_checks = (
            0 if moved or not self._reader.hung_up() else self._stalled_checks + 1
        )
        if self._stalled_checks * _STALL_CHECK_SECONDS >= EXIT_GRACE_SECONDS:
            self._end("stdinClosed")
        else:
            self._loop.call_later(_STALL_CHECK_SECONDS, self._check_stall)

    def _broken(self) -> None:
        log.info("the client no longer reads")
        self._gate.close()
        self._peer.cancel_all()
        self._end("stdinClosed")

    def _end(self, reason: str) -> None:
        self._reader.pause()
        self._peer.client_gone()
        if not self._ended.done():
            self._ended.set_result(reason)
        elif reason == "signal":
            self._peer.cancel_all()  # asked twice: no more waiting

    async def _drain(self) -> None:
        """Open replies first, then cancelled work, then what is queued for the client."""
        deadline = self._loop.time() + EXIT_GRACE_SECONDS
        try:
            async with asyncio.timeout_at(deadline):
                await self._peer.idle()
        except TimeoutError:
            log.info("requests still open at exit are cancelled")
        self._gate.close()
        await self._peer.close(CANCEL_GRACE_SECONDS)
        if self._gate.app is not None:
            try:
                async with asyncio.timeout(CANCEL_GRACE_SECONDS):
                    await self._gate.app.close()
            except TimeoutError:
                log.warning("the workspace did not close in time")
        try:
            async with asyncio.timeout_at(max(deadline, self._loop.time() + 0.2)):
                await self._writer.drained()
        except TimeoutError:
            log.info("the client did not take the last output")


def run(launch: Launch, in_fd: int, out_fd: int, pending: bytes, interrupted: bool) -> str:
    """Serves until the end; returns its reason. What it raises was not foreseen."""
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)

    async def main() -> str:
        return await Server(launch, in_fd, out_fd).run(pending, interrupted)

    # Not `Runner`: at its end it waits for worker threads, which may still read a huge file.
    loop = uvloop.new_event_loop()
    asyncio.set_event_loop(loop)
    return loop.run_until_complete(main())
