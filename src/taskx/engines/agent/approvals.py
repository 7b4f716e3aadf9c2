"""Asks the user about one call, with its events, its timeout and its grants."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from taskx.engines.agent.policy import Grants, Verdict
from taskx.engines.ports import Client, Emit
from taskx.protocol.agent import (
    ApprovalParams,
    ApprovalRequestedEvent,
    ApprovalResolvedEvent,
    Decision,
    ToolClass,
)

DENIED = "the user denied this call"
UNANSWERED = "nobody answered the approval request in time; the call did not run"


class Approvals:
    """The approvals of one task. Several may be open at once; each answer reaches its own call."""

    def __init__(self, client: Client, emit: Emit, task_id: str, timeout_ms: int) -> None:
        self._client = client
        self._emit = emit
        self._task_id = task_id
        self._timeout_s = timeout_ms / 1000
        self.grants = Grants()

    async def settle(
        self,
        verdict: Verdict,
        call_id: str,
        tool: str,
        tool_class: ToolClass,
        arguments: dict[str, Any],
        preview: str,
    ) -> str | None:
        """None when the call may run, else what the model is told."""
        if verdict.action == "run":
            if verdict.by_grant:
                self._resolved(call_id, "allow", "session")
            return None
        if verdict.action == "refuse":
            self._resolved(call_id, "deny", "policy")
            return verdict.why
        self._emit(
            ApprovalRequestedEvent(
                call_id=call_id, tool=tool, permission=tool_class, preview=preview
            )
        )
        params = ApprovalParams(
            task_id=self._task_id,
            call_id=call_id,
            tool=tool,
            permission=tool_class,
            input=arguments,
            preview=preview,
        )
        try:
            async with asyncio.timeout(self._timeout_s):
                decision = await self._client.request_approval(params)
        except TimeoutError:
            self._resolved(call_id, "deny", "timeout")
            return UNANSWERED
        except asyncio.CancelledError:
            # The user stopped the call or its task: nobody is to answer any more.
            self._resolved(call_id, "deny", "user")
            raise
        if decision == "allowSession":
            self.grants.add(tool, arguments)
        self._resolved(call_id, decision, "user")
        return DENIED if decision == "deny" else None

    def _resolved(
        self,
        call_id: str,
        decision: Decision,
        by: Literal["user", "session", "policy", "timeout"],
    ) -> None:
        self._emit(ApprovalResolvedEvent(call_id=call_id, decision=decision, by=by))
