"""Start-up: answers a plain `initialize` before anything slow is imported.

An import of the event loop alone takes longer than all of this, so the first line is read with
os.read and its reply written with os.write. What is not a plain, valid `initialize` is left for the
loop, which gives the same answers through the same `lifecycle.initialize`.
"""

from __future__ import annotations

import errno
import json
import os
import signal

from taskx.errors import TaskxError
from taskx.fronts.runtime.lifecycle import Launch, initialize
from taskx.private_files import make_private_folder
from taskx.sessions import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, NoReturn

    from taskx.config import Settings

_READ_BYTES = 64 * 1024


class _Interrupted(BaseException):
    """SIGTERM or SIGINT while the first line was awaited."""


class _Signals:
    """Remembers a signal until the loop takes over; cuts a blocking read short."""

    def __init__(self) -> None:
        self.seen = False
        self.waiting = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._note)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.seen = True
        if self.waiting:
            raise _Interrupted


def serve(settings: Settings) -> int:
    """Serves protocol v1 on standard streams. Returns the exit code.

    Raises sessions.lease.LeaseTaken, or OSError for a data dir of the command line that cannot be
    used.
    """
    signals = _Signals()
    session = None
    if settings.data_dir is not None:
        make_private_folder(settings.data_dir)
        if not os.access(settings.data_dir, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), settings.data_dir)
    if settings.data_dir is not None and settings.session_id is not None:
        session = record.Session(settings.session_id, settings.data_dir)
    launch = Launch(settings, session)
    in_fd, out_fd = claim_streams()
    pending = _first_line(in_fd, signals)
    end = pending.find(b"\n") + 1
    if end:
        reply = _plain_initialize(launch, pending[:end])
        if reply is not None:
            _write(out_fd, reply)
            pending = pending[end:]
    return _serve_on(launch, in_fd, out_fd, pending, signals)


def claim_streams() -> tuple[int, int]:
    """Moves the protocol away from descriptors 0 and 1; returns where it is now.

    From then on a stray print goes to stderr, and a child process that inherits descriptors can
    neither read requests nor write replies.
    """
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.dup2(null, fd)
    in_fd = os.dup(0)
    out_fd = os.dup(1)
    os.dup2(null, 0)
    os.dup2(2, 1)
    for fd in (in_fd, out_fd):
        os.set_blocking(fd, True)  # some parents hand over pipes that are not
    if null > 2:
        os.close(null)
    else:
        os.set_inheritable(null, True)
    return in_fd, out_fd


def _first_line(fd: int, signals: _Signals) -> bytes:
    """What came up to the end of the first line, or to the end of the stream."""
    data = b""
    try:
        signals.waiting = not signals.seen
        while signals.waiting and b"\n" not in data and len(data) < _READ_BYTES:
            chunk = os.read(fd, _READ_BYTES)
            if not chunk:
                break
            data += chunk
    except (OSError, _Interrupted):
        pass  # the loop meets the same error, or ends for the signal
    finally:
        signals.waiting = False
    return data


def _plain_initialize(launch: Launch, line: bytes) -> bytes | None:
    """The reply to a plain and valid `initialize`; None leaves the line to the loop."""
    if b"\\u" in line:
        return None
    try:
        message = json.loads(line, parse_constant=_refuse)
        if not _is_plain(message):
            return None
        result = initialize(launch, message["params"])
    except (ValueError, RecursionError, TaskxError):
        return None
    reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    return json.dumps(reply, separators=(",", ":")).encode() + b"\n"


def _refuse(text: str) -> NoReturn:
    raise ValueError(text)


def _is_plain(message: Any) -> bool:
    """Whether this is an `initialize` that needs no error reply for its shape."""
    if type(message) is not dict or message.get("jsonrpc") != "2.0":
        return False
    request_id = message.get("id")
    good_id = type(request_id) is str or (type(request_id) is int and abs(request_id) < 2**63)
    params = message.get("params")
    if message.get("method") != "initialize" or not good_id or type(params) is not dict:
        return False
    client = params.get("clientInfo", {"name": ""})
    return (
        type(params.get("protocolVersion")) is int
        and type(params.get("dataDir", "")) in (str, type(None))
        and type(params.get("sandbox", True)) is bool
        and type(params.get("sessionId", "")) in (str, type(None))
        and type(client) is dict
        and type(client.get("name")) is str
        and type(client.get("version", "")) is str
    )


def _write(fd: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(fd, data) :]
    except OSError:
        pass  # nobody reads: the loop's writer meets the same error and ends the process


def _serve_on(launch: Launch, in_fd: int, out_fd: int, pending: bytes, signals: _Signals) -> int:
    """Imports the loop, serves, and closes the session. Returns the exit code."""
    import faulthandler
    import logging

    from taskx import log

    faulthandler.enable(2)
    handler = log.configure(launch.settings.log_level)
    try:
        from taskx.fronts.runtime.serve import run

        reason = run(launch, in_fd, out_fd, pending, signals.seen)
        if launch.session is not None:
            launch.session.close(reason)
        code = 0
    except BaseException:
        logging.getLogger("taskx").exception("the runtime failed")
        code = 1
    handler.close()
    return code
