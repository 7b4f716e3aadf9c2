"""`initialize`, and what is answered from its tables.

Imported before the event loop is: standard library and light modules only.
"""

from __future__ import annotations

import os

from taskx import __version__
from taskx.engines import tasks
from taskx.errors import InvalidParams, ProtocolMismatch, SessionInUse
from taskx.process import available
from taskx.protocol import capabilities
from taskx.sessions import record
from taskx.sessions.lease import LeaseTaken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from taskx.config import Settings
    from taskx.fronts.runtime.dispatch import Context


class Launch:
    """What `initialize` has settled: the data dir, the session, the sandbox."""

    __slots__ = ("data_dir", "initialized", "sandbox", "session", "settings")

    def __init__(self, settings: Settings, session: record.Session | None = None) -> None:
        """session: opened already, when the command line named one with a data dir."""
        self.settings = settings
        self.data_dir = settings.data_dir
        self.session = session
        self.sandbox = settings.config.sandbox
        self.initialized = False


def initialize(launch: Launch, params: Mapping[str, Any]) -> dict[str, Any]:
    """Opens the session, marks what a killed runtime left running, and returns the result.

    params: of valid types; values are checked here. Raises the errors of `initialize`, after which
    it may be called again.
    """
    version = params["protocolVersion"]
    if version != capabilities.PROTOCOL_VERSION:
        raise ProtocolMismatch(
            f"protocol version {version} is not supported; this runtime speaks "
            f"{capabilities.PROTOCOL_VERSION}",
            capabilities.PROTOCOL_VERSION,
        )
    data_dir = _data_dir(launch, params.get("dataDir"))
    session = _open_session(launch, data_dir, params.get("sessionId"))
    launch.session = session
    if data_dir is not None:
        try:
            tasks.mark_interrupted(data_dir, session.id)
        except OSError as error:
            raise InvalidParams(f"params.dataDir: {data_dir}: {error.strerror}") from None
    launch.data_dir = data_dir
    launch.sandbox = launch.sandbox and params.get("sandbox", True)
    launch.initialized = True
    return {
        "protocolVersion": capabilities.PROTOCOL_VERSION,
        "serverInfo": {"name": capabilities.SERVER_NAME, "version": __version__},
        "providers": capabilities.PROVIDERS,
        "capabilities": {
            "surfaces": capabilities.SURFACES,
            "tools": capabilities.TOOLS,
            "sandbox": available.sandbox_kind() if launch.sandbox else "none",
            "languages": capabilities.LANGUAGES,
        },
        "limits": capabilities.LIMITS,
        "session": {"id": session.id, "durable": session.durable},
    }


def _data_dir(launch: Launch, asked: str | None) -> str | None:
    given = launch.settings.data_dir
    if asked is None:
        return given
    if not os.path.isabs(asked) or "\0" in asked:
        raise InvalidParams("params.dataDir: expected an absolute path")
    if given is not None and os.path.realpath(given) != os.path.realpath(asked):
        raise InvalidParams("params.dataDir: the command line gave another data dir")
    return asked


def _open_session(launch: Launch, data_dir: str | None, asked: str | None) -> record.Session:
    named = launch.settings.session_id
    if asked is not None and named is not None and asked != named:
        raise InvalidParams("params.sessionId: the command line gave another session")
    opened = launch.session
    if opened is not None:
        if asked in (None, opened.id) and opened.data_dir == data_dir:
            return opened
        if named is None:
            opened.abandon()  # of an `initialize` that failed later on
    session_id = asked or named or record.fresh_id()
    if not record.valid_id(session_id):
        raise InvalidParams(
            "params.sessionId: expected 1 to 128 letters, digits, `.`, `_` or `-`, no leading `.`"
        )
    try:
        return record.Session(session_id, data_dir)
    except LeaseTaken as error:
        raise SessionInUse(str(error)) from None
    except OSError as error:
        raise InvalidParams(f"params.dataDir: {data_dir}: {error.strerror}") from None


def provider_capabilities(context: Context, params: None) -> list[dict[str, object]]:
    return capabilities.PROVIDERS
