"""What tokens cost."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from taskx.protocol.agent import ModelPrice
from taskx.protocol.chat import Usage
from taskx.protocol.providers import ProviderConfig
from taskx.providers.pricing import ANTHROPIC_RATES, FREE, RATES_DATE, Rates, cost_usd, price_for

REMOTE = {"kind": "openaiCompatible", "baseUrl": "https://models.example/v1", "apiKey": "k"}
OFFICIAL = {"kind": "anthropic", "apiKey": "k"}


def price(model: str, input_usd: float, output_usd: float, **more: float) -> ModelPrice:
    raw = {"model": model, "inputPerMtok": input_usd, "outputPerMtok": output_usd, **more}
    return msgspec.convert(raw, ModelPrice)


def rates(config: dict[str, Any], model: str, *prices: ModelPrice) -> Rates | None:
    return price_for(msgspec.convert({**config, "model": model}, ProviderConfig), prices)


def test_K4_longest_prefix_of_the_users_prices_wins() -> None:
    listed = [price("gpt-4", 30, 60), price("gpt-4.1", 2, 8), price("gpt", 1, 1)]
    for prices in (listed, listed[::-1]):
        assert rates(REMOTE, "gpt-4.1-mini", *prices) == Rates(2, 8, 2, 2)
        assert rates(REMOTE, "gpt-4-turbo", *prices) == Rates(30, 60, 30, 30)
        assert rates(REMOTE, "gpt-5", *prices) == Rates(1, 1, 1, 1)
        assert rates(REMOTE, "llama", *prices) is None


BUILT_IN = {
    "claude-opus-4-6": (5, 25),
    "claude-opus-4-1-20250805": (15, 75),
    "claude-opus-4-20250514": (15, 75),
    "claude-sonnet-4-5-20250929": (3, 15),
    "claude-sonnet-5-5": (2, 10),
    "claude-haiku-4-5-20251001": (1, 5),
    "claude-3-5-haiku-20241022": (0.8, 4),
}


@pytest.mark.parametrize("model", BUILT_IN)
def test_A12_built_in_rates_of_anthropic(model: str) -> None:
    found = rates(OFFICIAL, model)
    assert found is not None
    assert (found.input, found.output) == BUILT_IN[model]
    assert found.cache_write == found.input * 1.25
    # Another vendor's endpoint has its own prices.
    assert rates(REMOTE, model) is None


def test_A12_user_first_then_built_in_then_nothing() -> None:
    assert rates(OFFICIAL, "claude-opus-4-6", price("claude", 1, 2)) == Rates(1, 2, 0.1, 1.25)
    assert (
        rates(OFFICIAL, "claude-opus-4-6", price("gpt", 1, 2)) == ANTHROPIC_RATES["claude-opus-4-6"]
    )
    assert rates(OFFICIAL, "claude-newest-9") is None
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", RATES_DATE)


def test_A12_local_models_are_free_unless_the_user_gives_a_price() -> None:
    ollama = {"kind": "ollama", "baseUrl": "http://gpu.lan:11434"}
    loopback = {**REMOTE, "baseUrl": "http://127.0.0.1:8080"}
    local_claude = {**OFFICIAL, "baseUrl": "http://localhost:8080"}
    for config in (ollama, loopback, local_claude):
        assert rates(config, "claude-opus-4-6") == FREE
        assert rates(config, "claude-opus-4-6", price("claude-opus", 7, 8)) is not FREE


def test_A12_cached_tokens_have_their_own_price() -> None:
    given = price("m", 10, 20, cacheReadPerMtok=1, cacheWritePerMtok=12)
    found = rates(REMOTE, "m", given)
    assert found == Rates(10, 20, 1, 12)
    usage = Usage(
        input_tokens=1_000_000,
        output_tokens=100_000,
        cache_read_tokens=600_000,
        cache_write_tokens=300_000,
    )
    # 100 000 fresh, 600 000 read, 300 000 written, 100 000 answered.
    assert cost_usd(found, usage) == pytest.approx(1.0 + 0.6 + 3.6 + 2.0)
    assert cost_usd(FREE, usage) == 0
    odd = Usage(input_tokens=10, output_tokens=0, cache_read_tokens=50)
    assert cost_usd(found, odd) >= 0


def test_A12_long_prompts_cost_more_where_the_vendor_says_so() -> None:
    found = rates(OFFICIAL, "claude-haiku-5-5")
    assert found is not None
    short = cost_usd(found, Usage(input_tokens=100_000, output_tokens=1000))
    long = cost_usd(found, Usage(input_tokens=100_001, output_tokens=1000))
    assert short == pytest.approx(0.0105)
    assert long == pytest.approx(5 * short, rel=1e-4)
