"""Finds the one place that a model means, and replaces it.

Tolerance, in this order; the first step that finds a place decides, and a step that finds more
than one place decides that none is meant:
1. the text exactly, line ends aside;
2. whole lines, white space at their ends aside;
3. whole lines, white space at their ends and one common indentation aside; the new text is then
   indented by as much.
"""

from __future__ import annotations

from bisect import bisect_right
from difflib import SequenceMatcher

from taskx.edits import text as texts
from taskx.errors import ToolError

NEAREST_LINES = 12


def replace(data: bytes, old: str, new: str, every: bool = False) -> tuple[bytes, int]:
    """`data` with `old` replaced by `new`, and in how many places.

    every: replace all exact places instead of refusing more than one.
    Raises ToolError `invalidInput`: nothing to do, no place, more than one place; `notFound` is
    for files, not for text.
    """
    form = texts.decode(data)
    old, new = texts.plain(old), texts.plain(new)
    if not old:
        raise ToolError("invalidInput", "oldText is empty; use write_file for a whole new content")
    if old == new:
        raise ToolError("invalidInput", "oldText and newText are the same")
    lines = texts.split_lines(form.text)
    flat = "".join(texts.body_of(line) + ("\n" if texts.end_of(line) else "") for line in lines)
    places = _exact(flat, old)
    if len(places) > 1 and not every:
        raise ToolError("invalidInput", _several(flat, places))
    if places:
        result = _splice(lines, flat, _apart(places, len(old)), old, new)
        count = len(_apart(places, len(old)))
    else:
        start, end, new = _tolerant(lines, old, new)
        result = _replace_lines(lines, start, end, new)
        count = 1
    result = texts.same_final_newline(form.text, result, texts.usual_end(lines))
    if result == form.text:
        raise ToolError("invalidInput", "the replacement leaves the file as it is")
    return form.encode(result), count


def _exact(flat: str, old: str) -> list[int]:
    """Offsets of every occurrence, overlapping ones too: each is a place that could be meant."""
    places = []
    at = flat.find(old)
    while at >= 0:
        places.append(at)
        at = flat.find(old, at + 1)
    # Lines that end the file without a newline are still those lines.
    if not places and old.endswith("\n") and flat.endswith(old[:-1]) and len(old) > 1:
        start = len(flat) - len(old) + 1
        if start == 0 or flat[start - 1] == "\n":
            places.append(start)
    return places


def _apart(places: list[int], length: int) -> list[int]:
    kept: list[int] = []
    for place in places:
        if not kept or place >= kept[-1] + length:
            kept.append(place)
    return kept


def _several(flat: str, places: list[int]) -> str:
    numbers = [flat.count("\n", 0, place) + 1 for place in places[:10]]
    more = ", …" if len(places) > 10 else ""
    return (
        f"oldText is found in {len(places)} places (lines {', '.join(map(str, numbers))}{more}); "
        "give more lines around the one you mean, or set all to true"
    )


