"""The `provider/*` methods that ask an endpoint."""

from __future__ import annotations

from taskx.fronts.runtime.dispatch import Context
from taskx.protocol.providers import (
    ContextWindowResult,
    ListModelsResult,
    ModelsResult,
    ProviderParams,
    ProviderTestResult,
)


async def list_models(context: Context, params: ProviderParams) -> ListModelsResult:
    return ListModelsResult(models=await context.app.providers.list_models(params.provider))


async def models(context: Context, params: ProviderParams) -> ModelsResult:
    return ModelsResult(models=await context.app.providers.models(params.provider))


async def context_window(context: Context, params: ProviderParams) -> ContextWindowResult:
    return ContextWindowResult(tokens=await context.app.providers.context_window(params.provider))


async def test(context: Context, params: ProviderParams) -> ProviderTestResult:
    return await context.app.providers.test(params.provider)
