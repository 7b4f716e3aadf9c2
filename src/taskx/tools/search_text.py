"""search_text: lines that match, in the files of the workspace.

The index says which files there are and which are text; the files themselves are searched, so that
nothing is missed or quoted as it was. RE2 matches in linear time and without the interpreter lock,
whatever pattern a model makes up; what it matches is what ripgrep matches.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import stat
import threading
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta

from taskx.edits.paths import resolve
from taskx.errors import ToolError
from taskx.protocol.base import Wire
from taskx.tools import guard, listing
from taskx.tools.context import Call, ToolContext, ToolResult, bounded
from taskx.tools.registry import Tool

FILE_LIMIT_BYTES = 64 * 1024 * 1024
LINE_LIMIT = 400
THREADS = 2
# Unicode forms of the classes, as ripgrep has them; RE2's own are ASCII.
_CLASSES = {"w": r"\pL\pM\p{Nd}\p{Pc}", "d": r"\p{Nd}", "s": r"\s\x{0B}\x{85}\p{Z}"}


class SearchTextParams(Wire, frozen=True, kw_only=True):
    pattern: Annotated[str, Meta(description="What to look for: plain text, or with `regex` RE2.")]
    regex: Annotated[
        bool, Meta(description="Whether the pattern is a regular expression. Default: false.")
    ] = False
    ignore_case: Annotated[bool, Meta(description="Default: false.")] = False
    paths: Annotated[
        list[str] | None,
        Meta(description="Files, folders or globs to search in. Default: the whole workspace."),
    ] = None
    limit: Annotated[int, Meta(description="At most so many lines, 1 to 2000. Default: 200.")] = 200


@dataclass
class _Search:
    """found: per file index, so that the order is the files' whatever thread was faster.

    needed: text that a file must hold to be matched at all.
    """

    root: str
    paths: list[bytes]
    limit: int
    needed: bytes = b""
    found: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    stopped: threading.Event = field(default_factory=threading.Event)
    searched: int = 0


class _Literal:
    """Plain text, found without a regular expression. The part of a pattern's interface used."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    def search(self, data: bytes, position: int) -> _At | None:
        at = data.find(self._text, position)
        return None if at < 0 else _At(at)


@dataclass(frozen=True)
class _At:
    at: int

    def start(self) -> int:
        return self.at


