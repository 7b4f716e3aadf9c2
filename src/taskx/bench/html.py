"""A report as one self-contained page: charts as inline SVG bars, readable on a phone."""

from __future__ import annotations

from html import escape
from itertools import groupby

from taskx.bench.figures import Figure, PeerRun, Report
from taskx.bench.table import amount, range_of

STYLE = """
:root { color-scheme: light dark; --bar: #3b7dd8; --peer: #b08030; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 60rem; }
h2 { margin: 1.5rem 0 .5rem; font-size: 1.1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dt { opacity: .7; } dd { margin: 0; overflow-wrap: anywhere; }
.row { margin: .4rem 0; } .row b { float: right; font-variant-numeric: tabular-nums; }
svg { display: block; width: 100%; height: .7rem; } small { opacity: .7; }
"""


def page(report: Report) -> str:
    """The whole page as text; nothing is loaded from elsewhere."""
    title = f"taskx bench: {report.corpus['name']}"
    sections = [
        section(suite, list(rows), [peer for peer in report.peers if peer.suite == suite])
        for suite, rows in groupby(report.figures, key=lambda row: row.suite)
    ]
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{STYLE}</style>"
        f"<h1>{escape(title)}</h1>{facts(report)}{''.join(sections)}</html>\n"
    )


def facts(report: Report) -> str:
    place, machine = report.corpus, report.machine
    rows = {
        "started": report.started,
        "taskx": f"{report.taskx} {report.commit or ''}",
        "corpus": f"{place['files']:,} files, {place['bytes'] / 1e6:,.0f} MB, {place['hash'][:16]}",
        "machine": f"{machine['cpu']}, {machine['cpus']} cpus, {machine['system']}",
    }
    items = "".join(f"<dt>{escape(k)}<dd>{escape(v)}" for k, v in rows.items())
    return f"<dl>{items}</dl>"


def section(suite: str, rows: list[Figure], paired: list[PeerRun]) -> str:
    parts = [f"<h2>{escape(suite)}</h2>"]
    for unit, same_unit in groupby(rows, key=lambda row: row.unit):
        group = list(same_unit)
        peers_here = paired if unit == "ms" else []
        longest = max(
            [row.value for row in group] + [1000 * max(peer.wall_s) for peer in peers_here]
        )
        parts += [bar(row.name, row.value, row.unit, longest, range_of(row)) for row in group]
        parts += [
            bar(
                f"{peer.peer} (ours / theirs {peer.ratio:.2f})",
                1000 * sorted(peer.wall_s)[len(peer.wall_s) // 2],
                "ms",
                longest,
                peer.command,
                colour="var(--peer)",
            )
            for peer in peers_here
        ]
    return "".join(parts)


def bar(
    name: str, value: float, unit: str, longest: float, note: str, *, colour: str = "var(--bar)"
) -> str:
    share = 100 * value / longest if longest > 0 else 0
    return (
        f"<div class='row'>{escape(name)} <b>{escape(amount(value, unit))}</b>"
        f"<svg role='img' aria-label='{escape(name)}: {escape(amount(value, unit))}'>"
        f"<rect width='{share:.1f}%' height='100%' rx='2' fill='{colour}'/></svg>"
        f"<small>{escape(note)}</small></div>"
    )
