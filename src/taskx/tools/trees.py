"""A file, link or whole folder as planned changes, for moving and deleting."""

from __future__ import annotations

import os

from taskx.edits import files
from taskx.edits.files import ABSENT
from taskx.edits.operation import Edit
from taskx.edits.paths import Place
from taskx.errors import ToolError

FILES_LIMIT = 2000
BYTES_LIMIT = 64 * 1024 * 1024


def removals(place: Place, name: str) -> list[Edit]:
    """What removes everything at and below `place`, each content kept so that it can come back.

    Raises ToolError: `notFound`; `tooLarge` for more than can be kept; `denied` for a repository.
    """
    state, data = files.look(place.root, place.rel)
    if state.kind == "absent":
        raise ToolError("notFound", f"no such file or folder: {name}")
    edits = [Edit(place.rel, state, ABSENT, data)]
    if state.kind != "directory":
        return edits
    size = 0
    for folder, names, found in os.walk(place.path):
        if ".git" in names or ".git" in found:
            raise ToolError("denied", f"{name} holds a git repository; use run_command for that")
        links = [n for n in names if os.path.islink(os.path.join(folder, n))]
        for entry in (*names, *found):
            rel = os.path.relpath(os.path.join(folder, entry), place.root)
            inner, content = files.look(place.root, rel)
            edits.append(Edit(rel, inner, ABSENT, content))
            size += len(content)
            if len(edits) > FILES_LIMIT or size > BYTES_LIMIT:
                raise ToolError(
                    "tooLarge",
                    f"{name} holds more than {FILES_LIMIT} files or 64 MiB, too much to keep for "
                    "undoing it; use run_command for that",
                )
        names[:] = [n for n in names if n not in links]
    return edits
