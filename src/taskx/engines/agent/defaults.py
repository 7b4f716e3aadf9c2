"""What the configuration file says about every task, where its request says nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from taskx.protocol.agent import AgentRunParams, Limits, ModelPrice


def filled(
    params: AgentRunParams, limits: Mapping[str, int | float], prices: Sequence[Mapping[str, Any]]
) -> AgentRunParams:
    """The params with the configuration's limits and prices.

    limits: by the names of the wire. One holds where the request leaves the built-in default.
    prices: follow the request's own; of one model id the request's holds.
    """
    merged = msgspec.to_builtins(params.limits)
    for field in msgspec.structs.fields(Limits):
        if field.encode_name in limits and getattr(params.limits, field.name) == field.default:
            merged[field.encode_name] = limits[field.encode_name]
    asked = {price.model for price in params.prices}
    more = [msgspec.convert(price, ModelPrice) for price in prices if price["model"] not in asked]
    return msgspec.structs.replace(
        params, limits=msgspec.convert(merged, Limits), prices=[*params.prices, *more]
    )
