"""tools/list and tools/call: the client's own view and use of the registry."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

from taskx.fronts.runtime.dispatch import Context
from taskx.protocol.tools import (
    ToolChange,
    ToolInfo,
    ToolsCallParams,
    ToolsCallResult,
    ToolsListResult,
)
from taskx.tools import registry
from taskx.tools.context import ToolResult


def list_tools(context: Context, params: None) -> ToolsListResult:
    return ToolsListResult(
        tools=[
            ToolInfo(
                name=tool.name,
                description=tool.description,
                input_schema=tool.input_schema,
                tool_class=tool.tool_class,
            )
            for tool in registry.tools().values()
        ]
    )


async def call(context: Context, params: ToolsCallParams) -> ToolsCallResult:
    app = context.app
    root = Path(app.workspace.summary().root)
    tools = await asyncio.to_thread(app.tools.client, app.workspace, root)
    given = params.input if isinstance(params.input, dict) else {}
    item = f"client-{secrets.token_hex(4)}"
    app.session.start_item(item, "toolCall")
    status = "failed"
    try:
        result: ToolResult = await registry.call(params.name, given, tools, call_id=item)
        status = "completed"
    except asyncio.CancelledError:
        status = "cancelled"
        raise
    finally:
        app.session.end_item(item, status)
    if result.background is not None:
        app.tools.adopt(result.background)
    return ToolsCallResult(
        content=result.content,
        data=result.data,
        changes=[
            ToolChange(
                path=change.path,
                operation=change.operation,
                kind=change.kind,
                added=change.added,
                removed=change.removed,
            )
            for change in result.changes
        ],
    )