def _splice(lines: list[str], flat: str, places: list[int], old: str, new: str) -> str:
    """Replaces exact places, given as offsets in `flat`; lines beside them stay as they are."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(texts.body_of(line)) + (1 if texts.end_of(line) else 0))
    usual = texts.usual_end(lines)
    pieces: list[str] = []
    done = index = 0
    while index < len(places):
        first = bisect_right(starts, places[index]) - 1
        block, at, last = "", starts[first], first
        while True:
            if index < len(places) and places[index] < starts[last + 1]:
                block += flat[at : places[index]] + new
                at = min(places[index] + len(old), len(flat))
                last = max(last, bisect_right(starts, at - 1) - 1)
                index += 1
                continue
            rest = flat[at : starts[last + 1]]
            if (block + rest).endswith("\n") or not block + rest or last + 1 == len(lines):
                block += rest
                break
            # The block lost its line end: the line that follows joins it.
            last += 1
        previous = texts.end_of(lines[first - 1]) if first else ""
        fitted = texts.fit_ends(lines[first : last + 1], texts.split_lines(block), previous, usual)
        pieces += [*lines[done:first], *fitted]
        done = last + 1
    return "".join([*pieces, *lines[done:]])


def _replace_lines(lines: list[str], start: int, end: int, new: str) -> str:
    previous = texts.end_of(lines[start - 1]) if start else ""
    block = texts.split_lines(new)
    if block and not block[-1].endswith("\n") and end < len(lines):
        block[-1] += "\n"
    fitted = texts.fit_ends(lines[start:end], block, previous, texts.usual_end(lines))
    return "".join([*lines[:start], *fitted, *lines[end:]])


def _tolerant(lines: list[str], old: str, new: str) -> tuple[int, int, str]:
    """Line range and new text by the tolerant steps. Raises ToolError when there is not one."""
    wanted = [texts.body_of(line).rstrip() for line in texts.split_lines(old)]
    bodies = [texts.body_of(line).rstrip() for line in lines]
    if any(wanted):
        places = _runs(bodies, wanted)
        if places:
            start = _only(places)
            return start, start + len(wanted), new
        shifted = _shifted(bodies, wanted)
        if shifted:
            start = _only([place for place, _ in shifted])
            return start, start + len(wanted), _reindent(new, shifted[0][1])
    raise ToolError("invalidInput", "oldText is not in the file" + _nearest(bodies, wanted))


def _runs(bodies: list[str], wanted: list[str]) -> list[int]:
    size = len(wanted)
    first = wanted[0]
    return [
        i
        for i in range(len(bodies) - size + 1)
        if bodies[i] == first and bodies[i : i + size] == wanted
    ]


def _only(places: list[int]) -> int:
    if len(places) > 1:
        numbers = ", ".join(str(place + 1) for place in places[:10])
        raise ToolError(
            "invalidInput",
            f"oldText is not in the file exactly, and nearly in {len(places)} places "
            f"(lines {numbers}); copy the lines you mean exactly, with more lines around them",
        )
    return places[0]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _shift(body: str, wanted: str) -> tuple[str, str] | None:
    """(wanted's leading white space to cut, the file's to put there) that make the lines equal."""
    if body.lstrip(" \t") != wanted.lstrip(" \t"):
        return None
    mine, theirs = _indent(body), _indent(wanted)
    if mine.endswith(theirs):
        return "", mine[: len(mine) - len(theirs)]
    if theirs.endswith(mine):
        return theirs[: len(theirs) - len(mine)], ""
    return None


def _shifted(bodies: list[str], wanted: list[str]) -> list[tuple[int, tuple[str, str]]]:
    size = len(wanted)
    found = []
    for i in range(len(bodies) - size + 1):
        shifts = set()
        for body, want in zip(bodies[i : i + size], wanted, strict=True):
            if not want and not body:
                continue
            shifts.add(_shift(body, want))
            if len(shifts) > 1 or None in shifts:
                break
        else:
            shift = next(iter(shifts), None)
            if shift is not None:
                found.append((i, shift))
    return found


def _reindent(new: str, shift: tuple[str, str]) -> str:
    cut, put = shift
    lines = []
    for line in texts.split_lines(new):
        body = texts.body_of(line)
        if body.strip():
            body = put + body.removeprefix(cut)
        lines.append(body + texts.end_of(line))
    return "".join(lines)


def _nearest(bodies: list[str], wanted: list[str]) -> str:
    """Where the file comes closest, to help a model that remembers wrongly."""
    first = next((line.strip() for line in wanted if line.strip()), "")
    if not first or len(bodies) > 20_000:
        return ""
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(first)
    best, where = 0.6, -1
    for i, body in enumerate(bodies):
        matcher.set_seq1(body.strip())
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            if ratio > best:
                best, where = ratio, i
    if where < 0:
        return "; read the file again"
    shown = bodies[where : where + min(len(wanted), NEAREST_LINES)]
    return f"; the nearest is at line {where + 1}:\n" + "\n".join(shown)
