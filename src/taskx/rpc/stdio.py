"""The process's standard streams as byte streams of the event loop.

The reader never blocks the loop; the writer is one thread behind one queue, so that a client which
does not read delays nobody else. Start-up (`fronts.runtime.start`) has moved the protocol away from
descriptors 0 and 1 before these see it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import queue
import select
import threading
from collections.abc import Callable

READ_BYTES = 256 * 1024

# A pipe holds 64 KiB by default, so that a burst costs a change of process for each of them. This
# much Linux lets any user ask for.
PIPE_BYTES = 1024 * 1024

# Source: decisions of the protocol page, "Flow control": what may wait for a slow client.
QUEUE_LIMIT_BYTES = 64 * 1024 * 1024


def widen(fd: int) -> None:
    """Lets a pipe hold more, where the system knows how; anything else stays as it is."""
    with contextlib.suppress(OSError, AttributeError):
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


class Reader:
    """Reads a descriptor and calls `on_chunk(bytes)`; `on_end()` once, at end of file or error.

    Pipes, sockets and terminals are watched; what cannot be watched (a regular file) is read one
    chunk per loop turn.
    """

    def __init__(
        self,
        fd: int,
        loop: asyncio.AbstractEventLoop,
        on_chunk: Callable[[bytes], None],
        on_end: Callable[[], None],
    ) -> None:
        self._fd = fd
        self._loop = loop
        self._on_chunk = on_chunk
        self._on_end = on_end
        self._running = False
        self._ended = False
        self._polled = False
        widen(fd)

    def resume(self) -> None:
        if self._running or self._ended:
            return
        self._running = True
        if not self._polled:
            try:
                self._loop.add_reader(self._fd, self._read)
                # The loop may have set O_NONBLOCK, which others who hold the same open file see.
                os.set_blocking(self._fd, True)
                return
            except (PermissionError, OSError):
                self._polled = True
        self._loop.call_soon(self._read_turn)

    def pause(self) -> None:
        if self._running:
            self._running = False
            if not self._polled:
                self._loop.remove_reader(self._fd)

    def hung_up(self) -> bool:
        """Whether the other end is closed. Data may still wait."""
        poll = select.poll()
        poll.register(self._fd, 0)
        return bool(poll.poll(0))

    def _read_turn(self) -> None:
        if self._running:
            self._read()
            self._loop.call_soon(self._read_turn)

    def _read(self) -> None:
        try:
            chunk = os.read(self._fd, READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            chunk = b""
        if chunk:
            self._on_chunk(chunk)
            return
        self.pause()
        self._ended = True
        self._on_end()


class Writer:
    """An ordered queue of bytes, written to a descriptor by one thread.

    What is written within one turn of the loop goes out as one piece. `on_broken` is called on the
    loop, once, when nobody reads any more; later writes are dropped.
    """

    def __init__(
        self,
        fd: int,
        loop: asyncio.AbstractEventLoop,
        on_broken: Callable[[], None],
        limit_bytes: int = QUEUE_LIMIT_BYTES,
    ) -> None:
        self._fd = fd
        self._loop = loop
        self._on_broken = on_broken
        self._limit = limit_bytes
        self._turn: list[bytes] = []
        self._queue: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._accepted = 0
        self._written = 0
        self._wanted = -1
        self._broken = False
        self._waiters: list[tuple[int, Callable[[], None]]] = []
        widen(fd)
        thread = threading.Thread(target=self._run, name="stdout", daemon=True)
        thread.start()

    @property
    def queued_bytes(self) -> int:
        return self._accepted - self._written

    @property
    def full(self) -> bool:
        return self._accepted - self._written > self._limit

    @property
    def broken(self) -> bool:
        return self._broken

    @property
    def written_bytes(self) -> int:
        return self._written

    def write(self, data: bytes) -> None:
        if self._broken:
            return
        self._accepted += len(data)
        if not self._turn:
            self._loop.call_soon(self._flush)
        self._turn.append(data)

    def when_below(self, level_bytes: int, callback: Callable[[], None]) -> None:
        """Calls back on the loop, once, when no more than `level_bytes` are queued or it broke."""
        self._waiters.append((level_bytes, callback))
        self._settle()

    async def drained(self) -> None:
        ready = self._loop.create_future()
        self.when_below(0, lambda: None if ready.done() else ready.set_result(None))
        await ready

    def _flush(self) -> None:
        turn, self._turn = self._turn, []
        self._queue.put(turn[0] if len(turn) == 1 else b"".join(turn))

    def _settle(self) -> None:
        """Calls the waiters whose level is reached; tells the thread the level of the next."""
        queued = 0 if self._broken else self.queued_bytes
        due = [callback for level, callback in self._waiters if queued <= level]
        self._waiters = [waiter for waiter in self._waiters if queued > waiter[0]]
        self._wanted = max((level for level, _ in self._waiters), default=-1)
        for callback in due:
            callback()
        # The thread may have passed the level between the two lines above.
        if self._wanted >= 0 and (self._broken or self.queued_bytes <= self._wanted):
            self._loop.call_soon(self._settle)

    def _run(self) -> None:
        while True:
            data = memoryview(self._queue.get())
            while data:
                try:
                    n = os.write(self._fd, data)
                except BlockingIOError:
                    poll = select.poll()
                    poll.register(self._fd, select.POLLOUT)
                    poll.poll()
                    continue
                except OSError:
                    self._post(self._break)
                    return
                self._written += n
                data = data[n:]
                if self._wanted >= 0 and self._accepted - self._written <= self._wanted:
                    self._wanted = -1
                    self._post(self._settle)

    def _post(self, callback: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:
            return  # the loop has closed: the process is ending

    def _break(self) -> None:
        self._broken = True
        self._turn.clear()
        self._settle()
        self._on_broken()
