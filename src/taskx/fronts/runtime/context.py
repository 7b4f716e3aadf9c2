"""`context/*`, `workspace/symbols`, `workspace/outline`: questions to the open workspace."""

from __future__ import annotations

from taskx.fronts.runtime.dispatch import Context
from taskx.protocol.context import (
    OutlineParams,
    OutlineResult,
    RetrieveParams,
    RetrieveResult,
    SymbolsParams,
    SymbolsResult,
)


async def retrieve(context: Context, params: RetrieveParams) -> RetrieveResult:
    result: RetrieveResult = await context.app.workspace.retrieve(
        params.query, params.budget_tokens, params.focus_paths
    )
    return result


async def symbols(context: Context, params: SymbolsParams) -> SymbolsResult:
    result: SymbolsResult = await context.app.workspace.symbols(
        params.query, params.kind, params.limit
    )
    return result


async def outline(context: Context, params: OutlineParams) -> OutlineResult:
    result: OutlineResult = await context.app.workspace.outline(params.path)
    return result
