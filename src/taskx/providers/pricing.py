"""What tokens cost: the user's prices first, then Anthropic's own rates; local models are free.

A model id matches a price by prefix, and the longest prefix wins. A model without a price costs
nothing here: its tokens are counted as unpriced by the caller.
Source: protocol v1, "Costs"; the rates are those of Anthropic's pricing page as of `RATES_DATE`,
for its own API, with cache writes that live five minutes (the kind the runtime asks for).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from taskx.protocol.agent import ModelPrice
from taskx.protocol.base import UNSET
from taskx.protocol.chat import Usage
from taskx.protocol.providers import ProviderConfig
from taskx.providers.endpoint import Endpoint

Value = TypeVar("Value")

RATES_DATE = "2026-10-10"

CACHE_READ_SHARE = 0.1
CACHE_WRITE_SHARE = 1.25
"""Of the input price, for Anthropic models without prices of their own for cached tokens."""


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per million tokens. Prompts above `long_above` tokens cost `long_factor` times."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    long_above: int | None = None
    long_factor: float = 1.0


FREE = Rates(0, 0, 0, 0)


def _rates(
    input_usd: float,
    output_usd: float,
    read_share: float = CACHE_READ_SHARE,
    long_above: int | None = None,
    long_factor: float = 1.0,
) -> Rates:
    return Rates(
        input_usd,
        output_usd,
        input_usd * read_share,
        input_usd * CACHE_WRITE_SHARE,
        long_above,
        long_factor,
    )


# Prefix of a model id -> rates.
ANTHROPIC_RATES: dict[str, Rates] = {
    "claude-fable-5-1": _rates(10, 50, read_share=0.025),
    "claude-mythos-5-1": _rates(10, 50, read_share=0.025),
    "claude-fable-5": _rates(10, 50),
    "claude-mythos-5": _rates(10, 50),
    "claude-opus-5-5": _rates(4, 20, read_share=0.05),
    "claude-opus-5": _rates(5, 25),
    "claude-opus-4-8": _rates(5, 25),
    "claude-opus-4-7": _rates(5, 25),
    "claude-opus-4-6": _rates(5, 25),
    "claude-opus-4-5": _rates(5, 25),
    "claude-opus-4-1": _rates(15, 75),
    "claude-opus-4-0": _rates(15, 75),
    "claude-opus-4-2025": _rates(15, 75),
    "claude-sonnet-5-5": _rates(2, 10, read_share=0.05),
    "claude-sonnet-5": _rates(2, 10),
    "claude-sonnet-4": _rates(3, 15),
    "claude-haiku-5-5": _rates(0.1, 0.5, long_above=100_000, long_factor=5),
    "claude-haiku-4-5": _rates(1, 5),
    "claude-3-7-sonnet": _rates(3, 15),
    "claude-3-5-sonnet": _rates(3, 15),
    "claude-3-5-haiku": _rates(0.8, 4),
    "claude-3-opus": _rates(15, 75),
    "claude-3-sonnet": _rates(3, 15),
    "claude-3-haiku": Rates(0.25, 1.25, 0.03, 0.3),
}


def price_for(config: ProviderConfig, prices: Iterable[ModelPrice]) -> Rates | None:
    """The rates of the configured model, or None when nobody has a price for it.

    prices: the user's. They also put a price on a local model, which is free otherwise.
    """
    given = longest_prefix(config.model, {price.model: price for price in prices})
    if given is not None:
        return _given(given, anthropic=config.kind == "anthropic")
    if config.kind == "ollama" or Endpoint.of(config).is_local:
        return FREE
    if config.kind == "anthropic":
        return longest_prefix(config.model, ANTHROPIC_RATES)
    return None


def cost_usd(rates: Rates, usage: Usage) -> float:
    """Dollars for one call. Cached parts of the prompt cost their own price, and only that."""
    read, written = usage.cache_read_tokens, usage.cache_write_tokens
    fresh = max(0, usage.input_tokens - read - written)
    total = (
        fresh * rates.input
        + read * rates.cache_read
        + written * rates.cache_write
        + usage.output_tokens * rates.output
    ) / 1_000_000
    long = rates.long_above is not None and usage.input_tokens > rates.long_above
    return total * rates.long_factor if long else total


def longest_prefix(model: str, table: dict[str, Value]) -> Value | None:
    """The value whose key is the longest prefix of the model id."""
    matching = [prefix for prefix in table if model.startswith(prefix)]
    return table[max(matching, key=len)] if matching else None


def _given(price: ModelPrice, anthropic: bool) -> Rates:
    """A user's price. Cached tokens without a price of their own: Anthropic's shares of the input
    price for its models, the input price for others, so that a bill is never too low."""
    read = price.input_per_mtok * (CACHE_READ_SHARE if anthropic else 1)
    write = price.input_per_mtok * (CACHE_WRITE_SHARE if anthropic else 1)
    return Rates(
        price.input_per_mtok,
        price.output_per_mtok,
        read if price.cache_read_per_mtok is UNSET else price.cache_read_per_mtok,
        write if price.cache_write_per_mtok is UNSET else price.cache_write_per_mtok,
    )
