"""The method table: one row per method. Dispatch, the gate, docs and the schema come from it.

A family adds its types in `protocol/<family>.py`, its handlers in `fronts/runtime/<family>.py`, and
its rows here. A handler is named by an import string and imported on first use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from taskx.protocol import (
    agent,
    chat,
    context,
    edits,
    graph,
    lifecycle,
    providers,
    refine,
    tools,
    workspace,
)

Direction = Literal["client", "server"]


@dataclass(frozen=True, slots=True)
class Method:
    """A row.

    direction: who handles it; "server" is this runtime, "client" the editor.
    params: the type of its params; None for a method without.
    result: the type of its result; None for null, and for a notification.
    handler: "package.module:function", `def` (fast, answered inline) or `async def`; None for
        what the session handles itself and what the client handles.
    needs_workspace: without an open workspace it fails with -32004.
    exclusive: a name; requests with the same name run one after another, in order.
    overflow: of a notification to a client that does not read: "keep" it, "drop" it, or "merge"
        the text of `event` into the one before it of the same stream.
    """

    name: str
    kind: Literal["request", "notification"]
    direction: Direction = "server"
    params: Any = None
    result: Any = None
    handler: str | None = None
    needs_workspace: bool = False
    exclusive: str | None = None
    overflow: Literal["keep", "drop", "merge"] = "keep"


_ROWS = (
    # Lifecycle
    Method(
        "initialize",
        "request",
        params=lifecycle.InitializeParams,
        result=lifecycle.InitializeResult,
    ),
    Method("shutdown", "request"),
    Method("exit", "notification"),
    Method("$/cancelRequest", "notification", params=lifecycle.CancelParams),
    # Graph
    Method(
        "graph/project",
        "request",
        params=graph.ProjectParams,
        result=graph.ProjectResult,
        handler="taskx.fronts.runtime.graph:project",
        needs_workspace=True,
    ),
    Method(
        "graph/file",
        "request",
        params=graph.FileParams,
        result=graph.FileResult,
        handler="taskx.fronts.runtime.graph:file",
        needs_workspace=True,
    ),
    Method(
        "graph/impact",
        "request",
        params=graph.ImpactParams,
        result=graph.ImpactResult,
        handler="taskx.fronts.runtime.graph:impact",
        needs_workspace=True,
    ),
    # Providers
    Method(
        "provider/capabilities",
        "request",
        result=list[lifecycle.ProviderInfo],
        handler="taskx.fronts.runtime.lifecycle:provider_capabilities",
    ),
    Method(
        "provider/listModels",
        "request",
        params=providers.ProviderParams,
        result=providers.ListModelsResult,
        handler="taskx.fronts.runtime.provider:list_models",
    ),
    Method(
        "provider/models",
        "request",
        params=providers.ProviderParams,
        result=providers.ModelsResult,
        handler="taskx.fronts.runtime.provider:models",
    ),
    Method(
        "provider/contextWindow",
        "request",
        params=providers.ProviderParams,
        result=providers.ContextWindowResult,
        handler="taskx.fronts.runtime.provider:context_window",
    ),
    Method(
        "provider/test",
        "request",
        params=providers.ProviderParams,
        result=providers.ProviderTestResult,
        handler="taskx.fronts.runtime.provider:test",
    ),
    # Chat
    Method(
        "chat/send",
        "request",
        params=chat.ChatSendParams,
        result=chat.ChatResult,
        handler="taskx.fronts.runtime.chat:send",
    ),
    Method(
        "chat/event",
        "notification",
        direction="client",
        params=chat.ChatEventParams,
        overflow="merge",
    ),
    Method(
        "prompt/refine",
        "request",
        params=refine.RefineParams,
        result=refine.RefineResult,
        handler="taskx.fronts.runtime.refine:refine",
    ),
    # Context
    Method(
        "context/retrieve",
        "request",
        params=context.RetrieveParams,
        result=context.RetrieveResult,
        handler="taskx.fronts.runtime.context:retrieve",
        needs_workspace=True,
    ),
    Method(
        "workspace/symbols",
        "request",
        params=context.SymbolsParams,
        result=context.SymbolsResult,
        handler="taskx.fronts.runtime.context:symbols",
        needs_workspace=True,
    ),
    Method(
        "workspace/outline",
        "request",
        params=context.OutlineParams,
        result=context.OutlineResult,
        handler="taskx.fronts.runtime.context:outline",
        needs_workspace=True,
    ),
    # Workspace
    Method(
        "workspace/open",
        "request",
        params=workspace.OpenParams,
        result=workspace.Summary,
        handler="taskx.fronts.runtime.workspace:open_workspace",
    ),
    Method(
        "workspace/refresh",
        "request",
        result=workspace.Summary,
        handler="taskx.fronts.runtime.workspace:refresh",
        needs_workspace=True,
    ),
    Method(
        "workspace/filesChanged",
        "notification",
        params=workspace.FilesChangedParams,
        handler="taskx.fronts.runtime.workspace:files_changed",
    ),
    Method(
        "workspace/progress",
        "notification",
        direction="client",
        params=workspace.ProgressEvent,
        overflow="drop",
    ),
    Method(
        "context/inspect",
        "request",
        result=workspace.Summary,
        handler="taskx.fronts.runtime.workspace:inspect",
        needs_workspace=True,
    ),
    # Agent
    Method(
        "agent/run",
        "request",
        params=agent.AgentRunParams,
        result=agent.Summary,
        handler="taskx.fronts.runtime.agent:run",
        needs_workspace=True,
    ),
    Method(
        "agent/event",
        "notification",
        direction="client",
        params=agent.AgentEventParams,
        overflow="merge",
    ),
    Method(
        "agent/requestApproval",
        "request",
        direction="client",
        params=agent.ApprovalParams,
        result=agent.ApprovalResult,
    ),
    Method(
        "agent/askUser",
        "request",
        direction="client",
        params=agent.AskUserParams,
        result=agent.AskUserResult,
    ),
    Method(
        "agent/cancelTool",
        "request",
        params=agent.CancelToolParams,
        result=bool,
        handler="taskx.fronts.runtime.agent:cancel_tool",
    ),
    Method(
        "agent/cancelSubagent",
        "request",
        params=agent.TaskParams,
        result=bool,
        handler="taskx.fronts.runtime.agent:cancel_subagent",
    ),
    Method(
        "agent/steer",
        "request",
        params=agent.SteerParams,
        result=bool,
        handler="taskx.fronts.runtime.agent:steer",
    ),
    Method(
        "agent/tasks",
        "request",
        result=list[agent.TaskEntry],
        handler="taskx.fronts.runtime.agent:tasks",
    ),
    Method(
        "agent/task",
        "request",
        params=agent.TaskParams,
        result=agent.StoredTask,
        handler="taskx.fronts.runtime.agent:task",
    ),
    Method(
        "agent/deleteTask",
        "request",
        params=agent.TaskParams,
        result=bool,
        handler="taskx.fronts.runtime.agent:delete_task",
    ),
    # Tools
    Method(
        "tools/list",
        "request",
        result=tools.ToolsListResult,
        handler="taskx.fronts.runtime.tools:list_tools",
    ),
    Method(
        "tools/call",
        "request",
        params=tools.ToolsCallParams,
        result=tools.ToolsCallResult,
        handler="taskx.fronts.runtime.tools:call",
        needs_workspace=True,
    ),
    # Edits
    Method(
        "edits/list",
        "request",
        result=list[edits.EditOperation],
        handler="taskx.fronts.runtime.edits:list_operations",
        needs_workspace=True,
    ),
    Method(
        "edits/pending",
        "request",
        result=list[edits.PendingFile],
        handler="taskx.fronts.runtime.edits:pending",
        needs_workspace=True,
    ),
    Method(
        "edits/keep",
        "request",
        params=edits.PathsParams,
        result=edits.KeepResult,
        handler="taskx.fronts.runtime.edits:keep",
        needs_workspace=True,
    ),
    Method(
        "edits/revert",
        "request",
        params=edits.PathsParams,
        result=edits.RevertResult,
        handler="taskx.fronts.runtime.edits:revert",
        needs_workspace=True,
    ),
    Method(
        "edits/undo",
        "request",
        params=edits.UndoParams,
        result=edits.UndoResult,
        handler="taskx.fronts.runtime.edits:undo",
        needs_workspace=True,
    ),
)

METHODS: dict[str, Method] = {row.name: row for row in _ROWS}
