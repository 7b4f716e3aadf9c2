"""workspace/*, context/inspect: the open folder, its summary, and how its index comes along."""

from __future__ import annotations

from typing import Any

import msgspec

from taskx.protocol.base import Wire
from taskx.protocol.project import InstructionInfo, Project


class OpenParams(Wire, frozen=True, kw_only=True):
    """`userInstructions` and `userPromptsDir` of older clients are ignored."""

    root: str
    exclude: list[str] = msgspec.field(default_factory=list)
    """Patterns in `.gitignore` syntax, relative to the root."""


class FilesChangedParams(Wire, frozen=True, kw_only=True):
    paths: list[str]
    """Absolute, or relative to the root; files and folders."""


class Skipped(Wire, frozen=True, kw_only=True):
    """Files that are listed but not parsed, by reason."""

    binary: int = 0
    too_large: int = 0
    unreadable: int = 0
    minified: int = 0


class Stats(Wire, frozen=True, kw_only=True):
    files: int
    parsed: int
    """Files parsed by the last open, refresh or change."""
    symbols: int
    bytes: int
    languages: dict[str, int]
    skipped: Skipped
    from_cache: bool
    elapsed_ms: int


class Summary(Wire, frozen=True, kw_only=True):
    root: str
    project: Project
    stats: Stats
    instructions: list[InstructionInfo]
    excludes: list[str]
    """Patterns in force beyond `.gitignore`."""


def _phase(class_name: str) -> str:
    name = class_name.removesuffix("Progress")
    return name[:1].lower() + name[1:]


class Progress(Wire, tag_field="phase", tag=_phase, frozen=True, kw_only=True):
    """Base of what `workspace/progress` reports."""

    @property
    def phase(self) -> str:
        return str(self.__struct_config__.tag)


class IndexingProgress(Progress, frozen=True, kw_only=True):
    files: int
    """Seen so far."""
    parsed: int
    elapsed_ms: int


class GraphProgress(Progress, frozen=True, kw_only=True):
    files: int
    elapsed_ms: int


class ReadyProgress(Progress, frozen=True, kw_only=True):
    stats: Stats
    graph: dict[str, Any]
    """As the `stats` of `graph/project`."""
    elapsed_ms: int


class UpdatedProgress(Progress, frozen=True, kw_only=True):
    stats: Stats


class FailedProgress(Progress, frozen=True, kw_only=True):
    error: str


ProgressEvent = IndexingProgress | GraphProgress | ReadyProgress | UpdatedProgress | FailedProgress
