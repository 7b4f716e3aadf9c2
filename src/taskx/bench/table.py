"""A report as a table for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from taskx.bench.figures import Figure, Report


def amount(value: float, unit: str) -> str:
    """A figure with its unit: bytes as MB, ratios with three places."""
    if unit == "bytes":
        return f"{value / 1e6:,.1f} MB"
    if unit == "ratio":
        return f"{value:.3f}"
    if unit == "ms":
        return f"{value:,.1f} ms" if value < 10_000 else f"{value / 1000:,.2f} s"
    return f"{value:,.0f} {unit}".strip()


def range_of(figure: Figure) -> str:
    low, high = min(figure.runs, default=0.0), max(figure.runs, default=0.0)
    if len(figure.runs) < 2:
        return ""
    return f"{amount(low, figure.unit)} to {amount(high, figure.unit)}"


def show(report: Report) -> None:
    console = Console()
    place = report.corpus
    console.print(
        f"{place['name']}: {place['files']:,} files, {place['bytes'] / 1e6:,.0f} MB"
        f" ({place['hash'][:12]}); {report.machine['cpu']}, {report.machine['cpus']} cpus;"
        f" taskx {report.taskx} {report.commit or ''}"
    )
    rows = Table(box=None, pad_edge=False)
    for heading in ("suite", "figure", "median", "range", "runs"):
        rows.add_column(heading, justify="left" if heading in ("suite", "figure") else "right")
    for figure in report.figures:
        rows.add_row(
            figure.suite,
            figure.name,
            amount(figure.value, figure.unit),
            range_of(figure),
            str(len(figure.runs)),
        )
    console.print(rows)
    for peer in report.peers:
        console.print(
            f"{peer.peer} ({peer.suite}): wall {sorted(peer.wall_s)[len(peer.wall_s) // 2]:.2f} s,"
            f" cpu {sorted(peer.cpu_s)[len(peer.cpu_s) // 2]:.2f} s,"
            f" peak {peer.peak_rss_bytes / 1e6:.0f} MB; ours / theirs {peer.ratio:.2f}"
        )
