"""The retry policy that the agent loop asks."""

from __future__ import annotations

import pytest

from taskx.errors import PROVIDER_KINDS, ProviderError
from taskx.providers.retry import (
    MAX_BACKOFF_MS,
    MAX_RETRIES,
    MAX_STATED_MS,
    retry_delay_ms,
    should_fall_back,
)


def delays(error: ProviderError, attempt: int) -> tuple[int | None, int | None]:
    """The least and the greatest wait of an attempt."""
    return (
        retry_delay_ms(error, attempt, lambda: 0.0),
        retry_delay_ms(error, attempt, lambda: 0.999999),
    )


@pytest.mark.parametrize("kind", PROVIDER_KINDS)
def test_V15_only_retryable_kinds_are_tried_again(kind: str) -> None:
    least, most = delays(ProviderError(kind, "x"), 1)
    assert (least is not None) == (most is not None) == PROVIDER_KINDS[kind]


def test_V15_backoff_doubles_with_jitter_and_ends() -> None:
    error = ProviderError("overloaded", "x")
    found = [delays(error, attempt) for attempt in range(1, MAX_RETRIES + 2)]
    assert found == [(250, 500), (500, 1000), (1000, 2000), (2000, 4000), (None, None)]
    assert retry_delay_ms(error, 30, lambda: 0.999999, max_retries=100) == MAX_BACKOFF_MS
    assert retry_delay_ms(error, 1, lambda: 0.5, max_retries=0) is None


def test_P10_stated_wait_is_never_cut_and_zero_means_soon() -> None:
    for stated in (3000, 45_000, MAX_STATED_MS):
        error = ProviderError("rateLimited", "x", retry_after_ms=stated)
        for attempt in (1, 4):
            least, most = delays(error, attempt)
            assert least is not None
            assert most is not None
            assert stated <= least <= most <= stated + 1000
    assert delays(ProviderError("rateLimited", "x", retry_after_ms=0), 1) == (250, 500)


def test_P10_a_quota_that_resets_in_hours_is_not_waited_for() -> None:
    error = ProviderError("rateLimited", "x", retry_after_ms=MAX_STATED_MS + 1)
    assert delays(error, 1) == (None, None)
    assert should_fall_back(error)


def test_V15_what_another_provider_may_do_better() -> None:
    falls = {kind: should_fall_back(ProviderError(kind, "x")) for kind in PROVIDER_KINDS}
    assert [kind for kind, falls_back in falls.items() if not falls_back] == [
        "invalidRequest",
        "cancelled",
    ]
    assert should_fall_back(ProviderError("invalidRequest", "x", context_overflow=True))
