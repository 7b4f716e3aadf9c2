"""What a model can do and how much it can read: as the endpoint says, else by its family.

Knows no addresses and no message bodies. Source: protocol v1, "provider/models" and "Context
compression"; model families by the vendors' model pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from taskx.protocol.base import UNSET
from taskx.protocol.providers import CAPABILITIES, Capability, ModelInfo, ProviderKind

MAX_MODELS = 500
MIN_WINDOW = 256
MAX_WINDOW = 100_000_000
"""A reported window outside these is a mistake of the endpoint."""

COMPATIBLE_WINDOW_FIELDS = (
    ("context_length",),
    ("max_context_length",),
    ("context_window",),
    ("max_model_len",),
    ("max_token_size",),
    ("top_provider", "context_length"),
    ("meta", "n_ctx"),
)
"""First found wins. `meta.n_ctx` is llama.cpp's."""

_EMBEDDING = re.compile(r"embed|(?:^|[/-])(?:bge|e5|gte)-")
_NOT_CHAT = re.compile(
    r"whisper|tts|dall-e|image|audio|realtime|transcribe|moderation|sora|davinci|babbage"
)
_REASONING = re.compile(r"(?:^|[/.])(?:o[134](?:$|-)|gpt-5|codex-)")


def estimated_window(kind: ProviderKind, model: str) -> int:
    """The window when the endpoint does not say."""
    if kind == "anthropic":
        return 1_000_000 if claude_version(model) >= (4, 6) else 200_000
    if kind == "openai":
        if model.startswith("gpt-4.1"):
            return 1_000_000
        return 272_000 if model.startswith("gpt-5") else 128_000
    return 32_768


def claude_version(model: str) -> tuple[int, int]:
    """`(4, 6)` of `claude-opus-4-6-20260101`; `(0, 0)` of what is no Claude.

    The version is the first run of numbers of one or two digits after the name; a date has more.
    """
    _, found, rest = model.lower().partition("claude")
    if not found:
        return (0, 0)
    numbers: list[int] = []
    for word in re.split(r"[-.:@_ ]", rest):
        if word.isdigit() and len(word) <= 2:
            numbers.append(int(word))
        elif numbers:
            break
    return (*numbers, 0, 0)[:2]  # type: ignore[return-value]  # two zeros make it two or more


def family_capabilities(kind: ProviderKind, model: str) -> list[Capability]:
    """By the model's name, for Anthropic and the official OpenAI API; empty when unknown."""
    if kind == "anthropic":
        version = claude_version(model)
        if version < (3, 0):
            return []
        can: set[str] = {"tools", "vision"}
        if version >= (3, 7):
            can.add("thinking")
        return ordered(can)
    if kind == "openai":
        return ordered(_openai_family(model.lower()))
    return []


def _openai_family(model: str) -> set[str]:
    if _EMBEDDING.search(model):
        return {"embedding"}
    if _NOT_CHAT.search(model):
        return set()
    base = model.removeprefix("ft:")
    if _REASONING.search(base):
        can = {"tools", "thinking"}
        # The first small reasoning models read no images, and two of them call no tools.
        if base.startswith(("o1-mini", "o1-preview")):
            return {"thinking"}
        return can if base.startswith("o3-mini") else can | {"vision"}
    if base.startswith(("gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-4-turbo")):
        return {"tools", "vision"}
    if base.startswith(("gpt-4", "gpt-3.5-turbo")) and "instruct" not in base:
        return {"tools"}
    if base.startswith("chatgpt-4o"):
        return {"vision"}
    return set()


def accepts_temperature(wire_format: str, model: str) -> bool:
    """Whether a model of this family takes a temperature at all."""
    if wire_format == "anthropic":
        return claude_version(model) < (4, 7)
    return not _REASONING.search(model.lower())


def thinks_adaptively(model: str) -> bool:
    """Claude from 4.6 on takes an effort, earlier ones a budget of tokens."""
    return claude_version(model) >= (4, 6)


def ordered(names: Iterable[str]) -> list[Capability]:
    """Capabilities in the protocol's order, each once, unknown ones dropped."""
    present = set(names)
    return [capability for capability in CAPABILITIES if capability in present]


def window_of(value: Any) -> int | None:
    """A window as reported, or None when it cannot be one."""
    if type(value) is int and MIN_WINDOW <= value <= MAX_WINDOW:
        return value
    return None


def anthropic_model(row: dict[str, Any]) -> ModelInfo:
    model = row["id"]
    window = window_of(row.get("max_input_tokens"))
    return ModelInfo(
        id=model,
        context_window=window or estimated_window("anthropic", model),
        capabilities=family_capabilities("anthropic", model),
    )


def openai_model(row: dict[str, Any], kind: ProviderKind, official: bool) -> ModelInfo:
    """A row of `/models`. official: of the vendor's own API, where names tell the family."""
    model = row["id"]
    window = compatible_window(row)
    if window is None and kind == "openai":
        window = estimated_window(kind, model)
    capabilities = _reported_capabilities(row)
    if capabilities is None:
        capabilities = family_capabilities("openai", model) if official else []
    return ModelInfo(
        id=model,
        context_window=UNSET if window is None else window,
        capabilities=capabilities,
    )


def compatible_window(row: dict[str, Any]) -> int | None:
    for path in COMPATIBLE_WINDOW_FIELDS:
        value: Any = row
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        window = window_of(value)
        if window is not None:
            return window
    return None


def _reported_capabilities(row: dict[str, Any]) -> list[Capability] | None:
    """From OpenRouter's fields; None when the row has neither."""
    parameters = row.get("supported_parameters")
    architecture = row.get("architecture")
    if not isinstance(parameters, list) and not isinstance(architecture, dict):
        return None
    can: set[str] = set()
    for name in parameters if isinstance(parameters, list) else ():
        if name == "tools":
            can.add("tools")
        elif name in ("reasoning", "include_reasoning", "reasoning_effort"):
            can.add("thinking")
    architecture = architecture if isinstance(architecture, dict) else {}
    if "image" in _words(architecture.get("input_modalities")):
        can.add("vision")
    if {"embedding", "embeddings"} & _words(architecture.get("output_modalities")):
        can.add("embedding")
    return ordered(can)


def _words(value: Any) -> set[str]:
    return {word for word in value if isinstance(word, str)} if isinstance(value, list) else set()


def ollama_model(name: str, tag: dict[str, Any], shown: dict[str, Any]) -> ModelInfo:
    """tag: the row of `/api/tags`. shown: the answer of `/api/show`, empty when not asked."""
    details = shown.get("details") if isinstance(shown.get("details"), dict) else {}
    details = {**_present(tag.get("details")), **_present(details)}
    parts = [details.get("parameter_size"), details.get("quantization_level")]
    text = " · ".join(part for part in parts if isinstance(part, str) and part != "unknown")
    window = ollama_window(shown)
    return ModelInfo(
        id=name,
        context_window=UNSET if window is None else window,
        capabilities=ordered(_words(shown.get("capabilities"))),
        details=text or UNSET,
    )


def _present(details: Any) -> dict[str, Any]:
    return (
        {key: value for key, value in details.items() if value} if isinstance(details, dict) else {}
    )


def ollama_window(shown: dict[str, Any]) -> int | None:
    """`model_info.ARCHITECTURE.context_length`."""
    info = shown.get("model_info")
    if not isinstance(info, dict):
        return None
    architecture = info.get("general.architecture")
    window = window_of(info.get(f"{architecture}.context_length"))
    if window is not None:
        return window
    for key, value in info.items():
        if key.endswith(".context_length"):
            window = window_of(value)
            if window is not None:
                return window
    return None
