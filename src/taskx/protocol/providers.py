"""Model endpoints on the wire: `ProviderConfig`, and the `provider/*` methods.

Shapes and ranges only. What an address means, and what a model can do, is in `taskx.providers`.
Source: protocol v1, "ProviderConfig" and "provider/*".
"""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from taskx.protocol.base import UNSET, UnsetType, Wire

ProviderKind = Literal["anthropic", "openai", "openaiCompatible", "ollama"]
Capability = Literal["tools", "vision", "thinking", "embedding"]

CAPABILITIES: tuple[Capability, ...] = ("tools", "vision", "thinking", "embedding")
"""The order in which a model's capabilities are listed."""

DEFAULT_TIMEOUT_MS = 120_000
MIN_TIMEOUT_MS = 1_000
MAX_TIMEOUT_MS = 600_000


def is_loopback(host: str) -> bool:
    """Whether a host name of a URL can only mean this machine."""
    if host == "localhost" or host.endswith(".localhost") or host == "::1":
        return True
    parts = host.split(".")
    return len(parts) == 4 and parts[0] == "127" and all(part.isdigit() for part in parts)


class ProviderConfig(Wire, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which model, where, and with which key. Its `repr` and `public()` never hold the key."""

    kind: ProviderKind
    model: Annotated[str, msgspec.Meta(min_length=1, max_length=256)]
    base_url: str | UnsetType = UNSET
    api_key: str | UnsetType = UNSET
    timeout_ms: int = DEFAULT_TIMEOUT_MS

    def __post_init__(self) -> None:
        for problem in self._problems():
            raise ValueError(problem)

    def _problems(self) -> list[str]:
        problems = []
        if any(ord(char) < 32 or 127 <= ord(char) < 160 for char in self.model):
            problems.append("`model`: expected a name without control characters")
        if self.base_url is UNSET:
            if self.kind == "openaiCompatible":
                problems.append("`baseUrl`: required for kind `openaiCompatible`")
        else:
            problems += _url_problems(self.base_url, self.secret is not None)
        if self.kind != "ollama" and self.secret is None:
            problems.append(f"`apiKey`: required for kind `{self.kind}`")
        if self.secret is not None and not _is_header_text(self.secret):
            problems.append("`apiKey`: expected printable ASCII, no spaces at its ends")
        return problems

    @property
    def secret(self) -> str | None:
        """The key, or None for an absent or empty one."""
        return self.api_key or None if self.api_key is not UNSET else None

    @property
    def timeout_s(self) -> float:
        return min(max(self.timeout_ms, MIN_TIMEOUT_MS), MAX_TIMEOUT_MS) / 1000

    def public(self) -> dict[str, str]:
        """What may be stored or shown: everything but the key."""
        shown = {"kind": str(self.kind), "model": self.model}
        if self.base_url is not UNSET:
            shown["baseUrl"] = self.base_url
        return shown

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.public().items())
        return f"ProviderConfig({fields})"

    __str__ = __repr__

    def __rich_repr__(self) -> list[tuple[str, str]]:
        return list(self.public().items())


def _is_header_text(key: str) -> bool:
    return key == key.strip() and all(32 <= ord(char) < 127 for char in key)


def _url_problems(url: str, has_key: bool) -> list[str]:
    """What is wrong with a base URL. The URL itself is never quoted: it may hold a password."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        return ["`baseUrl`: expected a valid URL"]
    if parts.scheme not in ("http", "https") or not host:
        return ["`baseUrl`: expected an http or https URL with a host"]
    if any(ord(char) <= 32 or ord(char) == 127 for char in url):
        return ["`baseUrl`: expected a URL without spaces or control characters"]
    if "@" in parts.netloc:
        return ["`baseUrl`: expected a URL without credentials"]
    if parts.fragment:
        return ["`baseUrl`: expected a URL without a fragment"]
    if has_key and parts.scheme == "http" and not is_loopback(host):
        return ["`baseUrl`: a key is sent over https only, or over http to a loopback host"]
    return []


class ProviderCapabilities(Wire, frozen=True, kw_only=True):
    """What the endpoints of a kind can do; in `provider/test`, what the model can do."""

    streaming: bool = True
    tools: bool = True
    vision: bool = True
    thinking: bool = True
    list_models: bool = True
    prompt_cache: bool = False
    """Whether prompt caching is asked for by the runtime."""


class ProviderParams(Wire, frozen=True, kw_only=True):
    """Params of the methods that ask one endpoint."""

    provider: ProviderConfig


class ListModelsResult(Wire, frozen=True, kw_only=True):
    models: list[str]
    """Sorted, at most 500."""


class ModelInfo(Wire, frozen=True, kw_only=True):
    id: str
    capabilities: list[Capability] = msgspec.field(default_factory=list)
    """In the order of `CAPABILITIES`; empty when unknown."""
    context_window: int | UnsetType = UNSET
    details: str | UnsetType = UNSET
    """Size and quantization, such as `8.2B · Q4_K_M`."""


class ModelsResult(Wire, frozen=True, kw_only=True):
    models: list[ModelInfo]


class ContextWindowResult(Wire, frozen=True, kw_only=True):
    tokens: int


class ProviderTestResult(Wire, frozen=True, kw_only=True):
    latency_ms: int
    models: list[str]
    model_available: bool | None
    """None when the endpoint cannot list models."""
    capabilities: ProviderCapabilities
