"""Compares a report with a saved one: which figure got worse, and by how much."""

from __future__ import annotations

from pathlib import Path

import msgspec

from taskx.bench.figures import Report


class BaselineUnusable(RuntimeError):
    """The text says what is wrong with the file."""


def load(path: Path) -> Report:
    """A saved report. Raises BaselineUnusable when it is missing or not one."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Report)
    except OSError as error:
        raise BaselineUnusable(f"{path}: {error.strerror}") from error
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise BaselineUnusable(f"{path} is not a report of taskx bench: {error}") from error


def regressions(report: Report, baseline: Report, max_ratio: float) -> list[str]:
    """A line for each figure that is worse than `max_ratio` times the baseline's.

    A figure missing on either side is not judged, nor one whose baseline is zero.
    """
    before = {(row.suite, row.name): row for row in baseline.figures}
    worse = []
    for row in report.figures:
        old = before.get((row.suite, row.name))
        if old is None or row.better == "same" or old.value <= 0 or row.value <= 0:
            continue
        ratio = row.value / old.value if row.better == "lower" else old.value / row.value
        if ratio > max_ratio:
            worse.append(
                f"{row.suite} {row.name}: {row.value:.4g} {row.unit} against {old.value:.4g},"
                f" {ratio:.2f} times as bad (allowed {max_ratio:g})"
            )
    return worse
