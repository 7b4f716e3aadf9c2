"""From the params of a run to a task that is ready: models, tools, history, first message."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taskx.engines.agent import prompts, records, subagents
from taskx.engines.agent.approvals import Approvals
from taskx.engines.agent.calls import Calls
from taskx.engines.agent.compression import EXCERPTS_HEAD
from taskx.engines.agent.costs import Costs
from taskx.engines.agent.mentions import mentions_text
from taskx.engines.agent.running import Running
from taskx.engines.agent.task import AgentTask
from taskx.engines.agent.toolbox import Toolbox
from taskx.engines.agent.turn import Models
from taskx.engines.classify import classify
from taskx.engines.ports import Client, Emit
from taskx.engines.refine import route_for
from taskx.protocol import agent as events
from taskx.protocol.agent import AgentRunParams, EditorContext, Role
from taskx.protocol.chat import ContentPart, ImagePart, Message, TextPart
from taskx.protocol.providers import ProviderConfig
from taskx.providers import Providers
from taskx.tools import registry
from taskx.tools.context import ToolContext
from taskx.workspace.files.instructions import for_paths

if TYPE_CHECKING:
    from taskx.workspace.workspace import Workspace

EXCERPT_TOKENS = 4000
READ_ONLY_MODES = frozenset({"ask", "plan"})
READ_ONLY_ROLES = frozenset({"research", "review"})


@dataclass(frozen=True, slots=True)
class Services:
    """What tasks share: built once by the app."""

    providers: Providers
    running: Running
    workspace: Workspace | None
    root: Path
    data_dir: Path | None
    session: str
    sandboxed: bool
    tool_context: Callable[[str, int], ToolContext]
    """Makes the context of a task's tools from its id and its command timeout in ms."""
    start_item: Callable[[str, str], None]
    end_item: Callable[[str, str], None]


def new_task_id() -> str:
    return f"task-{secrets.token_hex(8)}"


def chain_of(params: AgentRunParams, role: Role | None) -> tuple[list[ProviderConfig], str | None]:
    """The model to use first and its fallbacks, and the task kind whose route chose it."""
    for chosen in params.role_providers:
        if chosen.role == role:
            return [chosen.provider, *params.fallbacks], None
    kind = classify(params.prompt)
    route = route_for(kind, params.routes)
    if route is not None:
        return [route.provider, *params.fallbacks], kind
    return [params.provider, *params.fallbacks], None


async def open_task(
    services: Services,
    params: AgentRunParams,
    client: Client,
    emit: Emit,
    *,
    task_id: str,
    parent: AgentTask | None = None,
    role: Role | None = None,
) -> AgentTask:
    """A task that is ready to run; its first events are sent.

    parent, role: of a subagent. Its policy is its parent's, its grants are its own.
    """
    read_only = params.chat_mode in READ_ONLY_MODES or role in READ_ONLY_ROLES
    costs = Costs(params.prices)
    chain, routed = chain_of(params, role)
    models = Models(services.providers, chain, emit, client, costs, params.limits.max_retries)
    emit(
        events.StartedEvent(
            chat_mode=params.chat_mode,
            model=models.current.model,
            prompt_length=len(params.prompt),
        )
    )
    emit(events.ModelEvent(kind=models.current.kind, model=models.current.model, route=routed))
    context = services.tool_context(task_id, params.limits.command_timeout_ms)
    if parent is not None:
        context.diagnostics = parent.toolbox.context.diagnostics
    elif isinstance(params.editor, EditorContext):
        context.diagnostics = params.editor.diagnostics
    toolbox = Toolbox(
        tools=dict(registry.tools()),
        context=context,
        rules=params.policy,
        limits=params.limits,
        approvals=Approvals(client, emit, task_id, params.limits.approval_timeout_ms),
        client=client,
        emit=emit,
        task_id=task_id,
        read_only=read_only,
        sandboxed=services.sandboxed,
        top_level=parent is None,
    )
    if not services.sandboxed and not read_only:
        emit(
            events.WarningEvent(
                message="commands of this task are not confined by a sandbox and need approval"
            )
        )
    # A subagent is a part of its parent's task, and no task of its own on disk.
    data_dir = services.data_dir if parent is None else None
    kept = await _kept(data_dir, task_id)
    earlier = kept.messages
    first = await first_message(services, params, emit, with_excerpts=not earlier)
    task = AgentTask(
        id=task_id,
        models=models,
        toolbox=toolbox,
        calls=Calls(
            runner=toolbox,
            emit=emit,
            max_calls=params.limits.max_tool_calls,
            start_item=services.start_item,
            end_item=services.end_item,
        ),
        costs=costs,
        limits=params.limits,
        system=_system(services, params, role, toolbox),
        messages=joined(earlier, first),
        record=records.Record(
            data_dir,
            task_id,
            services.session,
            kept.title or records.title_of(params.prompt),
            kept.created_ms or records.now_ms(),
        ),
        emit=emit,
        client=client,
        parent=parent.id if parent is not None else None,
    )
    if parent is None:
        subagents.offer(task, services, params)
    return task


