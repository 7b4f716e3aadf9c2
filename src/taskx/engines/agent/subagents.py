"""`run_subagent`: a task of its own, with its own history, inside its parent's limits and policy.

Its events reach the client wrapped in `subagent`; its cost is in its parent's summary; what was
granted to it stays with it. Source: protocol v1, "Team mode" (events), `agent/cancelSubagent`.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from taskx.engines.agent import opening
from taskx.engines.agent.task import AgentTask
from taskx.engines.agent.toolbox import SpecialTool
from taskx.errors import ToolError
from taskx.protocol import agent as events
from taskx.protocol.agent import AgentEvent, AgentRunParams, Limits, Role, Summary
from taskx.protocol.chat import ToolSpec

if TYPE_CHECKING:
    from taskx.engines.agent.opening import Services

ALIASES: dict[str, Role] = {
    "research": "research",
    "explore": "research",
    "implementation": "implementation",
    "implement": "implementation",
    "code": "implementation",
    "coding": "implementation",
    "testing": "testing",
    "test": "testing",
    "tests": "testing",
    "qa": "testing",
    "review": "review",
    "reviewer": "review",
    "documentation": "documentation",
    "docs": "documentation",
    "doc": "documentation",
}
MAX_TEXT_CHARS = 20_000

SPEC = ToolSpec(
    name="run_subagent",
    description=(
        "Give a self-contained part of the work to a subagent with a fresh context. It sees only"
        " `objective` and `context`, so say everything it needs: files, constraints, what to"
        " report. Roles: research and review only read; implementation, testing and documentation"
        " may change files. The result is its report. Several subagents in one turn run at once."
    ),
    input_schema={
        "type": "object",
        "required": ["role", "objective"],
        "properties": {
            "role": {
                "type": "string",
                "description": "research, implementation, testing, review or documentation",
            },
            "objective": {"type": "string", "description": "what to achieve and to report"},
            "context": {"type": "string", "description": "what it must know beforehand"},
        },
    },
)


def role_of(text: object) -> Role:
    """The role a model means. Raises ToolError naming the five."""
    role = ALIASES.get(text.strip().lower()) if isinstance(text, str) else None
    if role is None:
        names = ", ".join(dict.fromkeys(ALIASES.values()))
        raise ToolError("invalidInput", f"role: expected one of {names}")
    return role


def offer(task: AgentTask, services: Services, params: AgentRunParams) -> None:
    """Gives a top-level task the tool."""
    places = asyncio.Semaphore(params.limits.max_parallel)

    async def run(call_id: str, arguments: dict[str, Any]) -> dict[str, Any]:
        role = role_of(arguments.get("role"))
        objective = _text(arguments, "objective", required=True)
        context = _text(arguments, "context", required=False)
        async with places:
            return await run_subagent(task, services, params, role, objective, context)

    task.toolbox.special["run_subagent"] = SpecialTool(SPEC, run, parallel=True)


def _text(arguments: dict[str, Any], name: str, *, required: bool) -> str:
    value = arguments.get(name, "")
    if not isinstance(value, str) or (required and not value.strip()):
        raise ToolError("invalidInput", f"{name}: expected a text")
    if len(value) > MAX_TEXT_CHARS:
        raise ToolError("invalidInput", f"{name}: expected at most {MAX_TEXT_CHARS} characters")
    return value


async def run_subagent(
    parent: AgentTask,
    services: Services,
    params: AgentRunParams,
    role: Role,
    objective: str,
    context: str,
) -> dict[str, Any]:
    """Runs it to its end and gives its report. Cancelling the caller ends it."""
    name = f"{role}-{secrets.token_hex(3)}"
    task_id = opening.new_task_id()

    def wrapped(event: AgentEvent) -> None:
        parent.emit(events.SubagentEvent(name=name, task_id=task_id, event=event))

    own = msgspec.structs.replace(
        params,
        prompt=f"{objective}\n\n{context}".strip(),
        images=[],
        editor=msgspec.UNSET,
        task_id=msgspec.UNSET,
        limits=left_of(params.limits, parent),
    )
    child = await opening.open_task(
        services, own, parent.client, wrapped, task_id=task_id, parent=parent, role=role
    )
    parent.emit(
        events.SubagentStartedEvent(
            name=name,
            task_id=task_id,
            role=role,
            objective=objective,
            kind=child.models.current.kind,
            model=child.models.current.model,
            dir=None,
            step=None,
        )
    )
    services.start_item(task_id, "task")
    services.running.add(child)
    summary: Summary | None = None
    try:
        summary = await child.run()
    finally:
        services.running.remove(child)
        services.end_item(task_id, summary.status if summary is not None else "cancelled")
        parent.costs.add_subagent(child.costs)
        _take_over(parent, child)
        parent.emit(_finished(name, role, child, summary))
    return {
        "status": summary.status,
        "report": summary.text,
        "changedFiles": [file.path for file in summary.changed_files],
        **({"error": summary.error.message} if summary.error is not None else {}),
    }


def left_of(limits: Limits, parent: AgentTask) -> Limits:
    """What a subagent may still spend of its parent's limits."""
    cost, tokens = limits.max_cost_usd, limits.max_tokens
    if isinstance(cost, int | float):
        cost = max(0.0, cost - parent.costs.total_usd)
    if isinstance(tokens, int):
        tokens = max(1, tokens - parent.costs.tokens)
    return msgspec.structs.replace(limits, max_cost_usd=cost, max_tokens=tokens)


def _take_over(parent: AgentTask, child: AgentTask) -> None:
    """A subagent's edits are its parent's too."""
    ours, theirs = parent.toolbox.reported, child.toolbox.reported
    for path, (added, removed) in theirs.changed.items():
        counts = ours.changed.setdefault(path, [0, 0])
        counts[0] += added
        counts[1] += removed
    ours.operations += [name for name in theirs.operations if name not in ours.operations]
    ours.checks += [(check, ours.edits + edits_before) for check, edits_before in theirs.checks]
    ours.edits += theirs.edits


def _finished(
    name: str, role: Role, child: AgentTask, summary: Summary | None
) -> events.SubagentFinishedEvent:
    changed = child.toolbox.reported.changed_files
    error = summary.error.message if summary is not None and summary.error is not None else None
    return events.SubagentFinishedEvent(
        name=name,
        task_id=child.id,
        role=role,
        status=summary.status if summary is not None else "cancelled",
        error=error,
        cost_usd=child.costs.total_usd,
        unpriced_tokens=child.costs.unpriced_tokens,
        tokens=child.costs.tokens,
        files=[file.path for file in changed],
        added=sum(file.added for file in changed),
        removed=sum(file.removed for file in changed),
        worktree=None,
    )
