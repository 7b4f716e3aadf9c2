"""workspace/open, refresh, filesChanged and context/inspect."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from taskx.errors import RequestCancelled, TaskxError
from taskx.protocol.workspace import (
    FailedProgress,
    FilesChangedParams,
    OpenParams,
    ProgressEvent,
    Summary,
)
from taskx.rpc import codec
from taskx.workspace.cancel import CancelFlag
from taskx.workspace.workspace import Workspace, real_root

if TYPE_CHECKING:
    from taskx.app import App
    from taskx.fronts.runtime.dispatch import Context

log = logging.getLogger("taskx.workspace")


class Opening:
    """An open under way: it can be stopped, and keeps changes reported meanwhile."""

    def __init__(self) -> None:
        self.pending: list[str] = []
        self.flag = CancelFlag()
        self._over = asyncio.Event()

    async def stop(self) -> None:
        """Cancels it and waits until nothing of it runs any more."""
        self.flag.set()
        await self._over.wait()

    def over(self) -> None:
        self._over.set()


async def _load_edits(app: App, root: Path) -> None:
    """Loads the edit log, which completes or takes back what a killed runtime left half done."""
    if app.data_dir is None:
        return
    try:
        await asyncio.to_thread(app.tools.edits, root)
    except (TaskxError, OSError) as error:
        log.warning("the edit log cannot be loaded: %s", error)


async def open_workspace(context: Context, params: OpenParams) -> Summary:
    """Replaces the open workspace once the new one is ready; an open under way is cancelled."""
    app = context.app
    real_root(params.root)
    opening = Opening()
    earlier, app.opening = app.opening, opening
    try:
        if earlier is not None:
            await earlier.stop()
        workspace = await Workspace.open(
            params.root,
            exclude=[*app.config.exclude, *params.exclude],
            emit=_progress(context),
            data_dir=app.data_dir,
            cache=app.use_cache,
            cache_dir=Path(app.settings.cache_dir) if app.settings.cache_dir else None,
            environ=app.settings.environment,
            cancel=opening.flag,
        )
        if opening.flag.is_set():
            await workspace.close()
            raise RequestCancelled("replaced by another workspace/open")
        before, app.workspace = app.workspace, workspace
        if before is not None:
            await before.close()
        await _load_edits(app, Path(workspace.summary().root))
        if opening.pending:
            await workspace.files_changed(opening.pending, _progress(context))
        return workspace.summary()
    except TaskxError as error:
        if not isinstance(error, RequestCancelled):
            context.notify("workspace/progress", FailedProgress(error=error.message))
        raise
    finally:
        if app.opening is opening:
            app.opening = None
        opening.over()


async def refresh(context: Context, params: None) -> Summary:
    """Scans the open workspace again."""
    workspace: Workspace = context.app.workspace
    return await workspace.refresh(_progress(context))


async def files_changed(context: Context, params: FilesChangedParams) -> None:
    """Takes changes in; during an open they are kept for its end."""
    app = context.app
    if app.opening is not None:
        app.opening.pending.extend(params.paths)
    if app.workspace is not None:
        await app.workspace.files_changed(params.paths, _progress(context))


_encoded = codec.Kept()


def inspect(context: Context, params: None) -> orjson.Fragment:
    """The summary; a new object takes its place when the index changes."""
    return _encoded(context.app.workspace.summary())


def _progress(context: Context) -> Callable[[ProgressEvent], None]:
    """Reports to the client."""
    return lambda event: context.notify("workspace/progress", event)
