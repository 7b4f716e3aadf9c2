"""A model endpoint that streams at a steady pace: many streams, each delta with its time in it.

    flood.py STREAM_DELTAS DELTAS_PER_SECOND

Prints its port. Each delta's text is `<n>:<monotonic ns> `; 0 a second means as fast as it goes.
Runs in a process of its own, so that neither its time nor its lock counts for the reader.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time

CHUNK = (
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m",'
    b'"system_fingerprint":"fp","choices":[{"index":0,"delta":{"content":"%d:%d "},'
    b'"logprobs":null,"finish_reason":null}]}\n\n'
)
LAST = (
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m",'
    b'"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


MODELS = b'HTTP/1.1 200 OK\r\ncontent-length: 23\r\n\r\n{"data": [{"id": "m"}]}'


def framed(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    deltas, rate = int(sys.argv[1]), float(sys.argv[2])
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head, re.I)
            await reader.readexactly(int(length[1]) if length else 0)
            if head.startswith(b"GET "):
                writer.write(MODELS)
                continue
            writer.write(HEAD)
            started = time.monotonic()
            for number in range(deltas):
                if rate:
                    wait = started + number / rate - time.monotonic()
                    if wait > 0:
                        await asyncio.sleep(wait)
                writer.write(framed(CHUNK % (number, time.monotonic_ns())))
                if number % 16 == 0:
                    await writer.drain()
            writer.write(framed(LAST) + b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
