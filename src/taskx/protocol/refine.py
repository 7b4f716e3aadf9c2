"""`prompt/refine` on the wire. Source: protocol v1, "prompt/refine"."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from taskx.protocol.base import UNSET, UnsetType, Wire
from taskx.protocol.chat import Usage
from taskx.protocol.providers import ProviderConfig

TaskKind = Literal[
    "question",
    "codeModification",
    "debugging",
    "refactoring",
    "testing",
    "review",
    "documentation",
    "planning",
    "other",
]

MAX_PROMPT_CHARS = 100_000


class Route(Wire, frozen=True, kw_only=True):
    """The provider for tasks of some kinds; the first route that names the kind is taken."""

    kinds: list[TaskKind]
    provider: ProviderConfig


class RefineParams(Wire, frozen=True, kw_only=True):
    prompt: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_PROMPT_CHARS)]
    provider: ProviderConfig | UnsetType = UNSET
    routes: list[Route] = msgspec.field(default_factory=list)
    focus_paths: list[str] = msgspec.field(default_factory=list)


class RefineResult(Wire, frozen=True, kw_only=True):
    text: str
    kind: TaskKind
    model: str
    routed: bool
    """Whether a route chose the model."""
    usage: Usage | None
