"""`graph/project`, `graph/file`, `graph/impact`: questions about the open workspace's graph."""

from __future__ import annotations

import asyncio

from taskx.fronts.runtime.dispatch import Context
from taskx.protocol.graph import (
    FileParams,
    FileResult,
    ImpactParams,
    ImpactResult,
    ProjectParams,
    ProjectResult,
)


async def project(context: Context, params: ProjectParams) -> ProjectResult:
    graph = await context.app.workspace.graph()
    result: ProjectResult = await asyncio.to_thread(graph.project, params)
    return result


async def file(context: Context, params: FileParams) -> FileResult:
    graph = await context.app.workspace.graph()
    result: FileResult = await asyncio.to_thread(graph.file, params.path)
    return result


async def impact(context: Context, params: ImpactParams) -> ImpactResult:
    graph = await context.app.workspace.graph()
    result: ImpactResult = await asyncio.to_thread(graph.impact, params.paths, params.depth)
    return result
