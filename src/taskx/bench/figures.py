"""What a suite reports: named figures with their runs, unit and direction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec


class Figure(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One measured thing. `value` is the median of `runs`, or the run itself when there is one."""

    suite: str
    name: str
    unit: str
    runs: list[float]
    better: str = "lower"

    @property
    def value(self) -> float:
        return percentile(self.runs, 50)


class PeerRun(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A peer's run in the same session: wall and CPU seconds and peak resident bytes."""

    peer: str
    suite: str
    command: str
    wall_s: list[float]
    cpu_s: list[float]
    peak_rss_bytes: int
    ratio: float


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Everything one `taskx bench` run found, with what is needed to repeat it."""

    machine: dict[str, Any]
    commit: str | None
    taskx: str
    started: str
    corpus: dict[str, Any]
    figures: list[Figure]
    peers: list[PeerRun]


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` percent lie, by linear interpolation; nan when empty."""
    if not values:
        return math.nan
    ordered = sorted(values)
    place = (len(ordered) - 1) * share / 100
    low = math.floor(place)
    high = math.ceil(place)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def spread(suite: str, name: str, unit: str, values: Sequence[float]) -> list[Figure]:
    """p50, p95, p99 and max of many short runs as figures of their own."""
    rows = [("p50", 50.0), ("p95", 95.0), ("p99", 99.0), ("max", 100.0)]
    return [
        Figure(suite=suite, name=f"{name} {label}", unit=unit, runs=[percentile(values, share)])
        for label, share in rows
    ]
