"""Differences of lines: matching blocks, unified diffs, counts, three-way merge."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher
from typing import TypeVar

from taskx.edits import text as texts

Line = TypeVar("Line", bound=Hashable)

# Beyond this many lines in the part that differs, no finer matching is tried: difflib's time
# grows with the product of both sides.
FINE_LIMIT = 1_000_000
CONTEXT = 3


def matching_blocks(a: Sequence[Line], b: Sequence[Line]) -> list[tuple[int, int, int]]:
    """Runs `(start in a, start in b, length)` of equal lines, in order. Lengths are positive."""
    size = min(len(a), len(b))
    head = 0
    while head < size and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < size - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    blocks = [(0, 0, head)] if head else []
    middle_a, middle_b = a[head : len(a) - tail], b[head : len(b) - tail]
    if middle_a and middle_b and len(middle_a) * len(middle_b) <= FINE_LIMIT:
        matcher = SequenceMatcher(None, middle_a, middle_b, autojunk=False)
        blocks += [
            (head + i, head + j, length) for i, j, length in matcher.get_matching_blocks() if length
        ]
    if tail:
        blocks.append((len(a) - tail, len(b) - tail, tail))
    return blocks


def changes(a: Sequence[Line], b: Sequence[Line]) -> list[tuple[int, int, int, int]]:
    """Ranges `(a start, a end, b start, b end)` that differ, in order."""
    found = []
    i = j = 0
    for start_a, start_b, length in [*matching_blocks(a, b), (len(a), len(b), 0)]:
        if start_a > i or start_b > j:
            found.append((i, start_a, j, start_b))
        i, j = start_a + length, start_b + length
    return found


def counts(old: bytes, new: bytes) -> tuple[int, int]:
    """Lines added and removed between two contents. A binary file counts none."""
    if texts.is_binary(old) or texts.is_binary(new):
        return 0, 0
    found = changes(_lines(old), _lines(new))
    return sum(d - c for _, _, c, d in found), sum(b - a for a, b, _, _ in found)


def _lines(data: bytes) -> list[str]:
    form = texts.decode(data)
    return texts.split_lines(form.text)


def unified(path_old: str, path_new: str, old: bytes | None, new: bytes | None) -> str:
    """Unified diff of two contents, None for an absent file. "" when they are equal."""
    if old == new:
        return ""
    before, after = old or b"", new or b""
    header = (
        f"--- {'/dev/null' if old is None else 'a/' + path_old}\n"
        f"+++ {'/dev/null' if new is None else 'b/' + path_new}\n"
    )
    if texts.is_binary(before) or texts.is_binary(after):
        return f"{header}Binary files differ: {len(before)} and {len(after)} bytes\n"
    a, b = _lines(before), _lines(after)
    hunks: list[list[tuple[int, int, int, int]]] = []
    for change in changes(a, b):
        if hunks and change[0] - hunks[-1][-1][1] <= 2 * CONTEXT:
            hunks[-1].append(change)
        else:
            hunks.append([change])
    return header + "".join(_hunk(a, b, hunk) for hunk in hunks)


def _hunk(a: list[str], b: list[str], parts: list[tuple[int, int, int, int]]) -> str:
    lead = min(CONTEXT, parts[0][0])
    trail = min(CONTEXT, len(a) - parts[-1][1])
    start_a, start_b = parts[0][0] - lead, parts[0][2] - lead
    end_a, end_b = parts[-1][1] + trail, parts[-1][3] + trail
    rows = [
        f"@@ -{_range(start_a, end_a)} +{_range(start_b, end_b)} @@\n",
    ]
    i = start_a
    for from_a, to_a, from_b, to_b in parts:
        rows += [_row(" ", line) for line in a[i:from_a]]
        rows += [_row("-", line) for line in a[from_a:to_a]]
        rows += [_row("+", line) for line in b[from_b:to_b]]
        i = to_a
    rows += [_row(" ", line) for line in a[i:end_a]]
    return "".join(rows)


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _row(sign: str, line: str) -> str:
    if line.endswith("\n"):
        return sign + line
    return f"{sign}{line}\n\\ No newline at end of file\n"


def merge(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Three-way merge by lines: the changes of both sides, None when they touch each other.

    Works on bytes, so every line keeps its encoding and its end.
    Source: diff3 (Khanna, Kunal, Pierce, "A Formal Investigation of Diff3", 2007).
    """
    if ours == theirs or base == theirs:
        return ours
    if base == ours:
        return theirs
    if texts.is_binary(base) or texts.is_binary(ours) or texts.is_binary(theirs):
        return None
    lines = _byte_lines(base)
    both = []
    for side in (_byte_lines(ours), _byte_lines(theirs)):
        both += [(a, b, side[c:d]) for a, b, c, d in changes(lines, side)]
    merged: list[tuple[int, int, list[bytes]]] = []
    for change in sorted(both, key=lambda row: (row[0], row[1])):
        if merged and change == merged[-1]:
            continue
        if merged and change[0] <= merged[-1][1]:
            return None
        merged.append(change)
    result: list[bytes] = []
    position = 0
    for start, end, new in merged:
        result += lines[position:start]
        result += new
        position = end
    return b"".join([*result, *lines[position:]])


def _byte_lines(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines
