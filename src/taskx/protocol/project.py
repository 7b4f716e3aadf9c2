"""What a workspace is, as its own files declare it: part of the summary of `workspace/open`.

Source: protocol v1, `workspace/open` (`project`, `instructions`), `context/retrieve`.
"""

from __future__ import annotations

from typing import Literal

from taskx.protocol.base import Wire

CheckKind = Literal["build", "test", "lint", "typecheck", "format"]
InstructionScope = Literal["workspace", "directory"]


class LanguageCount(Wire, frozen=True, kw_only=True):
    language: str
    files: int
    bytes: int


class Check(Wire, frozen=True, kw_only=True):
    """A command that the repository itself declares."""

    id: str
    """Unique in the project."""
    kind: CheckKind
    command: str
    dir: str
    """Where to run it, relative to the root; `.` is the root."""
    source: str
    """The file that declares it."""


class Git(Wire, frozen=True, kw_only=True):
    branch: str | None
    """None when HEAD is detached."""
    head: str | None
    """None before the first commit."""
    dirty: bool | None
    """Whether tracked files differ from HEAD; None when that was not found out in time."""


class Project(Wire, frozen=True, kw_only=True):
    name: str
    languages: list[LanguageCount]
    manifests: list[str]
    package_managers: list[str]
    frameworks: list[str]
    checks: list[Check]
    git: Git | None


class InstructionInfo(Wire, frozen=True, kw_only=True):
    """One file of instructions, without its text."""

    source: str
    """Path relative to the root."""
    scope: InstructionScope
    dir: str
    """The folder it speaks of, relative to the root; "" is the root."""
    truncated: bool
    bytes: int
    """Of the whole file."""


class Instruction(Wire, frozen=True, kw_only=True):
    """One file of instructions, as `context/retrieve` returns it."""

    source: str
    scope: InstructionScope
    dir: str
    content: str
    truncated: bool
