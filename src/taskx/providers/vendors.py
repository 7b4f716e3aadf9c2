"""What differs between endpoints that speak the same wire format, as data.

A new OpenAI-compatible vendor needs no row at all when it follows the format; otherwise it gets
one row here and no code. What no row knows is learned from the endpoint's refusal, see `quirks`.
"""

from __future__ import annotations

from dataclasses import dataclass

from taskx.protocol.providers import ProviderKind


@dataclass(frozen=True, slots=True)
class Vendor:
    """One row. `hosts` are host names or, with a leading dot, their ends."""

    name: str
    hosts: tuple[str, ...] = ()
    auth: tuple[str, str] = ("authorization", "Bearer ")
    quirks: frozenset[str] = frozenset()
    """Names of `taskx.providers.quirks` that hold for every model of the vendor."""
    effort_field: str = "reasoning_effort"
    """`reasoning` means an object `{"effort": ...}`."""


ANTHROPIC = Vendor("Anthropic", auth=("x-api-key", ""))
OPENAI = Vendor("OpenAI", ("api.openai.com",), quirks=frozenset({"max_completion_tokens"}))
OLLAMA = Vendor("Ollama")
COMPATIBLE = Vendor("OpenAI-compatible")

COMPATIBLE_VENDORS = (
    OPENAI,
    Vendor(
        "Azure OpenAI",
        (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"),
        auth=("api-key", ""),
        quirks=frozenset({"max_completion_tokens"}),
    ),
    Vendor("OpenRouter", ("openrouter.ai",), effort_field="reasoning"),
    Vendor("Mistral", (".mistral.ai",), quirks=frozenset({"no_stream_options"})),
    Vendor(
        "Cerebras",
        ("api.cerebras.ai",),
        quirks=frozenset({"max_completion_tokens"}),
    ),
    Vendor("Groq", ("api.groq.com",), quirks=frozenset({"max_completion_tokens"})),
)


def vendor_of(kind: ProviderKind, host: str) -> Vendor:
    if kind == "anthropic":
        return ANTHROPIC
    if kind == "ollama":
        return OLLAMA
    for vendor in COMPATIBLE_VENDORS:
        for name in vendor.hosts:
            if host == name or (name.startswith(".") and host.endswith(name)):
                return vendor
    return OPENAI if kind == "openai" else COMPATIBLE
