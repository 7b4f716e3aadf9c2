"""Types of `initialize`, `shutdown`, `exit` and `$/cancelRequest`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from taskx.protocol.base import UNSET, UnsetType, Wire


class ClientInfo(Wire, frozen=True, kw_only=True):
    name: str
    version: str | UnsetType = UNSET


class InitializeParams(Wire, frozen=True, kw_only=True):
    """data_dir: absolute. session_id: resumes or names the session."""

    protocol_version: int
    client_info: ClientInfo | UnsetType = UNSET
    data_dir: str | UnsetType | None = UNSET
    sandbox: bool | UnsetType = UNSET
    session_id: (
        Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$")] | UnsetType | None
    ) = UNSET


class ServerInfo(Wire, frozen=True, kw_only=True):
    name: str
    version: str


class ProviderInfo(Wire, frozen=True, kw_only=True):
    kind: str
    capabilities: dict[str, Any]
    requires_api_key: bool


class Capabilities(Wire, frozen=True, kw_only=True):
    surfaces: list[str]
    tools: list[str]
    sandbox: Literal["bubblewrap", "landlock", "none"]
    languages: list[str]


class SessionInfo(Wire, frozen=True, kw_only=True):
    """durable: whether the session is recorded; without a data dir it is not."""

    id: str
    durable: bool


class InitializeResult(Wire, frozen=True, kw_only=True):
    protocol_version: int
    server_info: ServerInfo
    providers: list[ProviderInfo]
    capabilities: Capabilities
    limits: dict[str, int]
    session: SessionInfo


class CancelParams(Wire, frozen=True, kw_only=True):
    id: int | str
