"""Files and folders the user named with `@path`, as text for the first message.

Only what is indexed is attached, so an excluded file never is. Source: protocol v1, EditorContext.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from taskx.engines.ports import Emit
from taskx.protocol.agent import MAX_MENTIONS, WarningEvent
from taskx.workspace.files.text import read_below

if TYPE_CHECKING:
    from taskx.workspace.index.snapshot import Snapshot
    from taskx.workspace.workspace import Workspace

MAX_FILE_CHARS = 40_000
MAX_TOTAL_CHARS = 120_000
MAX_LISTED_FILES = 500


async def mentions_text(workspace: Workspace | None, mentions: list[str], emit: Emit) -> str:
    """The attached text; a warning names what could not be attached."""
    if len(mentions) > MAX_MENTIONS:
        emit(WarningEvent(message=f"only the first {MAX_MENTIONS} mentions are attached"))
    parts: list[str] = []
    left = MAX_TOTAL_CHARS
    for mention in mentions[:MAX_MENTIONS]:
        text = None
        if workspace is not None:
            text = await workspace.read(_attached, workspace.snapshot, mention)
        if text is None:
            emit(WarningEvent(message=f"{mention} is not in the index and was not attached"))
            continue
        shown = text[: min(MAX_FILE_CHARS, left)]
        left -= len(shown)
        cut = "\n[the rest is left out]" if len(shown) < len(text) else ""
        if shown:
            parts.append(f"Mentioned: {mention}\n{shown}{cut}")
    return "\n\n".join(parts)


def _attached(snapshot: Snapshot, mention: str) -> str | None:
    """An indexed file's text, or the list of a folder's files; None when neither is there."""
    path = mention.removeprefix("@").strip("/")
    if snapshot.file_id(path) is not None:
        text = read_below(snapshot.root, os.fsencode(path))
        return text.text if text is not None else None
    folder = "" if path in ("", ".") else f"{path}/"
    files = sorted(
        name for name in map(snapshot.path, snapshot.file_ids()) if name.startswith(folder)
    )
    if not files:
        return None
    more = len(files) - MAX_LISTED_FILES
    listed = "\n".join(files[:MAX_LISTED_FILES])
    return listed + (f"\n… and {more} more files" if more > 0 else "")
