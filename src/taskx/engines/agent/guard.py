"""Notices a model that goes round in circles.

Three identical failing calls, or five identical calls with identical results, in a row: a warning
and a note to the model; the next repeat ends the task as `limited`. Polling with changing results
is no loop. Source: `docs/protocol.md`, "Limits".
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import msgspec

FAILING_REPEATS = 3
EQUAL_REPEATS = 5

Verdict = Literal["fine", "warn", "stop"]


class LoopGuard:
    """Sees every finished call of one task in order."""

    def __init__(self) -> None:
        self._last: bytes | None = None
        self._count = 0
        self._warned = False

    def after(self, tool: str, arguments: dict[str, Any], *, ok: bool, result: str) -> Verdict:
        """What to do after this call. `warn` comes once per circle."""
        written = msgspec.json.encode([tool, arguments, ok, result], order="deterministic")
        seen = hashlib.sha256(written).digest()
        if seen != self._last:
            self._last, self._count, self._warned = seen, 1, False
            return "fine"
        self._count += 1
        if self._warned:
            return "stop"
        if self._count >= (EQUAL_REPEATS if ok else FAILING_REPEATS):
            self._warned = True
            return "warn"
        return "fine"

    def note(self, tool: str) -> str:
        """What the model is told with the warning."""
        return (
            f"You called {tool} {self._count} times in a row with the same arguments and the same"
            " outcome. Do something else: another tool, other arguments, or finish with what you"
            " know. One more identical call ends this task."
        )