def compiled(pattern: str, regex: bool, ignore_case: bool) -> Any:
    """The pattern over bytes, matching within lines. Raises ToolError saying what is wrong."""
    import re2  # loaded with the first search: 10 ms

    if not pattern:
        raise ToolError("invalidInput", "pattern is empty")
    if not regex and "\n" in pattern:
        raise ToolError("invalidInput", "pattern spans lines; the search goes line by line")
    if not regex and not ignore_case:
        try:
            return _Literal(pattern.encode())
        except UnicodeEncodeError as error:
            raise ToolError("invalidInput", f"pattern: {error}") from None
    options = re2.Options()
    options.never_nl = True
    options.log_errors = False
    options.case_sensitive = not ignore_case
    text = _unicode_classes(pattern) if regex else re2.escape(pattern)
    try:
        return re2.compile(f"(?m:{text})".encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        raise ToolError("invalidInput", f"pattern: {error}") from None


def _unicode_classes(pattern: str) -> str:
    out = []
    inside = False
    i = 0
    while i < len(pattern):
        c = pattern[i]
        if c == "\\" and i + 1 < len(pattern):
            name = pattern[i + 1]
            i += 2
            if name in _CLASSES:
                out.append(_CLASSES[name] if inside else f"[{_CLASSES[name]}]")
            elif name.lower() in _CLASSES and name.isupper() and not inside:
                out.append(f"[^{_CLASSES[name.lower()]}]")
            else:
                out.append(f"\\{name}")
            continue
        if c == "[" and not inside:
            inside = True
            out.append(c)
            i += 1
            if pattern.startswith("^", i):
                out.append("^")
                i += 1
            if pattern.startswith("]", i):
                out.append("\\]")
                i += 1
            continue
        if c == "]" and inside:
            inside = False
        out.append(c)
        i += 1
    return "".join(out)


def needed(pattern: str) -> bytes:
    """Text that every match of a regular expression holds, b"" when none is easily seen.

    Files without it need no matching. Only plain runs outside groups and classes count.
    """
    if re.search(r"\||\(\?|\\[xpPQCE0-9]", pattern):
        return b""
    runs, run, depth, i = [""], "", 0, 0
    while i < len(pattern):
        c = pattern[i]
        step = 2 if c == "\\" else 1
        if c == "[":
            end = pattern.find("]", i + 2 + pattern.startswith("[^", i))
            step = end + 1 - i if end > 0 else len(pattern)
        follows = pattern[i + step : i + step + 1]
        depth += (c == "(") - (c == ")")
        plain = c.isascii() and (c.isalnum() or c in "_ -") and depth == 0
        if plain and follows not in ("*", "?", "{"):
            run += c
        else:
            runs.append(run)
            run = ""
        if c == "{":
            step = max(pattern.find("}", i) + 1 - i, 1)
        i += step
    return max([*runs, run], key=len).encode()


async def run(params: SearchTextParams, context: ToolContext, call: Call) -> ToolResult:
    if not 1 <= params.limit <= 2000:
        raise ToolError("invalidInput", "limit: expected 1 to 2000")
    matcher = compiled(params.pattern, params.regex, params.ignore_case)
    chosen = await _chosen(params, context)
    search = _Search(str(context.root), chosen, params.limit)
    if params.regex and not params.ignore_case:
        search.needed = needed(params.pattern)
    counter = iter(range(len(chosen)))
    lock = threading.Lock()
    workers = [asyncio.to_thread(_work, search, matcher, counter, lock) for _ in range(THREADS)]
    try:
        await asyncio.gather(*workers)
    finally:
        search.stopped.set()
    return _result(search, context, call)


async def _chosen(params: SearchTextParams, context: ToolContext) -> list[bytes]:
    every = await listing.files(context)
    if params.paths is None:
        return [path for path in every if not guard.is_secret(listing.show(path))]
    wanted: set[bytes] = set()
    for name in params.paths:
        if any(c in name for c in "*?[{"):
            matcher = listing.glob_matcher(name)
            wanted.update(path for path in every if matcher.match(path))
            continue
        place = await asyncio.to_thread(resolve, context.root, name)
        found = listing.below(every, place.rel)
        if not found and await asyncio.to_thread(os.path.isfile, place.path):
            found = [os.fsencode(place.rel)]
        wanted.update(found)
    return sorted(path for path in wanted if not guard.is_secret(listing.show(path)))


def _work(search: _Search, matcher: Any, counter: Any, lock: threading.Lock) -> None:
    while not search.stopped.is_set():
        with lock:
            index = next(counter, None)
        if index is None:
            return
        data = _read(os.path.join(os.fsencode(search.root), search.paths[index]))
        search.searched += data is not None
        if not data or search.needed not in data:
            continue
        rows = lines(data, matcher, search.limit + 1)
        if rows:
            with lock:
                search.found[index] = rows
                # Files are taken in order: once enough lines are found, later ones add nothing.
                if sum(map(len, search.found.values())) > search.limit + 50:
                    search.stopped.set()


def _read(path: bytes) -> bytes | None:
    """Content of a text file as UTF-8, None for what is not searched."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(fd)
        if status.st_size > FILE_LIMIT_BYTES or not stat.S_ISREG(status.st_mode):
            return None
        data = os.read(fd, status.st_size + 1)
        while len(data) > status.st_size and (more := os.read(fd, 1 << 20)):
            data += more
    except OSError:
        return None
    finally:
        os.close(fd)
    for mark, name in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(mark):
            return data[2:].decode(name, "replace").encode("utf-8", "replace")
    if b"\0" in data:
        return None
    return data.removeprefix(codecs.BOM_UTF8)


def lines(data: bytes, matcher: Any, limit: int) -> list[tuple[int, str]]:
    """(number, text) of the lines that match, at most `limit`."""
    found: list[tuple[int, str]] = []
    number, counted, position = 1, 0, 0
    while len(found) < limit:
        match = matcher.search(data, position)
        if match is None:
            break
        at = match.start()
        if at == len(data) and (not data or data.endswith(b"\n")):
            break
        start = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        number += data.count(b"\n", counted, start)
        counted = start
        found.append((number, _shown(data[start:end], at - start)))
        position = end + 1
        if position > len(data):
            break
    return found


def _shown(line: bytes, at: int) -> str:
    text = line.removesuffix(b"\r").decode("utf-8", "replace")
    if len(text) <= LINE_LIMIT:
        return text
    start = max(0, len(line[:at].decode("utf-8", "replace")) - LINE_LIMIT // 2)
    cut = text[start : start + LINE_LIMIT]
    return f"{'…' if start else ''}{cut}{'…' if start + LINE_LIMIT < len(text) else ''}"


def _result(search: _Search, context: ToolContext, call: Call) -> ToolResult:
    matches = []
    for index in sorted(search.found):
        path = listing.show(search.paths[index])
        matches += [{"path": path, "line": n, "text": text} for n, text in search.found[index]]
    truncated = len(matches) > search.limit
    matches = matches[: search.limit]
    rows = []
    last = ""
    for match in matches:
        if match["path"] != last:
            last = str(match["path"])
            rows.append(last)
        rows.append(f"{match['line']}: {match['text']}")
    if truncated:
        rows.append(f"[cut at {search.limit} lines; narrow the pattern or the paths]")
    data = {"matches": matches, "truncated": truncated, "filesSearched": search.searched}
    return ToolResult(bounded("\n".join(rows) or "no match", context, call), data)


TOOL = Tool(
    name="search_text",
    tool_class="read",
    description=(
        "Searches the text of the workspace's files line by line and gives path, line number and "
        "line of each match, in order of paths. `regex` takes RE2 syntax (as in ripgrep, without "
        "look-around). Use it for exact names and messages; use retrieve_context for questions."
    ),
    params=SearchTextParams,
    run=run,
    parallel=True,
)
