"""Many streams at once: nothing lost, nothing out of order, and cheaper than the vendor's SDK."""

from __future__ import annotations

from tests.providers.measure import cpu_per_delta, delivery


def test_V09_fifty_streams_at_once_lose_and_reorder_nothing() -> None:
    report = delivery(streams=50, deltas=100, rate=200)
    assert (report["deltas"], report["inOrder"]) == (5000, True)


def test_V09_a_delta_costs_no_more_cpu_than_the_official_sdk_takes() -> None:
    spent = cpu_per_delta(3000)
    assert spent["taskx"] <= spent["openai"], spent
