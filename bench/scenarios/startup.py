"""Time from process start to the reply of `initialize`, and memory then, beside a peer.

    python bench/scenarios/startup.py [--rounds 15] [--peer PATH/TO/codex] [--most RATIO]

Runs alternate, so that all meet the same machine; medians are printed. One peer is always there: a
Python program that imports asyncio and json and answers one line. The other is the native `codex`
program (npm package `@openai/codex`), started as `codex app-server`. With --most the exit code is 1
when taskx takes more than RATIO times as long as a peer, or has more than 60 MiB resident.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OURS = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
PEER = {
    "id": 1,
    "method": "initialize",
    "params": {"clientInfo": {"name": "bench", "title": "bench", "version": "0"}},
}


BARE = """
import asyncio, json, sys
message = json.loads(sys.stdin.readline())
print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}), flush=True)
sys.stdin.read()
"""

MOST_RESIDENT_MIB = 60


def run(command: list[str], request: dict[str, object], home: str) -> tuple[float, float]:
    """Milliseconds to the reply, and MiB resident then."""
    environment = {**os.environ, "HOME": home, "CODEX_HOME": home}
    line = json.dumps(request).encode() + b"\n"
    started = time.perf_counter()
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        env=environment,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line)
        reply = process.stdout.readline()
        taken = time.perf_counter() - started
        status = Path(f"/proc/{process.pid}/status").read_text()
        process.stdin.close()
        while process.stdout.read(1 << 16):
            pass
    if b'"result"' not in reply:
        raise SystemExit(f"{command[0]} answered {reply!r}")
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return taken * 1000, int(resident.split()[1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--peer", help="the native codex program")
    parser.add_argument("--most", type=float, help="the largest ratio to a peer that is good")
    arguments = parser.parse_args()
    program = shutil.which("task-x-runtime", path=os.path.dirname(sys.executable))
    if program is None:
        raise SystemExit("task-x-runtime is not installed beside this Python")
    commands = {
        "taskx": ([program], OURS),
        "asyncio": ([sys.executable, "-c", BARE], OURS),
    }
    if arguments.peer:
        commands["codex"] = ([arguments.peer, "app-server"], PEER)
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as home:
        for _ in range(arguments.rounds):
            for name, (command, request) in commands.items():
                runs[name].append(run(command, request, home))
    medians = {}
    for name, values in runs.items():
        times = [taken for taken, _ in values]
        resident = statistics.median(rss for _, rss in values)
        medians[name] = statistics.median(times)
        print(
            f"{name:8} {medians[name]:7.1f} ms ({min(times):.1f} to {max(times):.1f}), "
            f"{resident:.0f} MiB, taskx takes {medians['taskx'] / medians[name]:.2f} of it"
        )
    largest = medians["taskx"] / min(medians.values())
    resident = statistics.median(rss for _, rss in runs["taskx"])
    if arguments.most and (largest > arguments.most or resident > MOST_RESIDENT_MIB):
        raise SystemExit(f"too slow or too large: {largest:.2f} times a peer, {resident:.0f} MiB")


if __name__ == "__main__":
    main()
