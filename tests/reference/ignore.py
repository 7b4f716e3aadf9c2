"""Git's ignore rules as regular expressions, one path at a time."""

from __future__ import annotations

import re
from typing import NamedTuple

_CLASSES = {
    b"alnum": b"0-9A-Za-z",
    b"alpha": b"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": b"0-9",
    b"graph": rb"\x21-\x7e",
    b"lower": b"a-z",
    b"print": rb"\x20-\x7e",
    b"punct": rb"!-/:-@\[-`{-~",
    b"space": rb" \t\n\r",
    b"upper": b"A-Z",
    b"xdigit": b"0-9A-Fa-f",
}


class Rule(NamedTuple):
    negative: bool
    folder: bool
    basename: bool
    regex: re.Pattern[bytes] | None  # None matches nothing


def parse(data: bytes) -> list[Rule]:
    rules = []
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        if line.startswith(b"#"):
            continue
        line = line.removesuffix(b"\r").split(b"\0")[0]
        line = _without_trailing_spaces(line)
        if line:
            rules.append(_rule(line))
    return rules


def _without_trailing_spaces(line: bytes) -> bytes:
    match = re.fullmatch(rb"((?:[^ \\]|\\.|\\\Z| +(?! |\Z))*) *", line, re.DOTALL)
    assert match is not None
    return match[1]


def _rule(line: bytes) -> Rule:
    negative = line.startswith(b"!")
    line = line.removeprefix(b"!")
    folder = line.endswith(b"/")
    line = line.removesuffix(b"/")
    basename = b"/" not in line
    line = line if basename else line.removeprefix(b"/")
    literal = re.match(rb"[^*?\[\\]*", line)
    assert literal is not None
    prefix = b"" if basename else literal[0]
    rest = _translate(line[len(prefix) :], components=not basename) if line else None
    regex = None if rest is None else re.compile(re.escape(prefix) + rest, re.DOTALL)
    return Rule(negative, folder, basename, regex)


def _translate(pattern: bytes, components: bool) -> bytes | None:
    """A regular expression for what follows the literal part; None when nothing can match."""
    out = b""
    at = 0
    while at < len(pattern):
        char = pattern[at : at + 1]
        if char == b"\\":
            if at + 1 == len(pattern):
                return None
            out += re.escape(pattern[at + 1 : at + 2])
            at += 2
        elif char == b"?":
            out += b"[^/]"
            at += 1
        elif char == b"[":
            found = _group(pattern, at)
            if found is None:
                return None
            text, at = found
            out += text
        elif char == b"*":
            stars = re.match(rb"\*+", pattern[at:])
            assert stars is not None
            starts = at == 0 or pattern[at - 1 : at] == b"/"
            at += len(stars[0])
            rest = pattern[at:]
            if components and len(stars[0]) > 1 and starts and rest[:1] == b"/":
                out += b"(?:.*/)?"
                at += 1
            elif components and len(stars[0]) > 1 and starts and (not rest or rest[:2] == b"\\/"):
                out += b".*"
            else:
                out += b"[^/]*"
        else:
            out += re.escape(char)
            at += 1
    return out


def _group(pattern: bytes, at: int) -> tuple[bytes, int] | None:
    """Alternatives for the set at pattern[at] and the index behind it."""
    at += 1
    negated = pattern[at : at + 1] in (b"!", b"^")
    at += negated
    parts = []
    previous = b""
    first = True
    while first or pattern[at : at + 1] != b"]":
        first = False
        char = pattern[at : at + 1]
        if not char:
            return None
        if char == b"\\":
            at += 1
            char = pattern[at : at + 1]
            if not char:
                return None
            parts.append(re.escape(char))
        elif char == b"-" and previous and pattern[at + 1 : at + 2] not in (b"", b"]"):
            at += 1
            if pattern[at : at + 1] == b"\\":
                at += 1
            end = pattern[at : at + 1]
            if not end:
                return None
            if previous <= end:
                parts.append(re.escape(previous) + b"-" + re.escape(end))
            char = b""
        elif char == b"[" and pattern[at + 1 : at + 2] == b":":
            close = pattern.find(b"]", at + 2)
            if close < 0:
                return None
            if close > at + 2 and pattern[close - 1 : close] == b":":
                name = pattern[at + 2 : close - 1]
                if name not in _CLASSES:
                    return None
                parts.append(_CLASSES[name])
                at = close
                char = b""
            else:
                parts.append(rb"\[")
        else:
            parts.append(re.escape(char))
        previous = char
        at += 1
    body = b"".join(parts)
    if negated:
        return b"[^/" + body + b"]", at + 1
    return (b"(?!/)[" + body + b"]" if body else b"(?!)"), at + 1


def match(rules: list[Rule], path: bytes, is_folder: bool) -> int:
    """1 ignored, 0 kept by a `!` rule, -1 not named."""
    name = path.rsplit(b"/", 1)[-1]
    for rule in reversed(rules):
        if rule.folder and not is_folder:
            continue
        subject = name if rule.basename else path
        if rule.regex is not None and rule.regex.fullmatch(subject):
            return 0 if rule.negative else 1
    return -1
