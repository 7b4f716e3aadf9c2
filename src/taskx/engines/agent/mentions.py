"""Files and folders the user named with `@path`, as text for the first message.

Only what is indexed is attached, so an excluded file never is. Source: protocol v1, EditorContext.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from taskx.engines.ports import Emit
from taskx.protocol.agent import MAX_MENTIONS, WarningEvent

if TYPE_CHECKING:
    from taskx.workspace.workspace import Workspace

MAX_FILE_CHARS = 40_000
MAX_TOTAL_CHARS = 120_000
MAX_LISTED_FILES = 500


def mentions_text(workspace: Workspace | None, mentions: list[str], emit: Emit) -> str:
    """The attached text; a warning names what could not be attached."""
    if len(mentions) > MAX_MENTIONS:
        emit(WarningEvent(message=f"only the first {MAX_MENTIONS} mentions are attached"))
    parts: list[str] = []
    left = MAX_TOTAL_CHARS
    for mention in mentions[:MAX_MENTIONS]:
        text = _attached(workspace, mention) if workspace is not None else None
        if text is None:
            emit(WarningEvent(message=f"{mention} is not in the index and was not attached"))
            continue
        shown = text[: min(MAX_FILE_CHARS, left)]
        left -= len(shown)
        cut = "\n[the rest is left out]" if len(shown) < len(text) else ""
        if shown:
            parts.append(f"Mentioned: {mention}\n{shown}{cut}")
    return "\n\n".join(parts)


def _attached(workspace: Workspace, mention: str) -> str | None:
    """The indexed text of a file, or the list of a folder's files; None when neither is there."""
    path = mention.removeprefix("@").strip("/")
    text = workspace.indexed_text(path)
    if text is not None:
        return text
    files = workspace.files_below(path)
    if not files:
        return None
    more = len(files) - MAX_LISTED_FILES
    listed = "\n".join(files[:MAX_LISTED_FILES])
    return listed + (f"\n… and {more} more files" if more > 0 else "")
