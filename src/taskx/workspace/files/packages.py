"""One package of a repository while its checks are being found, and how names tell their kind."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from taskx.protocol.project import Check, CheckKind

from .manifests import Reader

MAX_CHECKS = 200


@dataclass(slots=True)
class Findings:
    """What all packages have said so far, each name once, in order."""

    checks: list[Check] = field(default_factory=list)
    managers: dict[str, None] = field(default_factory=dict)
    frameworks: dict[str, None] = field(default_factory=dict)
    name: str = ""
    _ids: set[str] = field(default_factory=set)
    _commands: set[tuple[str, str]] = field(default_factory=set)

    def add(self, kind: CheckKind, label: str, command: str, folder: str, source: str) -> None:
        """A check, unless the same command is there for the folder."""
        place = folder or "."
        if (place, command) in self._commands or len(self.checks) >= MAX_CHECKS:
            return
        base = f"{folder}:{label}" if folder else label
        name = base
        number = 2
        while name in self._ids:
            name = f"{base}-{number}"
            number += 1
        self._ids.add(name)
        self._commands.add((place, command))
        self.checks.append(Check(id=name, kind=kind, command=command, dir=place, source=source))

    def uses(self, *frameworks: str) -> None:
        self.frameworks.update(dict.fromkeys(frameworks))


@dataclass(frozen=True, slots=True)
class Package:
    """A folder with manifests. files: names in it that matter. above: those of its ancestors."""

    folder: str
    files: frozenset[str]
    above: frozenset[str]
    reader: Reader
    findings: Findings

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}" if self.folder else name

    def first(self, *names: str) -> str | None:
        """The first of the names that the folder has."""
        return next((name for name in names if name in self.files), None)

    def somewhere(self, *names: str) -> bool:
        """Whether the folder or one above it has any of the names."""
        return any(name in self.files or name in self.above for name in names)

    def add(self, kind: CheckKind, label: str, command: str, source: str) -> None:
        self.findings.add(kind, label, command, self.folder, self.path(source))


# First word of a script or target -> kind. Words that end it all are in _NEVER.
_KINDS: list[tuple[re.Pattern[str], CheckKind]] = [
    (re.compile(r"type-?checks?|check-?types?|types?|tsc|mypy|pyright|phpstan"), "typecheck"),
    (re.compile(r"lint\w*|\w*lint|clippy|vet|flake8|ruff|rubocop|style|credo|golangci"), "lint"),
    (re.compile(r"format\w*|fmt|prettier|black|gofmt|rustfmt"), "format"),
    (re.compile(r"tests?|specs?|unit\w*|e2e|integration|coverage|pytest|jest|vitest|tox"), "test"),
    (re.compile(r"build|compile|bundle|all|assemble|package"), "build"),
]  # fmt: skip
_NEVER = re.compile(
    r"(?:^|[:._/-])(?:watch|dev|serve|start|debug|fix|ui|open|publish|release|deploy|install"
    r"|clean|update|upgrade|setup|docker|image|pre|post|bench\w*|demo|docs?|push|upload)(?:$|[:._/-])"
)
_SPLIT = re.compile(r"[:._/-]")


def kind_of(name: str, *, check_is_test: bool = False) -> CheckKind | None:
    """The kind that a script's or target's name tells, None for what is no check.

    check_is_test: `check` runs the tests (make's custom), else it tells nothing.
    """
    low = name.lower()
    if _NEVER.search(low):
        return None
    words = [low, *_SPLIT.split(low)[:2]]
    if words[-2:] in (["check", "types"], ["type", "check"]):
        return "typecheck"
    if words[-2:] in (["check", "format"], ["check", "fmt"]):
        return "format"
    for word in words:
        for pattern, kind in _KINDS:
            if pattern.fullmatch(word):
                return kind
    return "test" if check_is_test and low == "check" else None


_PYTHON = r"(?:python3? -m |uv run |poetry run |pdm run )*"
# A command's first words -> kind, for CI files.
_COMMANDS: list[tuple[re.Pattern[str], CheckKind]] = [
    (re.compile(_PYTHON + r"(?:pytest|tox|nox|unittest)\b"), "test"),
    (re.compile(_PYTHON + r"(?:mypy|pyright)\b"), "typecheck"),
    (re.compile(_PYTHON + r"(?:ruff check|flake8|pylint)\b"), "lint"),
    (re.compile(_PYTHON + r"(?:ruff format|black)\b.*--check"), "format"),
    (re.compile(r"(?:pre-commit|uvx pre-commit) run\b"), "lint"),
    (re.compile(r"cargo (?:\+\S+ )?(?:test|nextest)\b"), "test"),
    (re.compile(r"cargo (?:\+\S+ )?clippy\b"), "lint"),
    (re.compile(r"cargo (?:\+\S+ )?fmt\b"), "format"),
    (re.compile(r"cargo (?:\+\S+ )?(?:check)\b"), "typecheck"),
    (re.compile(r"cargo (?:\+\S+ )?(?:build)\b"), "build"),
    (re.compile(r"go test\b"), "test"),
    (re.compile(r"go vet\b|golangci-lint run\b|staticcheck\b"), "lint"),
    (re.compile(r"go build\b"), "build"),
    (re.compile(r"(?:\./mvnw|mvn)\b.* (?:test|verify)\b"), "test"),
    (re.compile(r"(?:\./gradlew|gradle)\b.* (?:test|check)\b"), "test"),
    (re.compile(r"(?:bundle exec )?(?:rspec|rake (?:test|spec))\b"), "test"),
    (re.compile(r"(?:bundle exec )?rubocop\b"), "lint"),
    (re.compile(r"mix test\b"), "test"),
    (re.compile(r"mix format --check"), "format"),
    (re.compile(r"mix credo\b"), "lint"),
    (re.compile(r"dotnet test\b"), "test"),
    (re.compile(r"dotnet build\b"), "build"),
    (re.compile(r"(?:swift|zig|sbt|stack|cabal|meson|bazel)\b.* ?test\b|ctest\b"), "test"),
    (re.compile(r"(?:make|just) (?:-\S+ )*(?:test\w*|check)\s*$"), "test"),
    (re.compile(r"(?:make|just) (?:-\S+ )*lint\w*\s*$"), "lint"),
    (re.compile(r"(?:npm|pnpm|yarn|bun)(?: run)? (?:test|t)\b(?!:)"), "test"),
    (re.compile(r"(?:npm|pnpm|yarn|bun)(?: run)? lint\b(?!:)"), "lint"),
    (re.compile(r"(?:npx |pnpm |yarn |bunx )?tsc\b.*--noEmit"), "typecheck"),
]  # fmt: skip


def kind_of_command(command: str) -> CheckKind | None:
    """The kind of a command line as CI files have it; None for what is no check by itself."""
    for pattern, kind in _COMMANDS:
        if pattern.match(command):
            return kind
    return None
