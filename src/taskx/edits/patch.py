"""Reads patches, unified diffs and the V4A form, and applies them to bytes.

A hunk's place is the line it names when its lines are there, else the one place in the file where
they are; two places are refused. White space at line ends is ignored only when nothing matches
with it. Line counts in hunk headers are not trusted: models get them wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from taskx.edits import text as texts
from taskx.errors import ToolError

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_OCTAL = re.compile(r"\\([0-7]{3}|.)")
_ESCAPES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11, '"': 34, "\\": 92}


@dataclass
class Hunk:
    """old, new: lines without ends. start: 0-based row in the old file, None when not named.

    anchors: V4A `@@` lines that come before the place, outermost first.
    """

    start: int | None = None
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    at_end: bool = False
    # Whether the last old or new line is the file's last one and has no newline.
    old_open: bool = False
    new_open: bool = False


@dataclass
class FilePatch:
    """What a patch does to one file. mode: octal permission bits, None when not named."""

    kind: Literal["add", "delete", "update"]
    path: str
    move_to: str | None = None
    hunks: list[Hunk] = field(default_factory=list)
    mode: int | None = None


def parse(patch: str) -> list[FilePatch]:
    """The files of a patch, in order. Raises ToolError `invalidInput` naming the wrong line."""
    lines = texts.plain(patch).split("\n")
    start = next((i for i, line in enumerate(lines) if line.strip()), None)
    if start is None:
        raise ToolError("invalidInput", "the patch is empty")
    if any(line.strip() == "*** Begin Patch" for line in lines):
        files = _parse_v4a(lines)
    else:
        files = _parse_unified(lines)
    if not files:
        raise ToolError(
            "invalidInput",
            "the patch names no file: a unified diff needs `--- a/path` and `+++ b/path` lines, "
            "the other form `*** Begin Patch` and `*** Update File: path`",
        )
    return files


def _wrong(row: int, line: str, expected: str) -> ToolError:
    return ToolError("invalidInput", f"patch line {row + 1}: {line[:80]!r}: expected {expected}")


# --- V4A ---------------------------------------------------------------------------------------


def _parse_v4a(lines: list[str]) -> list[FilePatch]:
    begin = next(i for i, line in enumerate(lines) if line.strip() == "*** Begin Patch")
    files: list[FilePatch] = []
    hunk: Hunk | None = None
    for row in range(begin + 1, len(lines)):
        line = lines[row]
        if line.strip() == "*** End Patch":
            return files
        if line.startswith("*** "):
            hunk = _v4a_header(files, hunk, row, line)
            continue
        current = files[-1] if files else None
        if current is None or current.kind == "delete":
            if line.strip():
                raise _wrong(row, line, "a line such as `*** Update File: path`")
            continue
        if current.kind == "add":
            if not line.startswith("+"):
                raise _wrong(row, line, "`+` before every line of an added file")
            current.hunks[0].new.append(line[1:])
            continue
        if line.startswith("@@"):
            fresh = hunk is None or bool(hunk.old or hunk.new)
            if fresh:
                hunk = Hunk()
                current.hunks.append(hunk)
            assert hunk is not None
            named = _HUNK.match(line)
            anchor = line[2:].strip()
            if named:
                hunk.start = max(int(named[1]) - 1, 0)
            elif anchor:
                hunk.anchors.append(anchor)
            continue
        if hunk is None:
            hunk = Hunk()
            current.hunks.append(hunk)
        _body_line(hunk, row, line)
    raise ToolError("invalidInput", "the patch has no `*** End Patch`: it may have been cut off")


def _v4a_header(files: list[FilePatch], hunk: Hunk | None, row: int, line: str) -> Hunk | None:
    for prefix, kind in (
        ("*** Update File:", "update"),
        ("*** Add File:", "add"),
        ("*** Delete File:", "delete"),
    ):
        if line.startswith(prefix):
            path = line[len(prefix) :].strip()
            files.append(FilePatch(kind, path))  # type: ignore[arg-type]
            if kind == "add":
                files[-1].hunks.append(Hunk())
            return None
    if line.startswith("*** Move to:") and files and files[-1].kind == "update":
        files[-1].move_to = line[len("*** Move to:") :].strip()
        return hunk
    if line.strip() == "*** End of File" and hunk is not None:
        hunk.at_end = True
        return hunk
    raise _wrong(row, line, "`*** Update File:`, `*** Add File:`, `*** Delete File:`")


def _body_line(hunk: Hunk, row: int, line: str) -> None:
    sign, body = line[:1], line[1:]
    if sign == "-":
        hunk.old.append(body)
    elif sign == "+":
        hunk.new.append(body)
    elif sign in (" ", ""):
        # An empty line is an empty context line whose space an editor took away.
        hunk.old.append(body)
        hunk.new.append(body)
    else:
        raise _wrong(row, line, "a line that starts with a space, `-` or `+`")


# --- unified -----------------------------------------------------------------------------------


def _parse_unified(lines: list[str]) -> list[FilePatch]:
    files: list[FilePatch] = []
    row = 0
    git: dict[str, str] = {}
    while row < len(lines):
        line = lines[row]
        if line.startswith("diff --git "):
            _finish_git(files, git)
            git = {"header": line}
        elif line.startswith(("GIT binary patch", "Binary files ")):
            raise _wrong(row, line, "a patch of text; binary files cannot be patched")
        elif git and (named := _git_line(line)):
            git[named[0]] = named[1]
        elif line.startswith("--- ") and row + 1 < len(lines) and lines[row + 1].startswith("+++ "):
            files.append(_file(_name(line[4:]), _name(lines[row + 1][4:]), git, row))
            git = {}
            row = _hunks(files[-1], lines, row + 2)
            continue
        elif line.startswith("@@"):
            raise _wrong(row, line, "`--- a/path` and `+++ b/path` before the first hunk")
        row += 1
    _finish_git(files, git)
    return files


def _git_line(line: str) -> tuple[str, str] | None:
    for key in ("rename from", "rename to", "new file mode", "deleted file mode", "new mode"):
        if line.startswith(key + " "):
            return key, line[len(key) + 1 :]
    return None


def _mode(git: dict[str, str]) -> int | None:
    text = git.get("new mode") or git.get("new file mode")
    if text is None:
        return None
    number = int(text, 8)
    if number >> 12 not in (0o10, 0):
        raise ToolError("invalidInput", f"mode {text}: only regular files can be patched")
    return number & 0o777


def _finish_git(files: list[FilePatch], git: dict[str, str]) -> None:
    """A git header without hunks: a rename, a mode, an empty file made or deleted."""
    if not git:
        return
    if "rename from" in git and "rename to" in git:
        names = _unquote(git["rename from"]), _unquote(git["rename to"])
        files.append(FilePatch("update", names[0], names[1], mode=_mode(git)))
        return
    match = re.match(r'diff --git ("?)a/(.*)\1 "?b/(.*?)"?$', git["header"])
    if match is None:
        return
    path = _unquote(f'"{match[3]}"') if match[1] else match[3]
    if "new file mode" in git:
        files.append(FilePatch("add", path, hunks=[Hunk()], mode=_mode(git)))
    elif "deleted file mode" in git:
        files.append(FilePatch("delete", path))
    elif "new mode" in git:
        files.append(FilePatch("update", path, mode=_mode(git)))


def _file(old: str | None, new: str | None, git: dict[str, str], row: int) -> FilePatch:
    if old is None and new is None:
        raise ToolError("invalidInput", f"patch line {row + 1}: both names are /dev/null")
    if old is None:
        assert new is not None
        return FilePatch("add", _strip(new, "b/"), mode=_mode(git))
    if new is None:
        return FilePatch("delete", _strip(old, "a/"))
    prefixed = old.startswith("a/") and new.startswith("b/")
    source, target = (old[2:], new[2:]) if prefixed else (old, new)
    if "rename from" in git:
        return FilePatch("update", source, target, mode=_mode(git))
    # Only git says that a file is renamed; else both names mean the file (`f.orig` and `f`).
    return FilePatch("update", target, mode=_mode(git))


def _strip(name: str, prefix: str) -> str:
    return name.removeprefix(prefix)


def _name(text: str) -> str | None:
    name = _unquote(text) if text.startswith('"') else text.split("\t")[0].rstrip()
    return None if name == "/dev/null" else name


def _unquote(text: str) -> str:
    text = text.rstrip()
    if not (text.startswith('"') and text.endswith('"') and len(text) > 1):
        return text
    raw = bytearray()
    position = 0
    inner = text[1:-1]
    for match in _OCTAL.finditer(inner):
        raw += inner[position : match.start()].encode()
        code = match[1]
        raw.append(int(code, 8) if len(code) == 3 else _ESCAPES.get(code, ord(code[0]) & 255))
        position = match.end()
    raw += inner[position:].encode()
    return raw.decode("utf-8", "surrogateescape")


def _hunks(file: FilePatch, lines: list[str], row: int) -> int:
    hunk: Hunk | None = None
    last = ""
    while row < len(lines):
        line = lines[row]
        named = _HUNK.match(line)
        header = line.startswith("--- ") and row + 1 < len(lines)
        if line.startswith("diff --git ") or (header and lines[row + 1].startswith("+++ ")):
            break
        if named or line.startswith("@@"):
            hunk = Hunk(max(int(named[1]) - (0 if named[2] == "0" else 1), 0) if named else None)
            file.hunks.append(hunk)
        elif line.startswith("\\"):
            if hunk is not None:
                hunk.old_open |= last in ("-", " ")
                hunk.new_open |= last in ("+", " ")
        elif hunk is None:
            if line.strip():
                raise _wrong(row, line, "a hunk, `@@ -line,count +line,count @@`")
        elif _ends(lines, row):
            break
        else:
            _body_line(hunk, row, line)
            last = line[:1] or " "
        row += 1
    return row


def _ends(lines: list[str], row: int) -> bool:
    """Whether the patch's text ends here: only blank lines follow, or a mail's signature."""
    if lines[row] == "-- ":
        return re.match(r"\d+\.\d+", "".join(lines[row + 1 : row + 2])) is not None
    return lines[row] == "" and not any(lines[row:])


# --- applying ----------------------------------------------------------------------------------


def added(file: FilePatch) -> str:
    """Content of a file that the patch adds."""
    lines = [line for hunk in file.hunks for line in hunk.new]
    text = "".join(f"{line}\n" for line in lines)
    return text[:-1] if file.hunks and file.hunks[-1].new_open and text else text


def apply(data: bytes, file: FilePatch) -> bytes:
    """`data` with the hunks applied. Raises ToolError `invalidInput` naming the hunk."""
    form = texts.decode(data)
    lines = texts.split_lines(form.text)
    bodies = [texts.body_of(line) for line in lines]
    usual = texts.usual_end(lines)
    result: list[str] = []
    done = shift = 0
    close: bool | None = None
    for number, hunk in enumerate(file.hunks, 1):
        start = _find(bodies, hunk, done, shift, f"{file.path}: hunk {number}")
        end = start + len(hunk.old)
        result += lines[done:start]
        previous = texts.end_of(lines[start - 1]) if start else ""
        fitted = texts.fit_ends(
            lines[start:end], [f"{line}\n" for line in hunk.new], previous, usual
        )
        if result and fitted and not texts.end_of(result[-1]):
            result[-1] += usual
        result += fitted
        done = end
        if hunk.start is not None:
            shift = start - hunk.start
        if end == len(lines):
            close = not hunk.new_open if hunk.old_open or hunk.new_open else None
    result += lines[done:]
    text = "".join(result)
    if close is None:
        text = texts.same_final_newline(form.text, text, usual)
    elif text:
        text = texts.body_of(text) if not close else text
        text = text if not close or text.endswith("\n") else text + usual
    return form.encode(text)


def _find(bodies: list[str], hunk: Hunk, done: int, shift: int, name: str) -> int:
    for clean in (str, str.rstrip):
        places = _places([clean(line) for line in bodies], [clean(x) for x in hunk.old], hunk, done)
        expected = None if hunk.start is None else hunk.start + shift
        if expected is not None and expected in places:
            return expected
        if hunk.start is not None and hunk.start in places:
            return hunk.start
        if len(places) == 1:
            return places[0]
        if len(places) > 1:
            numbers = ", ".join(str(place + 1) for place in places[:10])
            raise ToolError(
                "invalidInput",
                f"{name}: its lines are in {len(places)} places (lines {numbers}); "
                "give more context lines",
            )
    wanted = "\n".join(hunk.old[:8])
    raise ToolError(
        "invalidInput",
        f"{name}: its lines are not in the file; read it again. Looked for:\n{wanted}",
    )


def _places(bodies: list[str], old: list[str], hunk: Hunk, done: int) -> list[int]:
    if not old:
        if hunk.start is not None:
            return [min(max(hunk.start, done), len(bodies))]
        if hunk.anchors:
            return [place + 1 for place in _after_anchors(bodies, hunk.anchors, done)]
        return [len(bodies)] if hunk.at_end or not bodies else []
    size = len(old)
    if hunk.at_end:
        start = len(bodies) - size
        return [start] if start >= done and bodies[start:] == old else []
    places = [
        i
        for i in range(done, len(bodies) - size + 1)
        if bodies[i] == old[0] and bodies[i : i + size] == old
    ]
    if hunk.anchors and len(places) > 1:
        anchored = _after_anchors(bodies, hunk.anchors, done)
        if len(anchored) == 1:
            # The anchor names the function or class: the first place below it is meant.
            below = [place for place in places if place >= anchored[0]]
            return below[:1]
    return places


def _after_anchors(bodies: list[str], anchors: list[str], done: int) -> list[int]:
    """Rows of the innermost anchor; several when it is not unique."""
    start = done
    rows: list[int] = []
    for anchor in anchors:
        rows = [i for i in range(start, len(bodies)) if bodies[i].strip() == anchor.strip()]
        if not rows:
            rows = [i for i in range(start, len(bodies)) if anchor.strip() in bodies[i]]
        if not rows:
            return []
        start = rows[0]
    return rows
