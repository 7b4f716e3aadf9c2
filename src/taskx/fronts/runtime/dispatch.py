"""From a method's row and its raw params to its handler's result."""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from types import CoroutineType
from typing import Any, Literal, get_args, get_origin

import msgspec

from taskx.app import App
from taskx.errors import InvalidParams
from taskx.protocol.methods import METHODS, Method
from taskx.rpc.peer import Peer, Request

Handler = Callable[["Context", Any], Any]


class Context:
    """What a handler may use beside its params.

    request_id: of the request it answers; None in a handler of a notification.
    """

    __slots__ = ("_peer", "_request", "app")

    def __init__(self, app: App, peer: Peer, request: Request | None) -> None:
        self.app = app
        self._peer = peer
        self._request = request

    @property
    def request_id(self) -> int | str | None:
        return self._request.id if self._request is not None else None

    def notify(self, method: str, params: Any) -> None:
        """Sends a notification. After the request's reply there are none."""
        if self._request is not None and self._request.answered:
            return
        row = METHODS[method]
        stream = None
        if row.overflow == "merge" and self._peer.congested:
            stream = _stream(method, params)
        self._peer.notify(method, params, stream=stream, droppable=row.overflow == "drop")

    async def writable(self) -> None:
        """Waits while the client does not read. Await it between notifications of a stream."""
        await self._peer.writable()

    async def call(self, method: str, params: Any) -> Any:
        """Asks the client. Returns its result as plain data, or as the row's type when it has one.

        Raises rpc.peer.RemoteError, rpc.peer.Disconnected, or msgspec.ValidationError for a result
        of the wrong shape. Cancelling the caller withdraws the request.
        """
        result = await self._peer.call(method, params)
        row = METHODS[method]
        return result if row.result is None else msgspec.convert(result, row.result)


def _stream(method: str, params: Any) -> Hashable | None:
    """What tells a delta's stream from others: everything but its text."""
    plain = msgspec.to_builtins(params)
    event = plain.get("event")
    if not isinstance(event, dict) or not isinstance(event.pop("text", None), str):
        return None
    return f"{method} {json.dumps(plain, sort_keys=True)}"


class Dispatch:
    """Calls handlers; keeps them, once imported, and the locks of exclusive methods."""

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        # First calls under way of each module. One cancelled before it began stays counted, which
        # only means that later calls of that module queue too.
        self._loading: Counter[str] = Counter()

    def call(self, row: Method, context: Context, raw_params: Any) -> Any:
        """The handler's result, or its coroutine. Raises InvalidParams."""
        params = convert_params(row, raw_params)
        handler = self._handlers.get(row.name)
        if handler is not None and not self._loading:
            return self._call(row, handler, context, params)
        module = str(row.handler).partition(":")[0]
        if self._loading[module] or (handler is None and module not in sys.modules):
            self._loading[module] += 1
            return self._load_and_call(row, module, context, params)
        return self._call(row, handler or self._load(row), context, params)

    def _call(self, row: Method, handler: Handler, context: Context, params: Any) -> Any:
        if row.exclusive is not None:
            return self._exclusive(self._locks[row.exclusive], handler, context, params)
        return handler(context, params)

    async def _load_and_call(self, row: Method, module: str, context: Context, params: Any) -> Any:
        """The first call of a module: it is imported in a thread, which may take a while.

        Its calls that come meanwhile queue up behind it, so that none overtakes another.
        """
        try:
            async with self._locks[f"import {module}"]:
                handler = self._handlers.get(row.name)
                if handler is None:
                    handler = await asyncio.to_thread(self._load, row)
                # All that queued here would be answered at once, read or not.
                await context.writable()
        finally:
            self._loading[module] -= 1
            if not self._loading[module]:
                del self._loading[module]
        result = self._call(row, handler, context, params)
        return await result if type(result) is CoroutineType else result

    def _load(self, row: Method) -> Handler:
        assert row.handler is not None
        module, _, function = row.handler.partition(":")
        handler: Handler = getattr(importlib.import_module(module), function)
        self._handlers[row.name] = handler
        return handler

    async def _exclusive(
        self, lock: asyncio.Lock, handler: Handler, context: Context, params: Any
    ) -> Any:
        async with lock:
            return await handler(context, params)


def convert_params(row: Method, raw: Any) -> Any:
    """The params as the row's type. Raises InvalidParams naming the field and what was expected."""
    if row.params is None:
        if raw is None or type(raw) is dict:
            return None
        raise InvalidParams("invalid params: expected `object`")
    try:
        return msgspec.convert({} if raw is None else raw, row.params)
    except msgspec.ValidationError as error:
        raise InvalidParams(f"invalid params: {_explain(str(error), row.params)}") from None


_PLACE = re.compile(r" - at `(?:key in )?\$(.*)`$")


def _explain(message: str, kind: Any) -> str:
    """`Expected `int`, got `str` - at `$.query`` -> `params.query: expected `int`, got `str``."""
    place = _PLACE.search(message)
    path = place.group(1) if place else ""
    text = message[: place.start()] if place else message
    if text.startswith(("Invalid enum value", "Invalid value")):
        allowed = _allowed(kind, path)
        text = f"expected one of {allowed}" if allowed else "not one of the values expected here"
    return f"params{path}: {text[:1].lower()}{text[1:]}"


def _allowed(kind: Any, path: str) -> str:
    """The literals that the field at `path` may have, or "" when that is not simple."""
    for step in re.findall(r"\.([^.\[]+)|\[", path):
        kind = _field(kind, step) if step else _item(kind)
    literals = [value for part in _parts(kind) if get_origin(part) is Literal
                for value in get_args(part)]  # fmt: skip
    return ", ".join(f"`{value}`" for value in literals)


def _parts(kind: Any) -> list[Any]:
    """A type, or the members of a union, without `Annotated`."""
    if hasattr(kind, "__metadata__"):
        return _parts(get_args(kind)[0])
    if get_origin(kind) is Literal or not get_args(kind) or get_origin(kind) in (list, dict, tuple):
        return [kind]
    return [part for member in get_args(kind) for part in _parts(member)]


def _field(kind: Any, name: str) -> Any:
    for part in _parts(kind):
        if isinstance(part, type) and issubclass(part, msgspec.Struct):
            for field in msgspec.structs.fields(part):
                if field.encode_name == name:
                    return field.type
    return None


def _item(kind: Any) -> Any:
    for part in _parts(kind):
        if get_origin(part) in (list, tuple):
            return get_args(part)[0]
    return None
