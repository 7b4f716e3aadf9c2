"""Address and key: what a `ProviderConfig` means as URLs and headers.

Knows nothing of bodies (the wire formats do) or of what a model can do (`catalog` does).
Source: protocol v1, "ProviderConfig"; the project's protocol page, "Base URLs".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from taskx import __version__
from taskx.protocol.base import UNSET
from taskx.protocol.providers import ProviderConfig, ProviderKind, is_loopback
from taskx.providers.vendors import Vendor, vendor_of

DEFAULT_BASES: dict[ProviderKind, str] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "ollama": "http://127.0.0.1:11434",
}
ANTHROPIC_VERSION = "2023-06-01"

_KEY_LIKE = re.compile(r"\b(?:sk|pk|gsk|xai|key|AIza)[-_][A-Za-z0-9_*.\-]{6,}")
_BEARER = re.compile(r"(?i)\bbearer\s+\S+")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests for one configuration go. Its `repr` holds no key."""

    kind: ProviderKind
    model: str
    base: str
    """Without a trailing slash; paths of the wire format are appended to it."""
    query: str
    host: str
    """For people: host, and port when it is not the scheme's own."""
    timeout_s: float
    vendor: Vendor
    secret: str | None = field(repr=False)

    @staticmethod
    def of(config: ProviderConfig) -> Endpoint:
        base = DEFAULT_BASES.get(config.kind, "") if config.base_url is UNSET else config.base_url
        parts = urlsplit(base)
        hostname = parts.hostname or ""
        host = f"[{hostname}]" if ":" in hostname else hostname
        if parts.port is not None:
            host += f":{parts.port}"
        path = _base_path(config.kind, parts.path.rstrip("/"))
        return Endpoint(
            kind=config.kind,
            model=config.model,
            base=f"{parts.scheme}://{host}{path}",
            query=parts.query,
            host=host,
            timeout_s=config.timeout_s,
            vendor=vendor_of(config.kind, hostname),
            secret=config.secret,
        )

    @property
    def origin(self) -> str:
        """Scheme, host and port: what one connection pool serves."""
        return "/".join(self.base.split("/", 3)[:3])

    @property
    def is_local(self) -> bool:
        return is_loopback(urlsplit(self.base).hostname or "")

    def url(self, path: str, query: str = "") -> str:
        queries = "&".join(part for part in (self.query, query) if part)
        return f"{self.base}{path}" + (f"?{queries}" if queries else "")

    def headers(self) -> dict[str, str]:
        headers = {"user-agent": f"taskx/{__version__}"}
        if self.kind == "anthropic":
            headers["anthropic-version"] = ANTHROPIC_VERSION
        if self.secret is not None:
            name, prefix = self.vendor.auth
            headers[name] = prefix + self.secret
        return headers

    def redact(self, text: str) -> str:
        """Text of a server without the key, whole or in the masked forms servers quote."""
        if self.secret is not None and len(self.secret) >= 4:
            for form in {self.secret, quote(self.secret, safe="")}:
                text = text.replace(form, "[key]")
        return _BEARER.sub("bearer [key]", _KEY_LIKE.sub("[key]", text))


def _base_path(kind: ProviderKind, path: str) -> str:
    if kind == "anthropic":
        return path.removesuffix("/v1")
    if kind == "ollama":
        return path.removesuffix("/v1").removesuffix("/api")
    return path or "/v1"
