"""Opens a workspace for one command, with a progress line on a terminal."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from taskx.errors import TaskxError
from taskx.fronts.terminal.output import fail

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from taskx.workspace.workspace import Workspace

T = TypeVar("T")


def add_root(parser: ArgumentParser, *, positional: bool = False) -> None:
    """The folder to work on: the current one unless named."""
    text = "the repository's folder (default: the current folder)"
    if positional:
        parser.add_argument("root", nargs="?", default=".", metavar="DIR", help=text)
    else:
        parser.add_argument("--root", default=".", metavar="DIR", help=text)
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="leave out what this .gitignore pattern matches (repeatable)",
    )
    parser.add_argument("--no-cache", action="store_true", help="neither read nor write the cache")


def excludes(arguments: Any) -> tuple[str, ...]:
    """Patterns of the configuration and of the arguments. Raises ConfigError."""
    from taskx import config

    named = getattr(arguments, "config", None)  # only some commands have --config
    return (*config.find(arguments.environment, named).exclude, *arguments.exclude)


@asynccontextmanager
async def opened(root: Path, arguments: Any) -> AsyncIterator[Workspace]:
    """The open workspace; closed, with its cache written, when the block ends."""
    from taskx.fronts.terminal.progress import progress_line
    from taskx.workspace.workspace import Workspace

    with progress_line(sys.stderr) as emit:
        workspace = await Workspace.open(
            root,
            exclude=excludes(arguments),
            emit=emit,
            cache=arguments.cache_dir is not None and not arguments.no_cache,
            cache_dir=Path(arguments.cache_dir) if arguments.cache_dir is not None else None,
            environ=arguments.environment,
        )
    try:
        yield workspace
    finally:
        await workspace.close()


def with_workspace(arguments: Any, work: Callable[[Workspace], Awaitable[T]]) -> T:
    """Opens the workspace that the arguments name, runs `work` on it and gives its result."""

    root = Path(arguments.root).resolve()
    if not root.is_dir():
        fail(f"{arguments.root} is not a folder: name the folder of a repository")

    async def body() -> T:
        async with opened(root, arguments) as workspace:
            return await work(workspace)

    return run(body())


def run(body: Coroutine[Any, Any, T]) -> T:
    """Runs a command to its end; a TaskxError becomes one line on stderr and exit code 1."""
    import uvloop

    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(body)
    except TaskxError as error:
        fail(error.message, code=1)
    except KeyboardInterrupt:
        fail("interrupted", code=130)
