"""A small HTTP/1.1 server for tests, with every fault a test can ask for.

One thread a connection. A reply's body is a sequence of bytes and of events to wait for; how the
connection goes on after it is the reply's `end`.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

WAIT_S = 20.0
End = Literal["keep", "close", "reset", "hang"]


@dataclass
class Request:
    method: str
    path: str
    query: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None


@dataclass
class Reply:
    """status 0: the body is sent as it is, with no HTTP around it."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | Iterable[bytes | threading.Event] = b""
    end: End = "keep"
    chunked: bool | None = None
    """None: chunked when the body is a sequence."""


def json_reply(status: int, value: Any, headers: dict[str, str] | None = None) -> Reply:
    body = json.dumps(value).encode()
    return Reply(status, {"content-type": "application/json", **(headers or {})}, body)


class Server:
    """`with Server(api) as server:`; `api(request) -> Reply` answers what `replies` does not.

    requests: all that came. replies: for the next requests, before the api is asked.
    closed: set when a client closed its connection while a reply was hanging.
    """

    def __init__(
        self,
        api: Callable[[Request], Reply] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.api = api
        self.requests: list[Request] = []
        self.replies: deque[Reply] = deque()
        self.closed = threading.Event()
        self.hanging = threading.Event()
        self.n_connections = 0
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self._listener.getsockname()[1]
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def origin(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join(WAIT_S)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.n_connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, raw: socket.socket) -> None:
        connection = raw
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(raw, server_side=True)
            with self._lock:
                self._connections.add(connection)
            with connection, connection.makefile("rb") as reader:
                while True:
                    if reader.peek(1)[:1] == b"\x16":  # a TLS greeting; answered as nginx does
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                        return
                    request = _read(reader)
                    if request is None:
                        return
                    if not self._answer(connection, request):
                        return
        except (OSError, ValueError):
            pass  # the client went away, as many tests want it to
        finally:
            with self._lock:
                self._connections.discard(connection)
            connection.close()

    def _answer(self, connection: socket.socket, request: Request) -> bool:
        with self._lock:
            self.requests.append(request)
            reply = self.replies.popleft() if self.replies else None
        if reply is None:
            reply = self.api(request) if self.api is not None else Reply(404)
        _write(connection, reply)
        match reply.end:
            case "close":
                return False
            case "reset":
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                return False
            case "hang":
                self.hanging.set()
                connection.settimeout(WAIT_S)
                with contextlib.suppress(ConnectionError):
                    if connection.recv(1):
                        return False
                self.closed.set()
                return False
        return True


def _read(reader: Any) -> Request | None:
    line = reader.readline(65536)
    if not line:
        return None
    method, target, _ = line.decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    while (line := reader.readline(65536).strip()) != b"":
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    body = reader.read(int(headers.get("content-length", "0")))
    path, _, query = target.partition("?")
    return Request(method, path, query, headers, body)


def _write(connection: socket.socket, reply: Reply) -> None:
    whole = isinstance(reply.body, bytes)
    chunked = reply.chunked if reply.chunked is not None else not whole
    if reply.status:
        headers = dict(reply.headers)
        if chunked:
            headers["transfer-encoding"] = "chunked"
        elif whole and "content-length" not in headers and reply.end == "keep":
            headers["content-length"] = str(len(reply.body))  # type: ignore[arg-type]
        elif "content-length" not in headers:
            headers["connection"] = "close"
        head = f"HTTP/1.1 {reply.status} Fake\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        connection.sendall(head.encode("latin-1") + b"\r\n")
    parts = [reply.body] if isinstance(reply.body, bytes) else reply.body
    for part in parts:
        if isinstance(part, threading.Event):
            assert part.wait(WAIT_S), "the test never went on"
        elif chunked and reply.status:
            if part:
                connection.sendall(b"%x\r\n%s\r\n" % (len(part), part))
        else:
            connection.sendall(part)
    if chunked and reply.status and reply.end == "keep":
        connection.sendall(b"0\r\n\r\n")