async def _kept(data_dir: Path | None, task_id: str) -> records.Kept:
    """What is on disk, when this task id was run before."""
    if data_dir is None:
        return records.Kept()
    return await asyncio.to_thread(records.kept, data_dir, task_id)


def joined(earlier: list[Message], first: Message) -> list[Message]:
    """The new message after the earlier ones; roles alternate."""
    if earlier and earlier[-1].role == "user":
        merged = Message(role="user", content=[*earlier[-1].content, *first.content])
        return [*earlier[:-1], merged]
    return [*earlier, first]


def _system(services: Services, params: AgentRunParams, role: Role | None, toolbox: Toolbox) -> str:
    instructions: list[tuple[str, str]] = []
    checks: list[str] = []
    if services.workspace is not None:
        found = for_paths(services.workspace.instructions, focus_of(params))
        instructions = [(file.source, file.content) for file in found]
        project = services.workspace.summary().project
        checks = [f"- {check.id} ({check.kind}): {check.command}" for check in project.checks]
        toolbox.reported.known_checks = [check.id for check in project.checks]
    return prompts.system_prompt(str(services.root), params.chat_mode, role, instructions, checks)


async def first_message(
    services: Services, params: AgentRunParams, emit: Emit, *, with_excerpts: bool
) -> Message:
    """The prompt with what goes with it: images, editor state, mentions, excerpts."""
    parts: list[ContentPart] = []
    if isinstance(params.editor, EditorContext):
        state = prompts.editor_text(params.editor)
        if state:
            parts.append(TextPart(text=state))
        attached = await mentions_text(services.workspace, params.editor.mentions, emit)
        if attached:
            parts.append(TextPart(text=attached))
    if with_excerpts and services.workspace is not None:
        excerpts = await _excerpts(services.workspace, params)
        if excerpts:
            parts.append(TextPart(text=excerpts))
    parts += [ImagePart(media_type=image.media_type, data=image.data) for image in params.images]
    parts.append(TextPart(text=params.prompt))
    return Message(role="user", content=parts)


async def _excerpts(workspace: Workspace, params: AgentRunParams) -> str:
    result = await workspace.retrieve(params.prompt[:2000], EXCERPT_TOKENS, focus_of(params))
    snippets: list[Any] = list(result.retrieval.snippets)
    if not snippets:
        return ""
    return EXCERPTS_HEAD + "\n\n".join(
        f"{snippet.path}:{snippet.start_line}-{snippet.end_line}\n{snippet.text}"
        for snippet in snippets
    )


def focus_of(params: AgentRunParams) -> list[str]:
    editor = params.editor
    if isinstance(editor, EditorContext) and isinstance(editor.active_file, str):
        return [editor.active_file]
    return []
