"""`context/*`, `workspace/symbols` and `workspace/outline`: what a question gets from the index."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, field

from taskx.protocol.base import Wire
from taskx.protocol.project import Instruction

BudgetTokens = Annotated[int, Meta(ge=1, le=200_000)]
Limit = Annotated[int, Meta(ge=1, le=500)]

DEFAULT_BUDGET_TOKENS = 8000


class RetrieveParams(Wire, frozen=True, kw_only=True):
    """A question: words, a name, a path with a line, an error message, a stack trace."""

    query: Annotated[str, Meta(min_length=1, max_length=100_000, pattern=r"\S")]
    budget_tokens: BudgetTokens = DEFAULT_BUDGET_TOKENS
    focus_paths: Annotated[list[str], Meta(max_length=200)] = field(default_factory=list)


class Snippet(Wire, frozen=True, kw_only=True):
    """Whole lines of a file, 1-based and inclusive, as they stand on disk."""

    path: str
    start_line: int
    end_line: int
    text: str
    score: float
    reason: str


class Retrieval(Wire, frozen=True, kw_only=True):
    terms: list[str]
    snippets: list[Snippet]
    files_considered: int
    budget_tokens: int
    used_tokens: int


class RetrieveResult(Wire, frozen=True, kw_only=True):
    retrieval: Retrieval
    instructions: list[Instruction]


class SymbolsParams(Wire, frozen=True, kw_only=True):
    query: Annotated[str, Meta(min_length=1, max_length=1000, pattern=r"\S")]
    kind: str | None = None
    limit: Limit = 50


class FoundSymbol(Wire, frozen=True, kw_only=True):
    """A definition, from the line of its name (not of its decorators) to its last, 1-based.

    score: 1 is the very name.
    """

    name: str
    kind: str
    path: str
    start_line: int
    end_line: int
    score: float
    container: str | UnsetType = UNSET


class SymbolsResult(Wire, frozen=True, kw_only=True):
    symbols: list[FoundSymbol]


class OutlineParams(Wire, frozen=True, kw_only=True):
    path: Annotated[str, Meta(min_length=1)]


class OutlineSymbol(Wire, frozen=True, kw_only=True):
    name: str
    kind: str
    start_line: int
    end_line: int
    children: list[OutlineSymbol] = field(default_factory=list)


class OutlineResult(Wire, frozen=True, kw_only=True):
    path: str
    language: str
    symbols: list[OutlineSymbol]
