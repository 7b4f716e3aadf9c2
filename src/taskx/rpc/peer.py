"""One JSON-RPC 2.0 connection: envelopes, ids, replies, cancelling, calls in both directions.

It owns the promise of exactly one reply per request. What a method means is the dispatcher's part.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Coroutine, Hashable
from types import CoroutineType
from typing import Any, Protocol

import msgspec

from taskx.errors import InvalidRequest, ParseError, RequestCancelled, RpcError, TaskxError
from taskx.rpc import codec
from taskx.rpc.framing import LineSplitter, LineTooLong
from taskx.rpc.stdio import Writer

log = logging.getLogger("taskx.rpc")

RequestId = int | str

# Received lines are answered in slices of this length, so that timers and cancels get their turn.
_SLICE_SECONDS = 0.004
# Deltas for a client that does not read are joined up to messages of this many characters.
_MERGED_CHARACTERS = 1 << 20
# Requests under way at once; lines behind them wait in the pipe, as memory is not for the asking.
MAX_IN_FLIGHT = 10_000
# A request that does not end this long after its cancel is answered without waiting for it.
CANCEL_GRACE_SECONDS = 4.0


class RemoteError(Exception):
    """The other side answered our request with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code


class Disconnected(Exception):
    """The other side is gone, so that no answer will come."""


class Dispatcher(Protocol):
    """What a front gives the peer. Both may raise; a coroutine is awaited as a task of its own."""

    def request(self, request: Request, method: str, params: Any) -> Any: ...

    def notification(self, method: str, params: Any) -> Coroutine[Any, Any, None] | None: ...


class Request:
    """A request in flight."""

    __slots__ = ("answered", "cancelled", "id", "task")

    def __init__(self, request_id: RequestId) -> None:
        self.id = request_id
        self.task: asyncio.Task[Any] | None = None
        self.answered = False
        self.cancelled = False


class _Stalled:
    """An outgoing message that waits, unencoded, for a client that does not read."""

    __slots__ = ("message", "stream")

    def __init__(self, message: dict[str, Any], stream: Hashable | None) -> None:
        self.message = message
        self.stream = stream


def wire_error(error: BaseException) -> dict[str, Any]:
    """The `error` member for an exception. What is not a TaskxError is a bug: logged, not told."""
    if isinstance(error, TaskxError):
        member: dict[str, Any] = {"code": error.code, "message": error.message}
        data = error.data()
        if data is not None:
            member["data"] = data
        return member
    if isinstance(error, codec.MessageTooLarge):
        message = f"the result has {error.args[0]} bytes; a message may have 33554432"
        return {"code": -32603, "message": message}
    log.error("internal error", exc_info=error)
    return {"code": -32603, "message": f"internal error: {type(error).__name__}"}


def valid_id(value: Any) -> bool:
    kind = type(value)
    return kind is str or (kind is int and -(2**63) <= value < 2**64)


