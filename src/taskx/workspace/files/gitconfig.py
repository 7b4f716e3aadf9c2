"""Reads git's configuration files, without running git.

Only what bears on which files there are: `core.excludesFile`, `core.ignorecase`, extensions,
includes. Source: git's documentation, git-config, "Configuration file" and "Includes".
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from taskx._native.ignore import Rules

MAX_CONFIG_BYTES = 4 * 1024 * 1024
# Git's own bound on how deep files may include each other.
MAX_INCLUDES = 10

_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}


class Place(NamedTuple):
    """What conditions of includes ask about; both empty outside a repository."""

    git_dir: str = ""
    branch: str = ""


def read_text(path: str, limit: int = MAX_CONFIG_BYTES) -> str | None:
    """A small regular file, bytes that are not UTF-8 as surrogates; None when it cannot be had."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    with open(fd, "rb") as file:
        if not os.path.isfile(fd):
            return None
        try:
            return file.read(limit).decode("utf-8", "surrogateescape")
        except OSError:
            return None


def expand(value: str, home: str, base: str) -> str:
    """A path as git reads it: `~/`, `~user/`, else relative to base."""
    if value.startswith("~/"):
        return os.path.join(home, value[2:])
    if value.startswith("~"):
        return os.path.expanduser(value)
    return os.path.join(base, value)


def _value(text: str, at: int) -> tuple[str, int]:
    """The value that starts at text[at] and the index behind its line."""
    out: list[str] = []
    kept = 0
    quoted = False
    while at < len(text):
        char = text[at]
        if char == "\n":
            break
        if char == "\\":
            following = text[at + 1 : at + 2]
            if following == "\r" and text[at + 2 : at + 3] == "\n":
                at += 1
                following = "\n"
            if following != "\n":
                out.append(_ESCAPES.get(following, following))
                kept = len(out)
            at += 2
            continue
        if char == '"':
            quoted = not quoted
            kept = len(out)
        elif quoted:
            out.append(char)
            kept = len(out)
        elif char in "#;":
            newline = text.find("\n", at)
            at = len(text) if newline < 0 else newline
            break
        elif char.isspace():
            if out:
                out.append(char)
        else:
            out.append(char)
            kept = len(out)
        at += 1
    return "".join(out[:kept]), at + 1


def entries(text: str) -> Iterator[tuple[str, str]]:
    """(name, value) in order. Names are `section.key` or `section.Sub.key`, the ends lower case.

    A key without `=` has the value "true". Reading ends quietly at what is no configuration.
    """
    text = text.removeprefix("\ufeff")
    section = ""
    at = 0
    while at < len(text):
        char = text[at]
        if char.isspace():
            at += 1
        elif char in "#;":
            newline = text.find("\n", at)
            at = len(text) if newline < 0 else newline + 1
        elif char == "[":
            close = text.find("]", at)
            quote = text.find('"', at)
            if 0 <= quote < close:
                name, sub, at = _quoted_section(text, at + 1, quote)
                section = f"{name}.{sub}" if at else ""
            else:
                section = text[at + 1 : close].strip().lower()
                at = close + 1
            if close < 0 or not at:
                return
        else:
            start = at
            while at < len(text) and (text[at].isalnum() or text[at] == "-"):
                at += 1
            key = text[start:at].lower()
            if not key or not section:
                return
            while at < len(text) and text[at] in " \t\r":
                at += 1
            if text[at : at + 1] == "=":
                value, at = _value(text, at + 1)
                yield f"{section}.{key}", value
            else:
                yield f"{section}.{key}", "true"
                newline = text.find("\n", at)
                at = len(text) if newline < 0 else newline + 1


def _quoted_section(text: str, at: int, quote: int) -> tuple[str, str, int]:
    """Section name, subsection, and the index behind `]` (0 when it does not end)."""
    out: list[str] = []
    name = text[at:quote].strip().lower()
    at = quote + 1
    while at < len(text) and text[at] not in '"\n':
        if text[at] == "\\":
            at += 1
        out.append(text[at : at + 1])
        at += 1
    close = text.find("]", at)
    return name, "".join(out), close + 1


def is_true(value: str) -> bool:
    """A boolean as git reads it; what it would refuse is False."""
    word = value.strip().lower()
    return word in {"true", "yes", "on"} or (word.lstrip("-").isdigit() and int(word) != 0)


def _holds(condition: str, place: Place, base: str, home: str) -> bool:
    """Whether an `includeIf` condition holds."""
    kind, _, pattern = condition.partition(":")
    fold = kind == "gitdir/i"
    if kind in {"gitdir", "gitdir/i"} and place.git_dir:
        if pattern.startswith("~/"):
            pattern = os.path.join(home, pattern[2:])
        elif pattern.startswith("./"):
            pattern = os.path.join(base, pattern[2:])
        elif not pattern.startswith("/"):
            pattern = "/**/" + pattern
        subject = place.git_dir
    elif kind == "onbranch" and place.branch:
        pattern = "/" + pattern
        subject = place.branch
    else:
        return False
    if pattern.endswith("/"):
        pattern += "**"
    rules = Rules(os.fsencode(pattern), fold)
    return rules.match(os.fsencode(subject.strip("/")), False) == 1


def read(path: str, place: Place, home: str, depth: int = 0) -> Iterator[tuple[str, str, str]]:
    """(name, value, folder of the file that says so), includes in their place."""
    text = read_text(path)
    if text is None:
        return
    base = os.path.dirname(path)
    for name, value in entries(text):
        yield name, value, base
        if depth >= MAX_INCLUDES or not name.endswith(".path"):
            continue
        wanted = name == "include.path" or (
            name.startswith("includeif.")
            and _holds(name.removeprefix("includeif.").removesuffix(".path"), place, base, home)
        )
        if wanted:
            yield from read(expand(value, home, base), place, home, depth + 1)


def user_files(environ: Mapping[str, str]) -> tuple[str, str, list[str]]:
    """(home, git's folder below XDG_CONFIG_HOME, configuration files, the weightiest last)."""
    home = environ.get("HOME") or os.path.expanduser("~")
    xdg = os.path.join(environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git")
    files: list[str] = []
    if not is_true(environ.get("GIT_CONFIG_NOSYSTEM", "")):
        files.append(environ.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"))
    if "GIT_CONFIG_GLOBAL" in environ:
        files.append(environ["GIT_CONFIG_GLOBAL"])
    else:
        files += [os.path.join(xdg, "config"), os.path.join(home, ".gitconfig")]
    return home, xdg, files
