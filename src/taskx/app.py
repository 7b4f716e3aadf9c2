"""The composition root: builds the services once and holds the open workspace.

Must not know: rpc, or any front.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from taskx.config import Config, Settings
from taskx.sessions.record import Session


class App:
    """What the handlers of one process share.

    workspace: the open workspace, or None.
    data_dir: where tasks, checkpoints and the index are kept, or None.
    use_cache: whether indexes may be kept on disk.
    sandbox: whether commands must run in a sandbox.
    """

    def __init__(
        self, settings: Settings, data_dir: str | None, sandbox: bool, session: Session
    ) -> None:
        self.settings = settings
        self.config: Config = settings.config
        self.data_dir = Path(data_dir) if data_dir is not None else None
        self.use_cache = settings.use_cache
        self.sandbox = sandbox
        self.session = session
        self.workspace: Any = None

    async def close(self) -> None:
        """Lets go of everything. The loop still runs; nothing is called afterwards."""
        workspace, self.workspace = self.workspace, None
        if workspace is not None:
            await workspace.close()
