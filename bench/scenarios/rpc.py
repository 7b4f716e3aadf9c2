"""Requests per second on one core, beside a minimal asyncio and json echo server in the same run.

    python bench/scenarios/rpc.py [--requests 20000] [--rounds 7] [--root DIR] [--least RATIO]

20,000 small requests are written as fast as the pipe takes them and the time to the last byte of
the last reply is taken, and the CPU time of the server, which other work on the machine does not
change. The server under test is pinned to one core, the client to another. With
--root the workspace is opened first and the request is `context/inspect`; without it the request
is `provider/capabilities`. Rounds alternate between the two servers; medians are printed.
With --least the exit code is 1 when taskx neither answers 25,000 requests a second (of wall time or
of one core's time) nor is RATIO times as fast as the echo server.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time

ECHO_SERVER = """
import asyncio, json, sys
async def main():
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 25)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, sys.stdout)
    writer = asyncio.StreamWriter(transport, protocol, reader, loop)
    while line := await reader.readline():
        message = json.loads(line)
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": message["params"]}
        writer.write(json.dumps(reply).encode() + b"\\n")
        await writer.drain()
asyncio.run(main())
"""

GOOD_RATE = 25_000


class Server:
    """A process on one core; `replies` are counted by their line ends."""

    def __init__(self, command: list[str], core: int) -> None:
        self.process = subprocess.Popen(
            ["taskset", "-c", str(core), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={**os.environ, "TASK_X_CACHE": "off"},
        )

    def exchange(self, lines: bytes, n_replies: int) -> bytes:
        """Writes and reads at once; returns after the last reply with all that was read."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        thread = threading.Thread(target=self._write, args=(lines,))
        thread.start()
        chunks = []
        while n_replies > 0:
            chunk = self.process.stdout.read(1 << 20)
            if not chunk:
                raise SystemExit("the server ended")
            n_replies -= chunk.count(b"\n")
            chunks.append(chunk)
        thread.join()
        return b"".join(chunks)

    def _write(self, lines: bytes) -> None:
        view = memoryview(lines)
        while view:
            view = view[self.process.stdin.write(view) :]  # type: ignore[union-attr]

    def cpu_seconds(self) -> float:
        """User and system time so far, of all threads."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)


def requests(method: str, count: int) -> bytes:
    return b"".join(
        json.dumps({"jsonrpc": "2.0", "id": n, "method": method, "params": {}}).encode() + b"\n"
        for n in range(1, count + 1)
    )


def runtime(root: str | None, core: int) -> Server:
    server = Server([sys.executable, "-m", "taskx"], core)
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
    server.exchange(json.dumps(hello).encode() + b"\n", 1)
    if root is not None:
        opened = {"jsonrpc": "2.0", "id": -1, "method": "workspace/open", "params": {"root": root}}
        got = server.exchange(json.dumps(opened).encode() + b"\n", 1)
        while b'"id":-1' not in got:
            got += server.exchange(b"", 1)
    return server


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--root")
    parser.add_argument("--least", type=float, help="the smallest ratio that is good")
    arguments = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[0]})
    method = "context/inspect" if arguments.root else "provider/capabilities"
    lines = requests(method, arguments.requests)
    servers = {
        "taskx": runtime(arguments.root, cores[-1]),
        "echo": Server([sys.executable, "-c", ECHO_SERVER], cores[-1]),
    }
    rates: dict[str, list[float]] = {name: [] for name in servers}
    cpu_rates: dict[str, list[float]] = {name: [] for name in servers}
    n_bytes: dict[str, int] = {}
    for _ in range(arguments.rounds):
        for name, server in servers.items():
            cpu = server.cpu_seconds()
            started = time.perf_counter()
            got = server.exchange(lines, arguments.requests)
            rates[name].append(arguments.requests / (time.perf_counter() - started))
            cpu_rates[name].append(arguments.requests / max(server.cpu_seconds() - cpu, 0.01))
            n_bytes[name] = len(got) // arguments.requests
    for server in servers.values():
        server.close()
    medians = {name: statistics.median(values) for name, values in rates.items()}
    for name, values in rates.items():
        spread = f"{min(values):,.0f} to {max(values):,.0f}"
        per_cpu = statistics.median(cpu_rates[name])
        print(
            f"{name:6} {medians[name]:10,.0f} replies/s ({spread}), "
            f"{per_cpu:,.0f} per CPU second, {n_bytes[name]} bytes each"
        )
    ratio = medians["taskx"] / medians["echo"]
    print(f"{method}: {ratio:.2f} times the echo server")
    best = max(medians["taskx"], statistics.median(cpu_rates["taskx"]))
    if arguments.least and ratio < arguments.least and best < GOOD_RATE:
        raise SystemExit(f"too slow: {ratio:.2f} times the echo server")


if __name__ == "__main__":
    main()