class Peer:
    """The connection. `receive` takes bytes as they come; everything else happens on the loop.

    withdraw_method: the notification that tells the other side that our call is void.
    on_protocol_end: called when the stream cannot go on (an oversize line).
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        writer: Writer,
        *,
        withdraw_method: str,
        on_protocol_end: Callable[[], None],
        splitter: LineSplitter | None = None,
    ) -> None:
        self._dispatcher = dispatcher
        self._writer = writer
        self._withdraw_method = withdraw_method
        self._on_protocol_end = on_protocol_end
        self._splitter = splitter or LineSplitter()
        self._loop = asyncio.get_running_loop()
        self._lines: deque[bytes | None] = deque()
        self._scheduled = False
        self._in_flight: dict[RequestId, Request] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._calls: dict[str, asyncio.Future[Any]] = {}
        self._call_prefix = f"taskx-{os.urandom(6).hex()}-"
        self._n_calls = 0
        self._stalled: deque[_Stalled] = deque()
        self._gone = False
        self._on_idle: list[asyncio.Future[None]] = []

    # Incoming

    @property
    def backlog(self) -> int:
        """Lines received and not looked at yet."""
        return len(self._lines)

    def receive(self, chunk: bytes) -> None:
        try:
            self._lines.extend(self._splitter.feed(chunk))
        except LineTooLong as error:
            self._lines.extend(error.args[0])
            self._lines.append(None)
        self._work()

    def _work(self) -> None:
        """Handles waiting lines for one slice of time."""
        self._scheduled = False
        deadline = self._loop.time() + _SLICE_SECONDS
        lines = self._lines
        while lines:
            if self.congested:
                self._writer.when_below(0, self._schedule)
                return
            if len(self._in_flight) >= MAX_IN_FLIGHT:
                return  # `_finish` goes on
            line = lines.popleft()
            if line is None:
                lines.clear()
                self._reply_error(None, ParseError("parse error: a line is longer than 32 MiB"))
                self._on_protocol_end()
                return
            self._line(line)
            if lines and self._loop.time() > deadline:
                self._schedule()
                return
        self._check_idle()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._work)

    def _line(self, line: bytes) -> None:
        try:
            message = codec.decode(line)
        except ParseError as error:
            self._reply_error(None, error)
            return
        if type(message) is not dict:
            what = "a batch" if type(message) is list else "not an object"
            self._reply_error(None, InvalidRequest(f"invalid request: the message is {what}"))
            return
        method = message.get("method")
        if method is None and ("result" in message or "error" in message):
            self._response(message)
            return
        request_id: Any = message.get("id")
        has_id = "id" in message
        good_id = has_id and valid_id(request_id)
        if message.get("jsonrpc") != "2.0":
            problem = '`jsonrpc` must be "2.0"'
        elif has_id and not good_id:
            problem = "`id` must be a string or a 64-bit integer"
        elif type(method) is not str:
            if good_id and request_id in self._calls:
                log.debug("reply without result and error ignored")
                return
            problem = "`method` must be a string"
        elif has_id and request_id in self._in_flight:
            problem = f"`id` {request_id!r} is in flight"
        else:
            if has_id:
                self._request(request_id, method, message.get("params"))
            else:
                self._notification(method, message.get("params"))
            return
        reply_id = request_id if good_id else None
        self._reply_error(reply_id, InvalidRequest(f"invalid request: {problem}"))

    def _request(self, request_id: RequestId, method: str, params: Any) -> None:
        request = Request(request_id)
        try:
            result = self._dispatcher.request(request, method, params)
        except Exception as error:
            self._reply_error(request_id, error)
            return
        if type(result) is CoroutineType:
            self._in_flight[request_id] = request
            request.task = self._loop.create_task(result, name=method)
            request.task.add_done_callback(lambda task: self._ended(request, task))
        else:
            self._reply(request_id, result)

    def _ended(self, request: Request, task: asyncio.Task[Any]) -> None:
        """Answers for a handler that ended, whatever it did."""
        if task.cancelled() or request.cancelled:
            if not task.cancelled():
                task.exception()  # marks it as seen
            self._finish(request, None, RequestCancelled("the request was cancelled"))
        elif error := task.exception():
            self._finish(request, None, error)
        else:
            self._finish(request, task.result(), None)

    def _finish(self, request: Request, result: Any, error: BaseException | None) -> None:
        if self._in_flight.get(request.id) is not request:
            return  # answered when its cancel ran out of patience
        del self._in_flight[request.id]
        if self._lines:
            self._schedule()
        request.answered = True
        if error is not None:
            self._reply_error(request.id, error)
        else:
            self._reply(request.id, result)
        self._check_idle()

    def _notification(self, method: str, params: Any) -> None:
        try:
            work = self._dispatcher.notification(method, params)
        except Exception as error:
            self._notification_failed(method, error)
            return
        if work is not None:
            task = self._loop.create_task(self._guard(method, work), name=method)
            self._background.add(task)
            task.add_done_callback(self._background.discard)

    async def _guard(self, method: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:
            self._notification_failed(method, error)

    def _notification_failed(self, method: str, error: Exception) -> None:
        if isinstance(error, TaskxError):
            log.info("notification %s ignored: %s", method, error.message)
        else:
            log.error("notification %s failed", method, exc_info=error)

    def _response(self, message: dict[str, Any]) -> None:
        """Settles one of our calls. Late, duplicate and malformed replies are ignored."""
        call_id = message.get("id")
        future = self._calls.get(call_id) if type(call_id) is str else None
        error = message.get("error")
        if future is None or future.done():
            log.debug("reply to no open call ignored")
        elif message.get("jsonrpc") != "2.0" or ("result" in message) == ("error" in message):
            log.debug("malformed reply ignored")
        elif "result" in message:
            future.set_result(message["result"])
        elif (
            isinstance(error, dict)
            and type(error.get("code")) is int
            and isinstance(error.get("message"), str)
        ):
            future.set_exception(RemoteError(error["code"], error["message"]))
        else:
            log.debug("malformed error reply ignored")

    # Cancelling and ending

    def cancel(self, request_id: Any) -> None:
        """Cancels a request in flight; anything else is harmless."""
        request = self._in_flight.get(request_id) if valid_id(request_id) else None
        if request is not None:
            self._cancel(request)

    def cancel_all(self) -> None:
        for request in list(self._in_flight.values()):
            self._cancel(request)

    def _cancel(self, request: Request) -> None:
        if request.cancelled or request.task is None:
            return
        request.cancelled = True
        request.task.cancel()
        self._loop.call_later(CANCEL_GRACE_SECONDS, self._give_up, request)

    def _give_up(self, request: Request) -> None:
        self._finish(request, None, RequestCancelled("the request was cancelled"))

    def client_gone(self) -> None:
        """No answer will come any more: our open calls fail, later ones at once."""
        self._gone = True
        for future in self._calls.values():
            if not future.done():
                future.set_exception(Disconnected("the client is gone"))

    async def idle(self) -> None:
        """Returns when every line was looked at and every request has its reply."""
        if self._lines or self._in_flight:
            done = self._loop.create_future()
            self._on_idle.append(done)
            await done

    def _check_idle(self) -> None:
        if self._on_idle and not self._lines and not self._in_flight:
            for done in self._on_idle:
                if not done.done():
                    done.set_result(None)
            self._on_idle.clear()

    async def close(self, grace_seconds: float) -> None:
        """Cancels what still runs and waits for it, no longer than `grace_seconds`."""
        self.cancel_all()
        tasks = [r.task for r in self._in_flight.values() if r.task is not None]
        for task in self._background:
            task.cancel()
        tasks += self._background
        if tasks:
            await asyncio.wait(tasks, timeout=grace_seconds)
        for request in list(self._in_flight.values()):
            self._give_up(request)

    # Outgoing

    def notify(
        self,
        method: str,
        params: Any,
        *,
        stream: Hashable | None = None,
        droppable: bool = False,
    ) -> None:
        """Sends a notification.

        While the client does not read: a `droppable` one is dropped, and one with a `stream` key is
        merged into the last waiting one of the same key by joining `params.event.text`.
        """
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self._send(message, stream, droppable)

    async def call(self, method: str, params: Any) -> Any:
        """Sends a request and returns the result.

        Raises RemoteError or Disconnected. When the caller is cancelled the request is withdrawn.
        """
        if self._gone:
            raise Disconnected("the client is gone")
        self._n_calls += 1
        call_id = f"{self._call_prefix}{self._n_calls}"
        future: asyncio.Future[Any] = self._loop.create_future()
        self._calls[call_id] = future
        self._send({"jsonrpc": "2.0", "id": call_id, "method": method, "params": params})
        try:
            return await future
        except asyncio.CancelledError:
            self.notify(self._withdraw_method, {"id": call_id})
            raise
        finally:
            del self._calls[call_id]

    @property
    def congested(self) -> bool:
        """Whether messages wait for a client that does not read.

        What is stalled counts too: the pipe may take the bytes that made the queue full just after
        a message was set aside, and then the queue alone would look as if it had room.
        """
        return not self._writer.broken and (bool(self._stalled) or self._writer.full)

    async def writable(self) -> None:
        """Work that produces output waits here for a client that does not read."""
        while self.congested:
            await self._writer.drained()

    def _reply(self, request_id: RequestId, result: Any) -> None:
        self._send({"jsonrpc": "2.0", "id": request_id, "result": result})

    def _reply_error(self, request_id: RequestId | None, error: BaseException) -> None:
        if isinstance(error, RpcError):
            log.debug("refused: %s", type(error).__name__)
        self._send({"jsonrpc": "2.0", "id": request_id, "error": wire_error(error)})

    def _send(
        self, message: dict[str, Any], stream: Hashable | None = None, droppable: bool = False
    ) -> None:
        if not self._stalled and not self._writer.full:
            self._writer.write(self._encode(message))
            return
        if droppable or self._writer.broken:
            return
        if stream is not None and self._merge(message, stream):
            return
        if not self._stalled:
            self._writer.when_below(0, self._unstall)
        self._stalled.append(_Stalled(message, stream))

    def _merge(self, message: dict[str, Any], stream: Hashable) -> bool:
        """Joins a delta to the last waiting message, if that is one of the same stream."""
        if not self._stalled or self._stalled[-1].stream != stream:
            return False
        waiting = self._stalled[-1].message
        params = msgspec.to_builtins(waiting["params"])
        text = params["event"]["text"]
        if len(text) > _MERGED_CHARACTERS:
            return False
        text += msgspec.to_builtins(message["params"])["event"]["text"]
        params["event"]["text"] = text
        waiting["params"] = params
        return True

    def _unstall(self) -> None:
        while self._stalled and not self._writer.full:
            self._writer.write(self._encode(self._stalled.popleft().message))
        if self._stalled:
            self._writer.when_below(0, self._unstall)

    def _encode(self, message: dict[str, Any]) -> bytes:
        try:
            return codec.encode(message)
        except Exception as error:
            if "method" in message:
                log.error("message %s not sent: %s", message["method"], type(error).__name__)
                return b""
            return codec.encode({"jsonrpc": "2.0", "id": message["id"], "error": wire_error(error)})
