"""What tools share in one runtime: launcher, sandbox, edit log, the folder of the run."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from taskx.edits.log import EditLog
from taskx.edits.store import DiskStore
from taskx.private_files import make_private_folder
from taskx.process.launch import Launcher
from taskx.process.sandbox import Kind, Sandbox, available
from taskx.tools.context import ToolContext, ToolResult


class ToolServices:
    """Built once by the app; `prepare` follows each workspace that is opened.

    environ: the caller's environment; keys in it never reach a command.
    confine: whether commands must run in a sandbox.
    """

    def __init__(self, environ: Mapping[str, str], data_dir: Path | None, confine: bool) -> None:
        self._environ = environ
        self._data_dir = data_dir
        self._confine = confine
        self._kind: Kind | None = None
        self._private: Path | None = None
        self._lock_fd: int | None = None
        self._logs: dict[Path, EditLog] = {}
        self._sandboxes: dict[Path, Sandbox] = {}
        self._clients: dict[Path, ToolContext] = {}
        # Contexts are asked for from worker threads.
        self._lock = threading.RLock()
        self._background: set[asyncio.Task[ToolResult]] = set()
        self.launcher = Launcher(environ)

    @property
    def sandbox_kind(self) -> Kind:
        """The confinement that commands get. Blocks for some milliseconds the first time."""
        if not self._confine:
            return "none"
        if self._kind is None:
            self._kind = available(self._environ.get("PATH", os.defpath))
        return self._kind

    @property
    def sandboxed(self) -> bool:
        """Whether commands are confined. If not, they need approval."""
        return self.sandbox_kind != "none"

    def prepare(self, root: Path) -> None:
        """Loads the edit log of a workspace and finds the sandbox. Blocks on disk."""
        self.edits(root)
        with self._lock:
            self._sandbox(root.resolve())

    def edits(self, root: Path) -> EditLog:
        """The edit log of a workspace, loaded on first use. Blocks on disk."""
        root = root.resolve()
        with self._lock:
            if root not in self._logs:
                store = DiskStore(self._data_dir, root) if self._data_dir is not None else None
                self._logs[root] = EditLog(root, store)
            return self._logs[root]

    def context(self, workspace: Any, root: Path, task_id: str, timeout_ms: int) -> ToolContext:
        """A fresh context for one task."""
        root = root.resolve()
        edits = self.edits(root)
        with self._lock:
            spill, sandbox = self._folder() / "results", self._sandbox(root)
        return ToolContext(
            root=root,
            edits=edits,
            launcher=self.launcher,
            spill=spill,
            workspace=workspace,
            sandbox=sandbox,
            task_id=task_id,
            command_timeout_ms=timeout_ms,
            changed=getattr(workspace, "files_changed", None),
        )

    def client(self, workspace: Any, root: Path) -> ToolContext:
        """The context of the client's own calls, which remembers what they have read."""
        root = root.resolve()
        with self._lock:
            if root not in self._clients:
                self._clients[root] = self.context(workspace, root, "", 120_000)
            known = self._clients[root]
        known.workspace = workspace
        known.changed = getattr(workspace, "files_changed", None)
        return known

    def adopt(self, background: asyncio.Task[ToolResult]) -> None:
        """Takes charge of a background command of the client's; it ends with the runtime."""
        self._background.add(background)
        background.add_done_callback(self._ended)

    def _ended(self, background: asyncio.Task[ToolResult]) -> None:
        self._background.discard(background)
        if not background.cancelled():
            # Nobody waits for its result; an error in it is no one's either.
            background.exception()

    def _sandbox(self, root: Path) -> Sandbox | None:
        if not self._confine:
            return None
        if root not in self._sandboxes:
            self._sandboxes[root] = Sandbox(
                self.launcher,
                root,
                self.sandbox_kind,
                self._folder(),
                path=self._environ.get("PATH", os.defpath),
                home=self._environ.get("HOME"),
                kept=[self._data_dir] if self._data_dir is not None else [],
            )
        return self._sandboxes[root]

    def _folder(self) -> Path:
        """This run's own folder, locked while the runtime lives; those of dead ones are removed."""
        if self._private is None:
            if self._data_dir is None:
                self._private = Path(tempfile.mkdtemp(prefix="task-x-"))
            else:
                base = self._data_dir / "runs"
                make_private_folder(base)
                for old in base.iterdir():
                    _remove_dead(old)
                self._private = Path(tempfile.mkdtemp(prefix="run-", dir=base))
            self._lock_fd = os.open(self._private / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
            fcntl.flock(self._lock_fd, fcntl.LOCK_EX)
        return self._private

    async def close(self) -> None:
        """Ends every command, and removes the run's folder."""
        waiting = list(self._background)
        for background in waiting:
            background.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self.launcher.close()
        if self._private is not None:
            shutil.rmtree(self._private, ignore_errors=True)
            self._private = None
        if self._lock_fd is not None:
            os.close(self._lock_fd)
            self._lock_fd = None


def _remove_dead(folder: Path) -> None:
    """Removes the folder of a runtime that was killed: nobody holds its lock."""
    with contextlib.suppress(OSError):
        fd = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(fd)
