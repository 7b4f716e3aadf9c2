"""The lifecycle gate: every message passes it, and only what is in order goes on to a handler."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from taskx.app import App
from taskx.errors import InvalidRequest, MethodNotFound, NotInitialized, NoWorkspace
from taskx.fronts.runtime.dispatch import Context, Dispatch, convert_params
from taskx.fronts.runtime.lifecycle import Launch, initialize
from taskx.protocol.methods import METHODS
from taskx.rpc.peer import Peer, Request

log = logging.getLogger("taskx.session")


class Gate:
    """The peer's dispatcher. `attach` the peer before the first message."""

    def __init__(self, launch: Launch, on_exit: Callable[[], None]) -> None:
        self._launch = launch
        self._on_exit = on_exit
        self._dispatch = Dispatch()
        self._shut_down = False
        self._exited = False
        self._peer: Peer | None = None
        self.app: App | None = None

    def attach(self, peer: Peer) -> None:
        self._peer = peer
        if self._launch.initialized:
            self._start()

    def close(self) -> None:
        """From now on every request is refused."""
        self._shut_down = True

    def _start(self) -> None:
        launch = self._launch
        assert launch.session is not None
        self.app = App(launch.settings, launch.data_dir, launch.sandbox, launch.session)

    def request(self, request: Request, method: str, params: Any) -> Any:
        if self._shut_down:
            raise InvalidRequest("invalid request: the runtime is shutting down")
        app = self.app
        if app is None:
            if method != "initialize":
                raise NotInitialized(f"not initialized: send initialize before {method}")
            return self._initialize(params)
        row = METHODS.get(method)
        if row is None or row.kind != "request" or row.direction != "server":
            raise MethodNotFound(f"unknown method {method!r}")
        if row.handler is None:
            if method == "initialize":
                raise InvalidRequest("invalid request: the runtime is initialized already")
            return self._shutdown()
        if row.needs_workspace and app.workspace is None:
            raise NoWorkspace
        assert self._peer is not None
        return self._dispatch.call(row, Context(app, self._peer, request), params)

    def notification(self, method: str, params: Any) -> Coroutine[Any, Any, None] | None:
        if self._exited:
            return None
        if method == "exit":
            self._exited = True
            self._on_exit()
            return None
        row = METHODS.get(method)
        unknown = row is None or row.kind != "notification" or row.direction != "server"
        late = self._shut_down and method != "$/cancelRequest"
        if self.app is None or self._peer is None or row is None or unknown or late:
            log.debug("notification %r ignored", method)
            return None
        if row.handler is None:
            self._peer.cancel(convert_params(row, params).id)
            return None
        context = Context(self.app, self._peer, None)
        work: Coroutine[Any, Any, None] | None = self._dispatch.call(row, context, params)
        return work

    def _initialize(self, params: Any) -> dict[str, Any]:
        row = METHODS["initialize"]
        checked = convert_params(row, params)
        result = initialize(self._launch, msgspec.to_builtins(checked))
        self._start()
        return result

    def _shutdown(self) -> None:
        """In-flight work is cancelled; its replies may follow this one's."""
        self._shut_down = True
        assert self._peer is not None
        self._peer.cancel_all()
