"""`agent/*`: runs tasks for the client, and finds running ones for it."""

from __future__ import annotations

import asyncio
import re

import msgspec

from taskx.engines.agent import opening, records
from taskx.engines.agent.defaults import filled
from taskx.engines.agent.running import Running
from taskx.errors import InvalidParams
from taskx.fronts.runtime.dispatch import Context
from taskx.protocol.agent import (
    TASK_ID_PATTERN,
    AgentEvent,
    AgentEventParams,
    AgentRunParams,
    ApprovalParams,
    ApprovalResult,
    AskUserParams,
    AskUserResult,
    CancelToolParams,
    Decision,
    DoneEvent,
    SteerParams,
    StoredTask,
    Summary,
    TaskEntry,
    TaskParams,
)
from taskx.protocol.refine import MAX_PROMPT_CHARS
from taskx.rpc.peer import Disconnected, RemoteError


class PeerClient:
    """The person behind the connection. Implements `engines.ports.Client`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def request_approval(self, params: ApprovalParams) -> Decision:
        try:
            answer: ApprovalResult = await self._context.call("agent/requestApproval", params)
        except (RemoteError, Disconnected, msgspec.ValidationError):
            return "deny"
        return answer.decision

    async def ask_user(self, params: AskUserParams) -> dict[str, list[str]] | None:
        try:
            answer: AskUserResult = await self._context.call("agent/askUser", params)
        except (RemoteError, Disconnected, msgspec.ValidationError):
            return None
        return answer.answers

    async def writable(self) -> None:
        await self._context.writable()


async def run(context: Context, params: AgentRunParams) -> Summary:
    task_id = params.task_id if isinstance(params.task_id, str) else opening.new_task_id()
    params = filled(params, context.app.config.limits, context.app.config.prices)
    # Before anything is awaited: of two requests with one id the first gets it.
    if task_id in running(context):
        raise InvalidParams(f"params.taskId: task {task_id} is running already")
    with running(context).reserved(task_id):
        return await run_reserved(context, params, task_id)


async def run_reserved(context: Context, params: AgentRunParams, task_id: str) -> Summary:
    services = await asyncio.to_thread(context.app.agent_services)

    def emit(event: AgentEvent) -> None:
        context.notify("agent/event", AgentEventParams(task_id=task_id, event=event))

    client = PeerClient(context)
    try:
        task = await opening.open_task(services, params, client, emit, task_id=task_id)
    except asyncio.CancelledError:
        emit(DoneEvent(status="cancelled"))
        raise
    services.start_item(task_id, "task")
    services.running.add(task)
    status = "cancelled"
    try:
        summary = await task.run()
        status = summary.status
        return summary
    finally:
        services.running.remove(task)
        services.end_item(task_id, status)


def running(context: Context) -> Running:
    return context.app.running


def cancel_tool(context: Context, params: CancelToolParams) -> bool:
    return running(context).cancel_tool(params.task_id, params.call_id)


def cancel_subagent(context: Context, params: TaskParams) -> bool:
    return running(context).cancel_subagent(params.task_id)


def steer(context: Context, params: SteerParams) -> bool:
    text = params.text.strip()
    if not 1 <= len(text) <= MAX_PROMPT_CHARS:
        raise InvalidParams(
            f"params.text: expected 1 to {MAX_PROMPT_CHARS} characters after trimming"
        )
    return running(context).steer(params.task_id, text)


async def tasks(context: Context, params: None) -> list[TaskEntry]:
    data_dir = context.app.data_dir
    return await asyncio.to_thread(records.entries, data_dir) if data_dir is not None else []


async def task(context: Context, params: TaskParams) -> StoredTask:
    data_dir = context.app.data_dir
    found = None
    if data_dir is not None and is_task_id(params.task_id):
        found = await asyncio.to_thread(records.stored, data_dir, params.task_id)
    if found is None:
        raise InvalidParams(f"params.taskId: there is no stored task {params.task_id!r}")
    return found


async def delete_task(context: Context, params: TaskParams) -> bool:
    if params.task_id in running(context):
        raise InvalidParams("params.taskId: the task is running; cancel it first")
    data_dir = context.app.data_dir
    if data_dir is None or not is_task_id(params.task_id):
        return False
    return await asyncio.to_thread(records.delete, data_dir, params.task_id)


def is_task_id(text: str) -> bool:
    """Whether the text can name a task's file."""
    return re.fullmatch(TASK_ID_PATTERN, text) is not None
