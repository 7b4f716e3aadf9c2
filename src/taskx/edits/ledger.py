"""What each task has read, so that it does not write over what it has not seen."""

from __future__ import annotations

from taskx.edits.files import State
from taskx.errors import ToolError


class Ledger:
    """One per task, and one for the client's own calls. Paths are real ones, from `resolve`."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}

    def saw(self, path: str, state: State) -> None:
        """Notes that the task knows `path` as it is: it has read or written it."""
        self._seen[path] = state.digest

    def check(self, path: str, state: State, must_know: bool) -> None:
        """Raises ToolError `stale` when the file is not as the task last saw it.

        must_know: whether a file that it has never seen is refused too.
        """
        if state.kind != "file":
            return
        seen = self._seen.get(path)
        if seen is None:
            if must_know:
                raise ToolError("stale", f"{path} exists, and was not read: read it first")
            return
        if seen != state.digest:
            raise ToolError(
                "stale", f"{path} has changed since it was read: read it again before you edit it"
            )
