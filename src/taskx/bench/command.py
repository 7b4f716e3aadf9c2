"""The `taskx bench` command: arguments to suites to a report."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

import taskx
from taskx.bench import compare, corpus, html, machine, peers, table
from taskx.bench.figures import Figure, PeerRun, Report
from taskx.bench.suites import SUITES, Bench

EXAMPLE = "example: taskx bench django --suite open-cold --peer ctags"
REGRESSION = 1
USAGE_ERROR = 2


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "tree", nargs="?", default=".", help="a folder, or linux, linux-parts, go, rust, django"
    )
    parser.add_argument(
        "--suite", action="append", choices=sorted(SUITES), help="only this suite (repeatable)"
    )
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each open (3)")
    parser.add_argument("--seed", type=int, default=1, help="for the queries and changed files (1)")
    parser.add_argument("--peer", action="append", default=[], choices=sorted(peers.PEERS))
    parser.add_argument(
        "--corpora",
        default="build/corpora",
        metavar="DIR",
        help="where corpora are unpacked (build/corpora)",
    )
    parser.add_argument("--json", metavar="FILE", help="write the report (- for stdout)")
    parser.add_argument("--html", metavar="FILE", help="write one self-contained page")
    parser.add_argument("--compare", metavar="BASELINE.json", help="judge against a saved report")
    parser.add_argument("--max-ratio", type=float, default=1.15, help="allowed worsening (1.15)")


def run(arguments: Namespace) -> int:
    """0 when done, 1 on a regression, 2 when something named is missing."""
    try:
        baseline = compare.load(Path(arguments.compare)) if arguments.compare else None
        tree = corpus.corpus(arguments.tree, Path(arguments.corpora))
        report = measure(tree, arguments)
    except (compare.BaselineUnusable, corpus.CorpusMissing, peers.PeerMissing) as error:
        print(f"taskx bench: {error}", file=sys.stderr)
        return USAGE_ERROR
    write(report, arguments)
    if baseline is None:
        return 0
    worse = compare.regressions(report, baseline, arguments.max_ratio)
    for line in worse:
        print(f"regression: {line}", file=sys.stderr)
    return REGRESSION if worse else 0


def measure(tree: Path, arguments: Namespace) -> Report:
    figures: list[Figure] = []
    paired: list[PeerRun] = []
    bench = Bench(tree, repeat=arguments.repeat, seed=arguments.seed)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        for name in arguments.suite or SUITES:
            print(f"{name} …", file=sys.stderr, flush=True)
            figures += SUITES[name](bench)
            paired += [
                peers.run_peer(peer, tree, arguments.repeat, figures)
                for peer in arguments.peer
                if peers.PEERS[peer].suite == name
            ]
    finally:
        bench.close()
    return Report(
        machine=machine.machine(),
        commit=machine.commit(),
        taskx=taskx.__version__,
        started=started,
        corpus=corpus.describe(tree),
        figures=figures,
        peers=paired,
    )


def write(report: Report, arguments: Namespace) -> None:
    encoded = msgspec.json.format(msgspec.json.encode(report), indent=1)
    if arguments.json == "-":
        sys.stdout.buffer.write(encoded + b"\n")
    else:
        table.show(report)
        if arguments.json:
            Path(arguments.json).write_bytes(encoded + b"\n")
    if arguments.html:
        Path(arguments.html).write_text(html.page(report), encoding="utf-8")
