"""read_file: text of a file, by lines."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated, Any

from msgspec import Meta

from taskx.edits import files
from taskx.edits import text as texts
from taskx.edits.files import State
from taskx.edits.paths import Place
from taskx.errors import ToolError
from taskx.protocol.base import Wire
from taskx.tools import guard
from taskx.tools.context import RESULT_LIMIT_BYTES, Call, ToolContext, ToolResult
from taskx.tools.registry import Tool


class ReadFileParams(Wire, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="Path of the file, relative to the workspace.")]
    start_line: Annotated[
        int | None, Meta(description="First line to read, from 1. Default: 1.")
    ] = None
    end_line: Annotated[
        int | None, Meta(description="Last line to read, inclusive. Default: the last that fits.")
    ] = None


async def run(params: ReadFileParams, context: ToolContext, call: Call) -> ToolResult:
    place = await asyncio.to_thread(guard.readable, context, params.path, call)
    state, data = await asyncio.to_thread(_read, place, params.path)
    if place.root == context.root:
        context.reads.saw(place.rel, state)
    return ToolResult(*_shown(params, place, data))


def _read(place: Place, name: str) -> tuple[State, bytes]:
    state, data = files.look(place.root, place.rel)
    if state.kind == "absent":
        raise ToolError("notFound", f"no such file: {name}{_similar(place)}")
    if state.kind == "directory":
        raise ToolError("invalidInput", f"{name} is a folder; list_files shows what is in it")
    if texts.is_binary(data):
        raise ToolError("invalidInput", f"{name} is a binary file of {len(data)} bytes")
    return state, data


def _similar(place: Place) -> str:
    """Names in the same folder that differ only in case or ending, to help a model on."""
    folder, wanted = os.path.split(place.path)
    try:
        names = os.listdir(folder)
    except OSError:
        return "; its folder does not exist either"
    stem = wanted.rsplit(".", 1)[0].lower()
    near = sorted(name for name in names if name.rsplit(".", 1)[0].lower() == stem)[:5]
    return f"; did you mean {', '.join(near)}?" if near else ""


def _shown(params: ReadFileParams, place: Place, data: bytes) -> tuple[str, Any]:
    form = texts.decode(data)
    lines = texts.split_lines(form.text)
    start = params.start_line or 1
    end = params.end_line if params.end_line is not None else len(lines)
    if start > max(len(lines), 1):
        raise ToolError("invalidInput", f"{params.path} has only {len(lines)} lines")
    if start < 1 or end < start - 1:
        raise ToolError("invalidInput", "startLine and endLine count from 1, in this order")
    chosen = lines[start - 1 : end]
    size = kept = 0
    for line in chosen:
        size += len(line.encode("utf-8", "replace"))
        if size > RESULT_LIMIT_BYTES:
            break
        kept += 1
    text = texts.plain("".join(chosen[:kept]))
    if kept == 0 and chosen:
        # One line alone is too long: its beginning, so that there is something to see.
        text, kept = texts.body_of(chosen[0])[: RESULT_LIMIT_BYTES // 4], 1
        note = f"[line {start} has {len(chosen[0])} characters; only its beginning is shown]"
    elif kept < len(chosen):
        note = f"[cut: {len(lines) - start - kept + 1} more lines; go on from line {start + kept}]"
    else:
        note = ""
    last = start + kept - 1
    header = f"{params.path}, lines {start}-{last} of {len(lines)}" if lines else "(empty file)"
    content = f"{header}\n{text}{note}"
    return content, {
        "path": place.rel,
        "content": text,
        "startLine": start,
        "endLine": last,
        "totalLines": len(lines),
        "truncated": bool(note),
        "encoding": form.encoding,
        "lineEnding": "crlf" if texts.usual_end(lines) == "\r\n" else "lf",
    }


TOOL = Tool(
    name="read_file",
    tool_class="read",
    description=(
        "Reads a text file of the workspace. Long files are cut at 64 KiB; read the rest with "
        "startLine and endLine. Read a file before you overwrite it. The first line of the result "
        "names the range and is not part of the file."
    ),
    params=ReadFileParams,
    run=run,
    touches=lambda params: [params.path],
    parallel=True,
)
