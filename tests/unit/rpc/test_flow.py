"""What waits for a client that does not read, at the moment when its pipe takes a little."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

from taskx.rpc.peer import Peer, Request
from taskx.rpc.stdio import Writer


class Answers:
    """A dispatcher that answers everything at once with the same text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.n_answered = 0

    def request(self, request: Request, method: str, params: Any) -> Any:
        self.n_answered += 1
        return self.text

    def notification(self, method: str, params: Any) -> None:
        return None


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the writer's thread has no event
            await asyncio.sleep(0.001)


async def exhausted(read_fd: int, writer: Writer) -> int:
    """Reads until nothing is queued; returns the lines read."""
    n_lines = 0
    while True:
        n_lines += os.read(read_fd, 1 << 20).count(b"\n")
        await asyncio.sleep(0.001)
        if writer.queued_bytes == 0:
            os.set_blocking(read_fd, False)
            try:
                while chunk := os.read(read_fd, 1 << 20):
                    n_lines += chunk.count(b"\n")
            except BlockingIOError:
                os.set_blocking(read_fd, True)
                if writer.queued_bytes == 0:
                    return n_lines


def test_P19_no_request_is_answered_while_a_message_is_set_aside() -> None:
    async def story() -> None:
        read_fd, write_fd = os.pipe()
        os.set_blocking(write_fd, False)  # it takes a part of a write
        writer = Writer(write_fd, asyncio.get_running_loop(), lambda: None, limit_bytes=3 << 20)
        answers = Answers("x" * (1 << 20))
        peer = Peer(answers, writer, withdraw_method="w", on_protocol_end=lambda: None)
        # Within one turn of the loop the queue gets too full, and one message is set aside.
        for n in range(5):
            peer.notify("n", {"text": "y" * (1 << 20), "n": n})
        # Now the pipe takes what it can, after which the queue alone has room again.
        await until(lambda: not writer.full)
        assert peer.congested
        for n in range(50):
            peer.receive(b'{"jsonrpc":"2.0","id":%d,"method":"m"}\n' % n)
        await asyncio.sleep(0.05)
        assert answers.n_answered == 0
        n_lines = 0
        while n_lines < 55:
            n_lines += await asyncio.wait_for(exhausted(read_fd, writer), 10)
        assert (n_lines, answers.n_answered, peer.congested) == (55, 50, False)
        os.close(read_fd)

    asyncio.run(story())
