"""The tasks that run in this process, so that requests find the one they mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taskx.engines.agent.task import AgentTask


class Running:
    """Task ids to live tasks, subagents included."""

    def __init__(self) -> None:
        self._tasks: dict[str, AgentTask] = {}
        self._reserved: set[str] = set()

    def __contains__(self, task_id: str) -> bool:
        return task_id in self._tasks or task_id in self._reserved

    @contextmanager
    def reserved(self, task_id: str) -> Iterator[None]:
        """Keeps the id of a task that is being opened from a second one."""
        self._reserved.add(task_id)
        try:
            yield
        finally:
            self._reserved.discard(task_id)

    def add(self, task: AgentTask) -> None:
        self._tasks[task.id] = task

    def remove(self, task: AgentTask) -> None:
        self._tasks.pop(task.id, None)

    def steer(self, task_id: str, text: str) -> bool:
        """Whether a running top-level task took the message."""
        task = self._tasks.get(task_id)
        return task is not None and task.parent is None and task.steer(text)

    def cancel_tool(self, task_id: str, call_id: str) -> bool:
        task = self._tasks.get(task_id)
        return task is not None and task.calls.stop(call_id)

    def cancel_subagent(self, task_id: str) -> bool:
        task = self._tasks.get(task_id)
        return task is not None and task.parent is not None and task.stop()
