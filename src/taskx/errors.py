"""The exception tree, with the wire code of each class.

TaskxError                      -32603
  RpcError
    ParseError                  -32700
    InvalidRequest              -32600
    MethodNotFound              -32601
    InvalidParams               -32602
    ProtocolMismatch            -32002
    NotInitialized              -32003
    RequestCancelled            -32800
    SessionInUse                -32006
  NoWorkspace                   -32004
  ProviderError(kind, status)   -32001
  ToolError(kind)               -32005

`rpc/peer.py` has the one function that turns these into wire errors. Anything else that is
raised is a bug: logged on stderr with its traceback, answered as -32603 without it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class TaskxError(Exception):
    """Base of all errors this package raises on purpose. `message` is for people."""

    code = -32603

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def data(self) -> dict[str, Any] | None:
        """The `data` member of the wire error, or None for no such member."""
        return None


class RpcError(TaskxError):
    """What is wrong with a message itself."""


class ParseError(RpcError):
    code = -32700


class InvalidRequest(RpcError):
    code = -32600


class MethodNotFound(RpcError):
    code = -32601


class InvalidParams(RpcError):
    """The message names the field and what was expected."""

    code = -32602


class ProtocolMismatch(RpcError):
    code = -32002

    def __init__(self, message: str, server_version: int) -> None:
        super().__init__(message)
        self.server_version = server_version

    def data(self) -> dict[str, Any]:
        return {"serverProtocolVersion": self.server_version}


class NotInitialized(RpcError):
    code = -32003


class RequestCancelled(RpcError):
    code = -32800

    def data(self) -> dict[str, Any]:
        return {"kind": "cancelled"}


class SessionInUse(RpcError):
    code = -32006

    def data(self) -> dict[str, Any]:
        return {"kind": "sessionInUse"}


class NoWorkspace(TaskxError):
    code = -32004

    def __init__(self, message: str = "no workspace is open: send workspace/open first") -> None:
        super().__init__(message)


# kind -> whether the same request may succeed later. Protocol v1, "Errors".
PROVIDER_KINDS: dict[str, bool] = {
    "invalidConfig": False,
    "invalidRequest": False,
    "auth": False,
    "permissionDenied": False,
    "notFound": False,
    "rateLimited": True,
    "overloaded": True,
    "server": True,
    "network": True,
    "timeout": True,
    "cancelled": False,
    "protocol": False,
}


class ProviderError(TaskxError):
    """A model endpoint refused, failed or could not be reached. The message holds no secret."""

    code = -32001

    def __init__(
        self,
        kind: str,
        message: str,
        status: int | None = None,
        retry_after_ms: int | None = None,
        context_overflow: bool = False,
    ) -> None:
        """context_overflow: the prompt does not fit the model's window; a shorter one may."""
        if kind not in PROVIDER_KINDS:
            raise ValueError(f"unknown provider error kind {kind!r}")
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.retry_after_ms = retry_after_ms
        self.context_overflow = context_overflow

    @property
    def retryable(self) -> bool:
        return PROVIDER_KINDS[self.kind]

    def data(self) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "kind": self.kind,
            "message": self.message,
            "retryable": self.retryable,
        }
        if self.status is not None:
            fields["status"] = self.status
        if self.retry_after_ms is not None:
            fields["retryAfterMs"] = self.retry_after_ms
        if self.context_overflow:
            fields["contextOverflow"] = True
        return fields


TOOL_KINDS = frozenset(
    {
        "invalidInput",
        "notFound",
        "outsideWorkspace",
        "excluded",
        "stale",
        "tooLarge",
        "denied",
        "timeout",
        "cancelled",
        "failed",
        "unavailable",
    }
)


class ToolError(TaskxError):
    """Data for the model: the task goes on. A protocol error only from `tools/call`."""

    code = -32005

    def __init__(self, kind: str, message: str) -> None:
        if kind not in TOOL_KINDS:
            raise ValueError(f"unknown tool error kind {kind!r}")
        super().__init__(message)
        self.kind = kind

    def data(self) -> dict[str, Any]:
        return {"kind": self.kind, "message": self.message}
