"""One model call: streamed, retried, handed to a fallback when an endpoint stays down.

Source: protocol v1, events `retry`, `modelSwitched`, `usage`; the wait is `providers.retry`'s.
"""

from __future__ import annotations

import asyncio
import logging
import random

from taskx.engines.agent.costs import Costs
from taskx.engines.ports import Client, Emit
from taskx.errors import ProviderError
from taskx.protocol import agent as events
from taskx.protocol.chat import ChatRequest, TextDelta, ThinkingDelta, Usage, WarningEvent
from taskx.protocol.providers import ProviderConfig
from taskx.providers import ChatFold, Providers
from taskx.providers.retry import retry_delay_ms, should_fall_back

log = logging.getLogger("taskx.agent")


class Models:
    """The endpoints of one task in order: the first in use, then its fallbacks."""

    def __init__(
        self,
        providers: Providers,
        chain: list[ProviderConfig],
        emit: Emit,
        client: Client,
        costs: Costs,
        max_retries: int,
    ) -> None:
        self._providers = providers
        self._chain = chain
        self._emit = emit
        self._client = client
        self._costs = costs
        self._max_retries = max_retries
        self.calls = 0
        self.retries = 0

    @property
    def current(self) -> ProviderConfig:
        return self._chain[0]

    async def window(self, given: int | None) -> int:
        """The window of the model in use, in tokens: as given, else as its endpoint says."""
        if given is not None:
            return given
        return await self._providers.context_window(self.current)

    async def ask(self, request: ChatRequest) -> tuple[ChatFold, Usage | None]:
        """The model's whole answer. Raises the last ProviderError when nobody gives one.

        An error of kind `invalidRequest` for a prompt that is too long is the caller's to handle
        first; it is raised without turning to a fallback.
        """
        attempt = 1
        while True:
            try:
                return await self._stream(request)
            except ProviderError as error:
                if error.context_overflow:
                    raise
                delay_ms = retry_delay_ms(error, attempt, random.random, self._max_retries)
                if delay_ms is None:
                    if not should_fall_back(error) or not self.fall_back(error.message):
                        raise
                    attempt = 1
                    continue
                log.info("retry attempt=%d delayMs=%d kind=%s", attempt, delay_ms, error.kind)
                self._emit(
                    events.RetryEvent(attempt=attempt, delay_ms=delay_ms, error=error.data())
                )
                self.retries += 1
                await asyncio.sleep(delay_ms / 1000)
                attempt += 1

    def fall_back(self, reason: str) -> bool:
        """Turns to the next endpoint; False when there is none."""
        if len(self._chain) < 2:
            return False
        left = self._chain.pop(0)
        self._emit(
            events.ModelSwitchedEvent(from_=left.model, to=self.current.model, reason=reason)
        )
        return True

    async def _stream(self, request: ChatRequest) -> tuple[ChatFold, Usage | None]:
        self.calls += 1
        stream = self._providers.stream(self.current, request)
        try:
            async with stream:
                async for event in stream:
                    match event:
                        case TextDelta():
                            self._emit(events.TextDeltaEvent(text=event.text))
                            await self._client.writable()
                        case ThinkingDelta():
                            self._emit(events.ThinkingDeltaEvent(text=event.text))
                            await self._client.writable()
                        case WarningEvent():
                            self._emit(events.WarningEvent(message=event.message))
                        case _:
                            pass
        finally:
            # Billed whether it ended, broke or was cancelled.
            usage, _ = stream.spent()
            if usage.input_tokens or usage.output_tokens:
                self._emit(self._costs.bill(self.current, usage))
        return stream.fold, stream.usage
