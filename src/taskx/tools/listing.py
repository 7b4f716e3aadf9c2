"""The workspace's files, by the index when there is one, else by a scan with the same rules."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
from typing import Any

from taskx.errors import ToolError
from taskx.tools.context import ToolContext


async def files(context: ToolContext) -> list[bytes]:
    """Paths relative to the root, sorted by bytes, without ignored and excluded files."""
    snapshot = getattr(context.workspace, "snapshot", None)
    if snapshot is not None:
        return await asyncio.to_thread(_of_snapshot, snapshot)
    from taskx.workspace.files.scan import Scanner

    return await asyncio.to_thread(lambda: Scanner(os.fsencode(context.root)).scan().path_list())


def _of_snapshot(snapshot: Any) -> list[bytes]:
    """By whole columns: a large tree has tens of thousands of files."""
    paths: list[bytes] = []
    for segment, mask in zip(snapshot.segments, snapshot.live, strict=True):
        blob, offsets = bytes(segment.path_blob), segment.path_off.tolist()
        found = [blob[a:b] for a, b in itertools.pairwise(offsets)]
        paths += found if mask is None else itertools.compress(found, mask)
    return sorted(paths)


def show(path: bytes) -> str:
    """A path for people and JSON; bytes that are not UTF-8 become replacement characters."""
    return path.decode("utf-8", "replace")


def below(paths: list[bytes], folder: str) -> list[bytes]:
    """The files at or below `folder` ("." for all)."""
    if folder in (".", ""):
        return paths
    name = os.fsencode(folder.rstrip("/"))
    return [path for path in paths if path == name or path.startswith(name + b"/")]


def glob_matcher(pattern: str) -> re.Pattern[bytes]:
    """A glob as a regular expression over whole relative paths.

    `*` and `?` stay within a name, `**` crosses folders, `{a,b}` is one of several. A pattern
    without a slash is looked for in every folder.
    """
    text = pattern.removeprefix("./").lstrip("/")
    if not text:
        raise ToolError("invalidInput", "the pattern is empty")
    if text.endswith("/"):
        text += "**"
    if "/" not in text:
        text = f"**/{text}"
    try:
        return re.compile(_translate(text).encode("utf-8", "surrogateescape"), re.DOTALL)
    except (re.error, UnicodeEncodeError) as error:
        raise ToolError("invalidInput", f"{pattern}: not a glob: {error}") from error


def _translate(text: str) -> str:
    out = []
    i = depth = 0
    while i < len(text):
        c = text[i]
        if text.startswith("**/", i) and (i == 0 or text[i - 1] == "/"):
            out.append("(?:[^/]+/)*")
            i += 3
            continue
        if text.startswith("**", i):
            out.append(".*")
            i += 2
            continue
        if c == "*":
            out.append("[^/]*")
        elif c == "?":
            out.append("[^/]")
        elif c == "[" and (end := text.find("]", i + 2)) > 0:
            inner = text[i + 1 : end].replace("\\", "\\\\")
            inner = "^" + inner[1:] if inner.startswith("!") else inner
            out.append(f"[{inner}]")
            i = end
        elif c == "{" and "}" in text[i:]:
            out.append("(?:")
            depth += 1
        elif c == "}" and depth:
            out.append(")")
            depth -= 1
        elif c == "," and depth:
            out.append("|")
        elif c == "\\" and i + 1 < len(text):
            i += 1
            out.append(re.escape(text[i]))
        else:
            out.append(re.escape(c))
        i += 1
    return "".join(out) + r"\Z"
