"""The four kinds of endpoints, as `initialize` and `provider/capabilities` describe them.

The same facts as `taskx.protocol.capabilities.PROVIDERS`, typed; a test compares them.
"""

from __future__ import annotations

from taskx.protocol.providers import ProviderCapabilities, ProviderKind

CAPABILITIES_OF: dict[ProviderKind, ProviderCapabilities] = {
    "anthropic": ProviderCapabilities(prompt_cache=True),
    "openai": ProviderCapabilities(),
    "openaiCompatible": ProviderCapabilities(),
    "ollama": ProviderCapabilities(),
}
REQUIRES_KEY: dict[ProviderKind, bool] = {
    "anthropic": True,
    "openai": True,
    "openaiCompatible": True,
    "ollama": False,
}
