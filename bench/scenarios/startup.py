"""Time from process start to the reply of `initialize`, and memory then, beside a peer.

    python bench/scenarios/startup.py [--rounds 15] [--peer PATH/TO/codex]

Runs alternate, so that both meet the same machine; medians are printed. The peer is the native
`codex` program (npm package `@openai/codex`), started as `codex app-server`.
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
    arguments = parser.parse_args()
    program = shutil.which("task-x-runtime", path=os.path.dirname(sys.executable))
    if program is None:
        raise SystemExit("task-x-runtime is not installed beside this Python")
    commands = {"taskx": ([program], OURS)}
    if arguments.peer:
        commands["codex"] = ([arguments.peer, "app-server"], PEER)
    runs: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as home:
        for _ in range(arguments.rounds):
            for name, (command, request) in commands.items():
                runs[name].append(run(command, request, home))
    for name, values in runs.items():
        times = [taken for taken, _ in values]
        print(
            f"{name:6} {statistics.median(times):7.1f} ms "
            f"({min(times):.1f} to {max(times):.1f}), "
            f"{statistics.median(rss for _, rss in values):.0f} MiB"
        )


if __name__ == "__main__":
    main()
