"""What an engine needs from its caller; each front implements it.

Must not know: rpc, or any front.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from taskx.protocol.agent import (
    AgentEvent,
    ApprovalParams,
    AskUserParams,
    Decision,
)

Emit = Callable[[AgentEvent], None]
"""Takes one event of a task; never blocks."""


class Client(Protocol):
    """Questions to the person. Cancelling a call withdraws the question."""

    async def request_approval(self, params: ApprovalParams) -> Decision:
        """The answer; `deny` when there is none, it is an error, or it makes no sense."""
        ...

    async def ask_user(self, params: AskUserParams) -> dict[str, list[str]] | None:
        """Question id to chosen options; None when dismissed, unanswered or malformed."""
        ...

    async def writable(self) -> None:
        """Waits while the person's program does not read what was sent."""
        ...
