"""Which Go files a build for Linux on amd64 takes: file names and `//go:build` lines.

The platform is fixed so that the same tree gives the same graph everywhere.
Source: Go command documentation, "Build constraints".
"""

from __future__ import annotations

import re

TAGS = frozenset(["linux", "amd64", "unix", "gc", "cgo"])
SYSTEMS = frozenset(
    [
        "aix",
        "android",
        "darwin",
        "dragonfly",
        "freebsd",
        "hurd",
        "illumos",
        "ios",
        "js",
        "linux",
        "nacl",
        "netbsd",
        "openbsd",
        "plan9",
        "solaris",
        "wasip1",
        "windows",
        "zos",
    ]
)
MACHINES = frozenset(
    [
        "386",
        "amd64",
        "arm",
        "arm64",
        "loong64",
        "mips",
        "mips64",
        "mips64le",
        "mipsle",
        "ppc64",
        "ppc64le",
        "riscv64",
        "s390x",
        "sparc64",
        "wasm",
    ]
)
HEAD_BYTES = 4096

_LINE = re.compile(rb"^//go:build (.*)$", re.M)
_OLD_LINE = re.compile(rb"^// ?\+build (.*)$", re.M)
_PACKAGE = re.compile(rb"^package\s", re.M)
_TOKEN = re.compile(r"&&|\|\||[!()]|[\w.]+")


def is_built(path: str, text: bytes | None) -> bool:
    """Whether the file takes part in the build."""
    return _name_fits(path) and _lines_fit(text or b"")


def _name_fits(path: str) -> bool:
    stem = path.rpartition("/")[2].removesuffix(".go").removesuffix("_test")
    parts = stem.split("_")[1:]
    if len(parts) > 1 and parts[-1] in MACHINES and parts[-2] in SYSTEMS:
        return parts[-1] in TAGS and parts[-2] in TAGS
    return not (parts and parts[-1] in SYSTEMS | MACHINES) or parts[-1] in TAGS


def _lines_fit(text: bytes) -> bool:
    head = text[:HEAD_BYTES]
    package = _PACKAGE.search(head)
    head = head[: package.start()] if package else head
    line = _LINE.search(head)
    if line is not None:
        return _Expression(line[1].decode("utf-8", "replace")).value()
    return all(
        any(
            all(_has(term.lstrip("!")) != term.startswith("!") for term in option.split(","))
            for option in old.decode("utf-8", "replace").split()
        )
        for old in _OLD_LINE.findall(head)
    )


def _has(tag: str) -> bool:
    if tag.startswith("go1."):
        return tag[4:].isdigit()
    return tag in TAGS


class _Expression:
    """A `//go:build` expression: names, `!`, `&&`, `||`, parentheses."""

    def __init__(self, text: str) -> None:
        self.tokens = _TOKEN.findall(text)[:200]
        self.at = 0

    def value(self) -> bool:
        return self._either()

    def _take(self, token: str) -> bool:
        if self.at < len(self.tokens) and self.tokens[self.at] == token:
            self.at += 1
            return True
        return False

    def _either(self) -> bool:
        value = self._both()
        while self._take("||"):
            value = self._both() or value
        return value

    def _both(self) -> bool:
        value = self._one()
        while self._take("&&"):
            value = self._one() and value
        return value

    def _one(self) -> bool:
        if self._take("!"):
            return not self._one()
        if self._take("("):
            value = self._either()
            self._take(")")
            return value
        if self.at >= len(self.tokens):
            return True
        self.at += 1
        return _has(self.tokens[self.at - 1])
