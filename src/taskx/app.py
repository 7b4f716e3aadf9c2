"""The composition root: builds the services once and holds the open workspace.

Must not know: rpc, or any front.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from taskx.config import Config, Settings
from taskx.errors import NoWorkspace
from taskx.sessions.record import Session

if TYPE_CHECKING:
    from taskx.engines.agent.opening import Services
    from taskx.engines.agent.running import Running
    from taskx.providers import Providers
    from taskx.tools.services import ToolServices


class App:
    """What the handlers of one process share.

    workspace: the open workspace, or None.
    opening: the open of one that is under way (fronts.runtime.workspace), or None.
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
        self.opening: Any = None
        self._providers: Providers | None = None
        self._tools: ToolServices | None = None
        self._running: Running | None = None
        # The first use of a service may come from two worker threads at once.
        self._lock = threading.RLock()

    @property
    def providers(self) -> Providers:
        """Model endpoints; loaded with their first use."""
        with self._lock:
            if self._providers is None:
                from taskx.providers import Providers

                self._providers = Providers()
            return self._providers

    @property
    def tools(self) -> ToolServices:
        """What tools share; loaded with its first use."""
        with self._lock:
            if self._tools is None:
                from taskx.tools.services import ToolServices

                environ = self.settings.environment
                self._tools = ToolServices(environ, self.data_dir, self.sandbox)
            return self._tools

    @property
    def running(self) -> Running:
        """The tasks that run in this process."""
        with self._lock:
            if self._running is None:
                from taskx.engines.agent.running import Running

                self._running = Running()
            return self._running

    def agent_services(self) -> Services:
        """What a task of the open workspace needs. Blocks on disk the first time."""
        from taskx.engines.agent.opening import Services

        if self.workspace is None:
            raise NoWorkspace
        workspace, root = self.workspace, Path(self.workspace.root)
        return Services(
            providers=self.providers,
            running=self.running,
            workspace=workspace,
            root=root,
            data_dir=self.data_dir,
            session=self.session.id,
            sandboxed=self.tools.sandboxed,
            tool_context=lambda task, timeout_ms: self.tools.context(
                workspace, root, task, timeout_ms
            ),
            start_item=self.session.start_item,
            end_item=self.session.end_item,
        )

    async def close(self) -> None:
        """Lets go of everything. The loop still runs; nothing is called afterwards."""
        if self.opening is not None:
            await self.opening.stop()
        workspace, self.workspace = self.workspace, None
        if workspace is not None:
            await workspace.close()
        tools, self._tools = self._tools, None
        if tools is not None:
            await tools.close()
        providers, self._providers = self._providers, None
        if providers is not None:
            await providers.close()
