"""`prompt/refine`."""

from __future__ import annotations

from taskx.engines import refine as engine
from taskx.fronts.runtime.dispatch import Context
from taskx.protocol.refine import RefineParams, RefineResult


async def refine(context: Context, params: RefineParams) -> RefineResult:
    return await engine.refine(context.app.providers, context.app.workspace, params)
