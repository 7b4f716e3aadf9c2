"""A runtime under measurement: requests over its pipes, memory and CPU as the kernel says."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import orjson

REPLY_TIMEOUT_S = 1800.0


class Usage(NamedTuple):
    """What a process has used so far. Source: /proc/PID/stat and /proc/PID/status."""

    cpu_s: float
    rss_bytes: int
    peak_rss_bytes: int


class RequestFailed(RuntimeError):
    """The runtime answered with an error; the text is its message."""


class Runtime:
    """One `task-x-runtime`; `request` waits for its reply, notifications queue up in `events`."""

    def __init__(self, cache_folder: Path, *, environment: dict[str, str] | None = None) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "taskx"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "XDG_CACHE_HOME": str(cache_folder), **(environment or {})},
        )
        self.events: queue.SimpleQueue[tuple[float, dict[str, Any]]] = queue.SimpleQueue()
        self._replies: dict[int, queue.SimpleQueue[tuple[float, dict[str, Any]]]] = {}
        self._next_id = 0
        self._expected = 0
        self._all_answered = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            at = time.perf_counter()
            if self._expected:
                self._expected -= 1
                if not self._expected:
                    self._all_answered.set()
                continue
            message = orjson.loads(line)
            waiting = self._replies.pop(message.get("id", -1), None)
            if waiting is not None:
                waiting.put((at, message))
            elif "method" in message:
                self.events.put((at, message))

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(orjson.dumps({"jsonrpc": "2.0", **message}) + b"\n")
        self.process.stdin.flush()

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.send({"method": method, "params": params or {}})

    def start(
        self, method: str, params: dict[str, Any] | None = None
    ) -> tuple[int, queue.SimpleQueue[tuple[float, dict[str, Any]]]]:
        """Sends a request; gives its id and the queue its reply will come in."""
        self._next_id += 1
        reply: queue.SimpleQueue[tuple[float, dict[str, Any]]] = queue.SimpleQueue()
        self._replies[self._next_id] = reply
        self.send({"id": self._next_id, "method": method, "params": params or {}})
        return self._next_id, reply

    def expect(self, replies: int) -> threading.Event:
        """Counts this many lines without reading them; the event is set by the last."""
        self._all_answered.clear()
        self._expected = replies
        return self._all_answered

    def request(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """The result of one request. Raises RequestFailed with the error's message."""
        _, reply = self.start(method, params)
        _, message = reply.get(timeout=REPLY_TIMEOUT_S)
        if "error" in message:
            raise RequestFailed(f"{method}: {message['error']['message']}")
        return message["result"]

    def initialize(self) -> Any:
        return self.request(
            "initialize", {"protocolVersion": 1, "clientInfo": {"name": "bench", "version": "1"}}
        )

    def wait_for(self, phase: str) -> dict[str, Any]:
        """The next `workspace/progress` event of this phase."""
        while True:
            _, message = self.events.get(timeout=REPLY_TIMEOUT_S)
            params = message.get("params", {})
            if message["method"] == "workspace/progress" and params.get("phase") == phase:
                return dict(params)

    def usage(self) -> Usage:
        return usage_of(self.process.pid)

    def close(self) -> None:
        """Ends the runtime as an editor does; kills it when it does not end within 10 s."""
        try:
            self.request("shutdown")
            self.notify("exit")
            self.process.wait(timeout=10)
        except (BrokenPipeError, RequestFailed, subprocess.TimeoutExpired, queue.Empty):
            self.process.kill()
            self.process.wait()
        assert self.process.stdin is not None
        self.process.stdin.close()
        self._reader.join(timeout=5)


def usage_of(pid: int) -> Usage:
    """CPU seconds of all threads, resident and peak resident bytes of a live process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    sizes = {}
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in ("VmRSS", "VmHWM"):
            sizes[name] = int(value.split()[0]) * 1024
    return Usage(ticks / os.sysconf("SC_CLK_TCK"), sizes["VmRSS"], sizes["VmHWM"])
