"""Which languages can name each other's symbols, and by what rule names are linked in each."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from taskx.workspace.files.languages import LANGUAGES

# Bits of a file's mode (`_native/refgraph.pyx`).
INCLUDES = 1
SCOPES = 2
GLOBAL = 4
MEMBERS = 8
PATHS = 16
MODULES = 32
LOCALS = 64

(
    OTHER, PYTHON, SCRIPT, GO, RUST, C, JVM, CSHARP, SWIFT, RUBY, PHP, LUA, ELIXIR, HASKELL,
    SHELL, ZIG,
) = range(16)  # fmt: skip


class Family(NamedTuple):
    """number: files of different numbers are never linked.

    depth: import steps for members. At the first step a member links when at most `near` files
    define it; beyond it when at most `far` files do, and `seen` of those that are reached.
    """

    number: int
    mode: int
    depth: int = 1
    seen: int = 1
    far: int = 1
    near: int = 3

    @property
    def packed(self) -> int:
        """The limits as the native side takes them."""
        return self.depth | self.near << 2 | self.seen << 4 | self.far << 6


# Language family (`files/languages.py`) -> rule. Every other language: names of all its files.
_FAMILIES = {
    "python": Family(PYTHON, SCOPES | MEMBERS | MODULES, 2),
    "javascript": Family(SCRIPT, SCOPES | MEMBERS, 2, 1, 3),
    "go": Family(GO, SCOPES | MEMBERS | LOCALS, near=1),
    "rust": Family(RUST, SCOPES | PATHS, 1),
    "c": Family(C, INCLUDES),
    "java": Family(JVM, SCOPES | MEMBERS, 2),
    "kotlin": Family(JVM, SCOPES | MEMBERS, 2),
    "scala": Family(JVM, SCOPES | MEMBERS, 2),
    "groovy": Family(JVM, SCOPES | MEMBERS, 2),
    "csharp": Family(CSHARP, SCOPES | MEMBERS, 2),
    "swift": Family(SWIFT, SCOPES | GLOBAL | MEMBERS, 1),
    "ruby": Family(RUBY, SCOPES | GLOBAL | MEMBERS, 1),
    "php": Family(PHP, SCOPES | MEMBERS | PATHS, 2),
    "lua": Family(LUA, SCOPES | MEMBERS | MODULES, 1),
    "elixir": Family(ELIXIR, SCOPES | GLOBAL | MEMBERS, 1),
    "haskell": Family(HASKELL, SCOPES | MEMBERS, 1),
    "bash": Family(SHELL, SCOPES),
    "zig": Family(ZIG, SCOPES | MEMBERS | MODULES, 1),
}

# Markup, data and build text: their words are no uses of symbols.
_DATA = frozenset(
    [
        "bibtex",
        "comment",
        "cpon",
        "csv",
        "css",
        "diff",
        "dockerfile",
        "doxygen",
        "dtd",
        "embeddedtemplate",
        "git_config",
        "git_rebase",
        "gitattributes",
        "gitcommit",
        "gitignore",
        "gomod",
        "gosum",
        "gpg",
        "heex",
        "html",
        "hyprlang",
        "ini",
        "jsdoc",
        "json",
        "json5",
        "kconfig",
        "latex",
        "luadoc",
        "luap",
        "make",
        "markdown",
        "markdown_inline",
        "mermaid",
        "ninja",
        "org",
        "pem",
        "pgn",
        "po",
        "printf",
        "properties",
        "psv",
        "pymanifest",
        "qmldir",
        "query",
        "readline",
        "regex",
        "requirements",
        "rst",
        "scss",
        "ssh_config",
        "svg",
        "test",
        "text",
        "toml",
        "tsv",
        "twig",
        "typst",
        "udev",
        "vimdoc",
        "xcompose",
        "xml",
        "yaml",
    ]
)


@cache
def family_of(language: int) -> Family:
    """The rule of a language id."""
    row = LANGUAGES[language]
    name = row.family or row.name
    known = _FAMILIES.get(name)
    if known is not None:
        return known
    if not language or row.name in _DATA:
        return Family(OTHER, 0)
    # One number per language beyond those with rules of their own; a byte holds it.
    first = next(r.id for r in LANGUAGES if (r.family or r.name) == name)
    return Family(16 + first % 240, GLOBAL)


def _attributes(*types: type) -> frozenset[str]:
    return frozenset(name for t in types for name in vars(t) if not name.startswith("__"))


# Members of built-in types: `x.get` says nothing about who defines `get`.
BUILTIN_MEMBERS: dict[int, frozenset[str]] = {
    PYTHON: _attributes(str, bytes, bytearray, list, dict, set, frozenset, tuple, int, float)
    | frozenset(
        [
            "read",
            "write",
            "close",
            "seek",
            "readline",
            "readlines",
            "flush",
            "name",
            "send",
            "throw",
        ]
    ),
    SCRIPT: frozenset(
        [
            "at",
            "concat",
            "entries",
            "every",
            "fill",
            "filter",
            "find",
            "findIndex",
            "findLast",
            "flat",
            "flatMap",
            "forEach",
            "from",
            "includes",
            "indexOf",
            "join",
            "keys",
            "lastIndexOf",
            "length",
            "map",
            "pop",
            "push",
            "reduce",
            "reverse",
            "shift",
            "slice",
            "some",
            "sort",
            "splice",
            "toString",
            "unshift",
            "values",
            "clear",
            "delete",
            "get",
            "has",
            "set",
            "size",
            "add",
            "then",
            "catch",
            "finally",
            "charAt",
            "charCodeAt",
            "codePointAt",
            "endsWith",
            "match",
            "matchAll",
            "normalize",
            "padEnd",
            "padStart",
            "repeat",
            "replace",
            "replaceAll",
            "search",
            "split",
            "startsWith",
            "substring",
            "toLowerCase",
            "toUpperCase",
            "trim",
            "trimEnd",
            "trimStart",
            "apply",
            "bind",
            "call",
            "name",
            "message",
            "stack",
            "cause",
            "prototype",
            "constructor",
            "hasOwnProperty",
            "valueOf",
            "toFixed",
            "exec",
            "test",
            "source",
            "flags",
            "next",
            "return",
            "throw",
            "value",
            "done",
            "resolve",
            "reject",
            "all",
            "race",
            "any",
            "assign",
            "freeze",
            "parse",
            "stringify",
            "now",
            "getTime",
            "toISOString",
        ]
    ),
}
