"""A progress line for long work: on a terminal only, never in a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from taskx.fronts.terminal.output import count


@contextmanager
def progress_line(stream: TextIO) -> Iterator[Callable[[Any], None]]:
    """Gives the callback for `workspace/progress` events; clears its line at the end."""
    if not stream.isatty():
        yield lambda event: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=stream), transient=True) as progress:
        bar = progress.add_task("scanning", total=None)

        def show(event: Any) -> None:
            phase = getattr(event, "phase", "")
            if phase == "indexing":
                seen, parsed = event.files, event.parsed
                progress.update(
                    bar,
                    description=f"indexing {count(parsed)} of {count(seen)} files",
                    total=max(seen, 1),
                    completed=parsed,
                )
            elif phase == "graph":
                progress.update(bar, description="building the graph", total=None)

        yield show
