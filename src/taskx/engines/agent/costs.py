"""What a task has spent: tokens, dollars, and tokens nobody has a price for.

Source: protocol v1, "Costs".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from taskx.protocol.agent import ModelPrice, TokenUsage, UsageEvent
from taskx.protocol.chat import Usage
from taskx.protocol.providers import ProviderConfig
from taskx.providers import pricing


@dataclass(slots=True)
class Costs:
    """Sums of one task, its subagents apart."""

    prices: Sequence[ModelPrice]
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0
    unpriced_tokens: int = 0
    subagents: int = 0
    subagent_cost_usd: float = 0.0
    subagent_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Billed tokens of this task and its subagents."""
        return self.input_tokens + self.output_tokens + self.subagent_tokens

    @property
    def total_usd(self) -> float:
        return self.cost_usd + self.subagent_cost_usd

    def bill(self, config: ProviderConfig, usage: Usage) -> UsageEvent:
        """Adds one model call, a broken or cancelled one too, and gives its event."""
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cache_read_tokens += usage.cache_read_tokens
        self.cache_write_tokens += usage.cache_write_tokens
        price = pricing.price_for(config, self.prices)
        cost = 0.0
        if price is None:
            self.unpriced_tokens += usage.input_tokens + usage.output_tokens
        else:
            cost = pricing.cost_usd(price, usage)
        self.cost_usd += cost
        return UsageEvent(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            cost_usd=cost,
        )

    def add_subagent(self, costs: Costs) -> None:
        """Adds a finished subagent, with its own subagents."""
        self.subagents += 1 + costs.subagents
        self.subagent_cost_usd += costs.total_usd
        self.subagent_tokens += costs.tokens
        self.unpriced_tokens += costs.unpriced_tokens

    def usage(self) -> TokenUsage:
        return TokenUsage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cache_read_tokens=self.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens,
        )
