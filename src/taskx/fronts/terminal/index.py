"""`taskx index`: opens a folder, so that its index is on disk and the next open is warm."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from taskx.fronts.terminal.output import count, duration, print_json, size
from taskx.fronts.terminal.workspace import add_root, with_workspace

if TYPE_CHECKING:
    from taskx.protocol.workspace import Summary
    from taskx.workspace.workspace import Workspace

EXAMPLE = "example: taskx index ~/src/django"


def add_arguments(parser: ArgumentParser) -> None:
    add_root(parser, positional=True)
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def run(arguments: Namespace) -> int:
    async def summary_of(workspace: Workspace) -> Summary:
        return workspace.summary()

    summary = with_workspace(arguments, summary_of)
    if arguments.json:
        print_json(summary)
    else:
        show(summary)
    return 0


def show(summary: Summary) -> None:
    stats = summary.stats
    source = "from the cache" if stats.from_cache else "parsed"
    print(f"{summary.root}")
    print(
        f"  {count(stats.files)} files, {size(stats.bytes)}, {count(stats.symbols)} symbols"
        f" in {duration(stats.elapsed_ms)} ({count(stats.parsed)} {source})"
    )
    languages = sorted(stats.languages.items(), key=lambda item: (-item[1], item[0]))
    print("  " + ", ".join(f"{name} {count(files)}" for name, files in languages[:8]))
