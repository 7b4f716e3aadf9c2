"""Files by which a repository says what it is: which ones there are, and reading them.

Only these few are read from a tree of any size; they are picked from the table of paths natively.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable
from functools import cache
from typing import Any

from taskx._native.paths import LanguageTable

from .text import read_below

# Manifests that are listed in a summary; a generated tree may hold thousands.
MAX_MANIFESTS = 300
# Deeper ones are fixtures and templates more often than packages.
MAX_DEPTH = 6


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What names a package or a tool of the whole repository. Listed in `project.manifests`.
MANIFESTS = _words(
    """
    package.json pnpm-workspace.yaml lerna.json nx.json turbo.json deno.json deno.jsonc
    pyproject.toml setup.py setup.cfg tox.ini noxfile.py Pipfile requirements.txt environment.yml
    Makefile makefile GNUmakefile justfile Justfile .justfile Taskfile.yml Taskfile.yaml
    Cargo.toml go.mod go.work pom.xml build.gradle build.gradle.kts settings.gradle
    settings.gradle.kts composer.json Gemfile Rakefile mix.exs CMakeLists.txt meson.build build.sbt
    Package.swift stack.yaml cabal.project build.zig pubspec.yaml MODULE.bazel WORKSPACE
    WORKSPACE.bazel Dockerfile
    """
)
MANIFEST_EXTENSIONS = frozenset({"gemspec", "cabal", "sln", "csproj", "fsproj", "vbproj"})

# What tells about tools without being a manifest.
CONFIGS = _words(
    """
    package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock
    uv.lock poetry.lock pdm.lock Pipfile.lock Cargo.lock go.sum composer.lock Gemfile.lock mix.lock
    pytest.ini mypy.ini .mypy.ini .flake8 ruff.toml .ruff.toml pyrightconfig.json .pylintrc
    .rspec .rubocop.yml .formatter.exs .credo.exs phpunit.xml phpunit.xml.dist phpstan.neon
    phpstan.neon.dist rustfmt.toml .rustfmt.toml clippy.toml .clippy.toml .golangci.yml
    .golangci.yaml .golangci.toml mvnw gradlew tsconfig.json .pre-commit-config.yaml
    .gitlab-ci.yml .travis.yml azure-pipelines.yml Jenkinsfile
    """
)

# Files of instructions; `.mdc` ones count below `.cursor/rules`.
INSTRUCTIONS = frozenset({"AGENTS.md", "CLAUDE.md", "GEMINI.md"})
ROOT_INSTRUCTIONS = (
    ".github/copilot-instructions.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
)

# Folders whose manifests are samples, copies or data.
_NOT_PACKAGES = re.compile(
    r"(?:^|/)(?:node_modules|vendor|third[_-]party|(?:__)?fixtures(?:__)?|test[_-]?data|testdata|fixture"
    r"|__tests__|templates?|skeletons?|stubs|snapshots?|__snapshots__|dist|out|site-packages)/"
)
# Folders whose packages are not what the repository is for.
_BESIDE = re.compile(r"(?:^|/)(?:examples?|samples?|docs?|www|website|tests?|bench\w*|fuzz)/")


@cache
def _table() -> LanguageTable:
    names = MANIFESTS | CONFIGS | INSTRUCTIONS
    names |= {path.rsplit("/", 1)[-1] for path in ROOT_INSTRUCTIONS}
    extensions = MANIFEST_EXTENSIONS | {"mdc"}
    return LanguageTable(
        dict.fromkeys((word.encode() for word in extensions), 1),
        dict.fromkeys((word.encode() for word in names), 1),
        {},
        0,
        0,
    )


def pick(paths: bytes | memoryview, path_off: memoryview) -> list[bytes]:
    """Paths of a table that matter to project detection or instructions, in its order."""
    rows = memoryview(_table().find(paths, path_off)).cast("i")
    return [bytes(paths[path_off[row] : path_off[row + 1]]) for row in rows]


def matters(path: bytes) -> bool:
    """Whether a change of the file may change the project or the instructions."""
    off = memoryview(b"\0\0\0\0" + len(path).to_bytes(4, "little")).cast("I")
    if path.startswith((b".github/workflows/", b".circleci/", b".git/")):
        return True
    return bool(_table().find(path, off))


def name_of(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def folder_of(path: str) -> str:
    """The folder of a file, "" for the root."""
    return path.rpartition("/")[0]


def is_manifest(path: str) -> bool:
    name = name_of(path)
    return name in MANIFESTS or name.rpartition(".")[2] in MANIFEST_EXTENSIONS


def of_packages(picked: Iterable[bytes]) -> list[str]:
    """Manifests and configurations of packages: the shallowest first, samples last."""
    paths = (path.decode("utf-8", "replace") for path in picked)
    kept = [
        path
        for path in paths
        if path.count("/") <= MAX_DEPTH
        and not _NOT_PACKAGES.search(path)
        and (is_manifest(path) or name_of(path) in CONFIGS)
    ]
    return sorted(kept, key=lambda path: (bool(_BESIDE.search(path)), path.count("/"), path))


class Reader:
    """Reads small files below one root, at most `budget` of them."""

    def __init__(self, root: bytes, budget: int = 400) -> None:
        self._root = root
        self._left = budget
        self._known: dict[str, str] = {}

    def text(self, path: str) -> str:
        """The file's text; "" when there is none to be had."""
        if path not in self._known:
            found = None
            if self._left > 0:
                self._left -= 1
                found = read_below(self._root, path.encode("utf-8", "surrogateescape"))
            self._known[path] = found.text if found is not None else ""
        return self._known[path]

    def toml(self, path: str) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text(path))
        except (tomllib.TOMLDecodeError, RecursionError):
            return {}

    def json(self, path: str) -> dict[str, Any]:
        """JSON with comments and trailing commas let pass."""
        text = self.text(path)
        for attempt in (text, _plain_json(text)):
            try:
                value = json.loads(attempt)
            except (ValueError, RecursionError):
                continue
            return value if isinstance(value, dict) else {}
        return {}

    def list_folder(self, path: str) -> list[str]:
        """Names in a folder below the root, sorted; none when it is a link or missing."""
        full = os.path.join(os.fsdecode(self._root), path)
        if os.path.islink(full):
            return []
        try:
            return sorted(os.listdir(full))
        except OSError:
            return []


_JSON_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_JSON_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])')


def _plain_json(text: str) -> str:
    for noise in (_JSON_COMMENT, _JSON_COMMA):
        text = noise.sub(lambda match: match[1] or "", text)
    return text


def table(value: Any, *keys: str) -> dict[str, Any]:
    """A nested table of a parsed file, {} where anything on the way is missing or no table."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
