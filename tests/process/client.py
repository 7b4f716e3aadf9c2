"""A JSON-lines client of a real `task-x-runtime` process, for tests.

    with Runtime(data_dir=tmp_path) as runtime:
        runtime.initialize()
        assert runtime.request("context/inspect")["error"]["code"] == -32004

Every wait has a timeout and fails with what the process said on stderr. Nothing here interprets a
reply: `request` returns the whole message.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

TIMEOUT_S = 90.0

Message = dict[str, Any]


class Runtime:
    """A running process and what it has sent. Leave the `with` block to end it.

    arguments: of `task-x-runtime`. command: another program than it.
    environment: variables to add; None removes one.
    answer: called with each request of the runtime; returns the reply's members to send
        (`{"result": …}` or `{"error": …}`), or None to send nothing.
    read, errors: whether stdout and stderr are read at all.
    """

    def __init__(
        self,
        *arguments: str,
        environment: dict[str, str | None] | None = None,
        command: Sequence[str] = (sys.executable, "-m", "taskx"),
        cwd: Path | None = None,
        answer: Callable[[Message], Message | None] | None = None,
        read: bool = True,
        errors: bool = True,
    ) -> None:
        variables = {key: value for key, value in os.environ.items() if "TASK_X" not in key}
        variables.update(TASK_X_CACHE="off", XDG_CONFIG_HOME=os.devnull)
        for key, value in (environment or {}).items():
            if value is None:
                variables.pop(key, None)
            else:
                variables[key] = value
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [*command, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=variables,
            cwd=cwd,
        )
        self.answer = answer
        self.messages: list[Message] = []  # everything received, in order
        self.lines: list[bytes] = []  # the same, as it came
        self.requests: list[Message] = []  # what the runtime asked
        self._errors: collections.deque[bytes] = collections.deque(maxlen=10_000)
        self._changed = threading.Condition()
        self._ended = False
        self._next_id = 0
        self._threads = []
        if errors:
            self._threads.append(threading.Thread(target=self._drain_errors, daemon=True))
        if read:
            self._threads.append(threading.Thread(target=self._receive, daemon=True))
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Runtime:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.close_stdin()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait(10)
        for thread in self._threads:
            thread.join(10)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()

    # Sending

    def write(self, data: bytes) -> None:
        """Raw bytes to the process's stdin."""
        assert self.process.stdin is not None
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view) :]

    def pour(self, data: bytes) -> bool:
        """Raw bytes to a process that may end meanwhile; False when it did."""
        try:
            self.write(data)
        except BrokenPipeError:
            return False
        return True

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def start(self, method: str, params: Any = None, *, request_id: Any = None) -> Any:
        """Sends a request and returns its id at once."""
        if request_id is None:
            self._next_id += 1
            request_id = self._next_id
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)
        return request_id

    def request(self, method: str, params: Any = None, timeout: float = TIMEOUT_S) -> Message:
        """Sends a request and waits for its whole reply."""
        return self.reply(self.start(method, params), timeout)

    def result(self, method: str, params: Any = None, timeout: float = TIMEOUT_S) -> Any:
        """The result of a request that must succeed."""
        reply = self.request(method, params, timeout)
        assert "result" in reply, f"{method}: {reply}"
        return reply["result"]

    def error(self, method: str, params: Any = None, timeout: float = TIMEOUT_S) -> Message:
        """The error of a request that must fail."""
        reply = self.request(method, params, timeout)
        assert "error" in reply, f"{method}: {reply}"
        error: Message = reply["error"]
        return error

    def notify(self, method: str, params: Any = None) -> None:
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)

    def initialize(self, **params: Any) -> Any:
        return self.result("initialize", {"protocolVersion": 1, **params})

    # Receiving

    def wait(self, found: Callable[[], Any], timeout: float = TIMEOUT_S, what: str = "") -> Any:
        """Waits until `found()` is true, looking again after each message; returns its value."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                value = found()
                if value:
                    return value
                left = deadline - time.monotonic()
                if left <= 0 or self._ended:
                    why = "the process closed stdout" if self._ended else "timeout"
                    raise AssertionError(f"{what or 'wait'}: {why}\n{self.stderr()}")
                self._changed.wait(left)

    def replies(self, request_id: Any) -> list[Message]:
        """The replies so far that carry this id (of this type)."""
        return [
            message
            for message in list(self.messages)
            if "method" not in message
            and message.get("id") == request_id
            and type(message.get("id")) is type(request_id)
        ]

    def reply(self, request_id: Any, timeout: float = TIMEOUT_S) -> Message:
        found = self.wait(lambda: self.replies(request_id), timeout, f"reply to {request_id!r}")
        message: Message = found[0]
        return message

    def notifications(self, method: str) -> list[Any]:
        """The params of the notifications so far."""
        return [
            message.get("params")
            for message in list(self.messages)
            if message.get("method") == method and "id" not in message
        ]

    def notification(
        self,
        method: str,
        matches: Callable[[Any], bool] = lambda params: True,
        timeout: float = TIMEOUT_S,
    ) -> Any:
        """Waits for the first notification that matches; returns its params."""

        def found() -> list[Any]:
            return [params for params in self.notifications(method) if matches(params)]

        return self.wait(found, timeout, f"notification {method}")[0]

    # Ending

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

    def signal(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def exit_code(self, timeout: float = TIMEOUT_S) -> int:
        """Waits for the process to end; what it sent by then has been received."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the process does not end\n{self.stderr()}") from None
        for thread in self._threads:
            thread.join(10)
        return code

    def finish(self, timeout: float = TIMEOUT_S) -> int:
        """The orderly way: shutdown, exit, and the exit code."""
        self.result("shutdown", timeout=timeout)
        self.notify("exit")
        return self.exit_code(timeout)

    def stderr(self) -> str:
        return b"".join(list(self._errors)).decode("utf-8", "replace")

    def rss_bytes(self, field: str = "VmRSS") -> int:
        """Memory as the kernel says; `VmHWM` is the peak."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
        raise AssertionError(f"no {field}")

    # Threads

    def _receive(self) -> None:
        assert self.process.stdout is not None
        buffer = b""
        while chunk := self.process.stdout.read(1 << 20):
            *lines, buffer = (buffer + chunk).split(b"\n") if b"\n" in chunk else [buffer + chunk]
            for line in lines:
                self._take(line)
        with self._changed:
            self._ended = True
            if buffer:
                self.lines.append(buffer)
            self._changed.notify_all()

    def _take(self, line: bytes) -> None:
        message = json.loads(line)
        reply = None
        if "method" in message and "id" in message:
            self.requests.append(message)
            if self.answer is not None:
                reply = self.answer(message)
        with self._changed:
            self.lines.append(line)
            self.messages.append(message)
            self._changed.notify_all()
        if reply is not None:
            self.send({"jsonrpc": "2.0", "id": message["id"], **reply})

    def _drain_errors(self) -> None:
        assert self.process.stderr is not None
        while chunk := self.process.stderr.read(65536):
            self._errors.append(chunk)
