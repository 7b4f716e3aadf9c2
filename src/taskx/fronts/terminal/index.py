"""`taskx index`: opens a folder, so that its index is on disk and the next open is warm."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from taskx.fronts.terminal.output import count, duration, fail, print_json, size
from taskx.fronts.terminal.workspace import add_root, excludes, with_workspace

if TYPE_CHECKING:
    from taskx.protocol.workspace import Summary
    from taskx.workspace.index.snapshot import Snapshot
    from taskx.workspace.workspace import Workspace

EXAMPLE = "example: taskx index ~/src/django"


def add_arguments(parser: ArgumentParser) -> None:
    add_root(parser, positional=True)
    parser.add_argument(
        "--export", metavar="FILE", help="write the index to FILE, for other machines"
    )
    parser.add_argument(
        "--import",
        dest="import_",
        metavar="FILE",
        help="begin with an exported index: only files that differ are parsed",
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def run(arguments: Namespace) -> int:
    if arguments.import_ is not None:
        take_over(arguments)

    async def summary_of(workspace: Workspace) -> Summary:
        if arguments.export is not None:
            await workspace.read(write_export, workspace.snapshot, Path(arguments.export))
        return workspace.summary()

    summary = with_workspace(arguments, summary_of)
    if arguments.json:
        print_json(summary)
    else:
        show(summary)
    return 0


def write_export(snapshot: Snapshot, file: Path) -> None:
    from taskx.workspace.index.transfer import export_index

    try:
        export_index(snapshot, file)
    except OSError as error:
        fail(f"{file}: {error.strerror or error}", code=1)


def take_over(arguments: Namespace) -> None:
    """Puts an exported index into the cache of the folder, which is then opened from it."""
    from taskx.workspace.files.scan import ScanOptions
    from taskx.workspace.index.segment_file import Damaged
    from taskx.workspace.index.transfer import import_into_cache

    if arguments.no_cache or arguments.cache_dir is None:
        fail("--import needs the cache: leave out --no-cache and TASK_X_CACHE=off")
    root = os.fsencode(os.path.realpath(arguments.root))
    options = ScanOptions(exclude=excludes(arguments), environ=arguments.environment)
    try:
        kept = import_into_cache(Path(arguments.import_), root, options, Path(arguments.cache_dir))
    except Damaged as error:
        fail(f"{arguments.import_} is no index of this version: {error}", code=1)
    except OSError as error:
        fail(f"{arguments.import_}: {error.strerror or error}", code=1)
    print(f"taskx: {count(kept)} files need no parsing", file=sys.stderr)


def show(summary: Summary) -> None:
    stats = summary.stats
    cached = f", {count(stats.files - stats.parsed)} from the cache" if stats.from_cache else ""
    print(f"{summary.root}")
    print(
        f"  {count(stats.files)} files, {size(stats.bytes)}, {count(stats.symbols)} symbols"
        f" in {duration(stats.elapsed_ms)} ({count(stats.parsed)} parsed{cached})"
    )
    languages = sorted(stats.languages.items(), key=lambda item: (-item[1], item[0]))
    print("  " + ", ".join(f"{name} {count(files)}" for name, files in languages[:8]))
