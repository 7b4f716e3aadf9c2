"""The tools one task has, and the way of a call through policy, approval and the tool itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from taskx.engines.agent import policy, questions
from taskx.engines.agent.approvals import Approvals
from taskx.engines.agent.calls import Outcome, as_text
from taskx.engines.ports import Client, Emit
from taskx.errors import ToolError
from taskx.protocol import agent as events
from taskx.protocol.agent import ChangedFile, Limits, Policy, ToolClass, Validation
from taskx.protocol.chat import ToolSpec, ToolUsePart
from taskx.tools import registry, run_check
from taskx.tools.context import ToolContext, ToolResult
from taskx.tools.registry import Tool

Special = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""A tool of the engine itself: call id and arguments to the result for the model."""


@dataclass(frozen=True, slots=True)
class SpecialTool:
    """`ask_user`, `run_subagent`: what needs the engine. All are of class `agent`."""

    spec: ToolSpec
    run: Special
    parallel: bool = False


@dataclass(slots=True)
class Report:
    """What the calls of a task did to the workspace."""

    changed: dict[str, list[int]] = field(default_factory=dict)
    operations: list[str] = field(default_factory=list)
    checks: list[tuple[Validation, int]] = field(default_factory=list)
    edits: int = 0
    known_checks: list[str] = field(default_factory=list)
    reminded: int = -1

    @property
    def changed_files(self) -> list[ChangedFile]:
        return [
            ChangedFile(path=path, added=added, removed=removed)
            for path, (added, removed) in sorted(self.changed.items())
        ]

    @property
    def validations(self) -> list[Validation]:
        return [
            Validation(
                id=check.id,
                kind=check.kind,
                command=check.command,
                ok=check.ok,
                duration_ms=check.duration_ms,
                after_last_edit=edits_before == self.edits,
            )
            for check, edits_before in self.checks
        ]

    @property
    def validation_ran(self) -> bool:
        """Whether a check ran after the last edit."""
        return any(edits_before == self.edits for _, edits_before in self.checks)

    @property
    def skipped_checks(self) -> list[str]:
        """Checks of the project that did not run after the last edit, when something changed."""
        if not self.edits:
            return []
        ran = {check.id for check, edits_before in self.checks if edits_before == self.edits}
        return [check for check in self.known_checks if check not in ran]


@dataclass(slots=True)
class Toolbox:
    """The tools of one task. Implements `calls.Runner`."""

    tools: dict[str, Tool]
    context: ToolContext
    rules: Policy
    limits: Limits
    approvals: Approvals
    client: Client
    emit: Emit
    task_id: str
    read_only: bool
    sandboxed: bool
    top_level: bool
    special: dict[str, SpecialTool] = field(default_factory=dict)
    reported: Report = field(default_factory=Report)
    _specs: list[ToolSpec] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.top_level:
            spec = ToolSpec(
                name="ask_user",
                description=questions.DESCRIPTION,
                input_schema=questions.SCHEMA,
            )
            self.special["ask_user"] = SpecialTool(spec, self._ask_user)

    def specs(self) -> list[ToolSpec]:
        """What the model is offered; in a read-only task what only reads."""
        if not self._specs:
            self._specs = [
                ToolSpec(
                    name=tool.name, description=tool.description, input_schema=tool.input_schema
                )
                for tool in self.tools.values()
                if self._offered(tool)
            ] + [tool.spec for tool in self.special.values()]
        return self._specs

    def _offered(self, tool: Tool) -> bool:
        read_only = self.read_only or self.rules.mode == "readOnly"
        return not read_only or tool.tool_class in policy.READ_ONLY_CLASSES

    def report(self) -> Report:
        return self.reported

    # calls.Runner

    def describe(self, tool: str) -> tuple[ToolClass, bool]:
        known = self.tools.get(tool)
        if known is not None:
            return known.tool_class, known.parallel
        special = self.special.get(tool)
        return ("agent", special.parallel) if special is not None else ("read", False)

    def partial_output(self, call_id: str) -> str:
        return self.context.partial_output(call_id)

    async def run_call(self, use: ToolUsePart) -> Outcome:
        special = self.special.get(use.name)
        if special is not None:
            return await self._run_special(special, use)
        tool = self.tools.get(use.name)
        if tool is None:
            known = ", ".join(spec.name for spec in self.specs())
            raise ToolError("notFound", f"there is no tool {use.name}; the tools are {known}")
        refusal = await self._approve(tool, use)
        if refusal is not None:
            raise ToolError("denied", refusal)

        def on_output(stream: str, text: str) -> None:
            self.emit(
                events.ToolOutputEvent(
                    call_id=use.id, stream="stderr" if stream == "stderr" else "stdout", text=text
                )
            )

        started = time.perf_counter()
        try:
            result = await registry.call(
                use.name,
                use.input,
                self.context,
                call_id=use.id,
                on_output=on_output,
                # Whoever had to be asked about a secret file has said yes by now.
                secrets_ok=True,
            )
        except ToolError as error:
            if use.name == "run_check" and error.kind == "timeout":
                self._timed_out(use, round((time.perf_counter() - started) * 1000))
            raise
        return self._outcome(use, result)

    async def _run_special(self, tool: SpecialTool, use: ToolUsePart) -> Outcome:
        verdict = policy.decide(
            use.name,
            "agent",
            use.input,
            self.rules,
            self.approvals.grants,
            read_only=self.read_only,
            sandboxed=self.sandboxed,
        )
        if verdict.action == "refuse":
            raise ToolError("denied", verdict.why)
        data = await tool.run(use.id, use.input)
        return Outcome(True, as_text(data), data)

    async def _approve(self, tool: Tool, use: ToolUsePart) -> str | None:
        secrets = registry.secret_paths(use.name, use.input, self.context)
        verdict = policy.decide(
            use.name,
            tool.tool_class,
            use.input,
            self.rules,
            self.approvals.grants,
            read_only=self.read_only,
            sandboxed=self.sandboxed,
            secret=bool(secrets),
        )
        preview = ""
        if verdict.action == "ask":
            preview = await asyncio.to_thread(registry.preview, use.name, use.input, self.context)
        return await self.approvals.settle(
            verdict, use.id, use.name, tool.tool_class, use.input, preview
        )

    def _outcome(self, use: ToolUsePart, result: ToolResult) -> Outcome:
        for change in result.changes:
            self.reported.edits += 1
            counts = self.reported.changed.setdefault(change.path, [0, 0])
            counts[0] += change.added
            counts[1] += change.removed
            if change.operation not in self.reported.operations:
                self.reported.operations.append(change.operation)
            self.emit(
                events.FileChangedEvent(
                    path=change.path,
                    operation=change.operation,
                    added=change.added,
                    removed=change.removed,
                )
            )
        if use.name == "run_check" and isinstance(result.data, dict) and "id" in result.data:
            self._checked(result.data)
        background = None
        if result.background is not None:
            background = _mapped(result.background)
        content = result.content
        if result.changes:
            content += self._checks_note()
        return Outcome(True, content, result.data, background=background)

    def _checks_note(self) -> str:
        """Said with the first edit after a check or the start: which checks apply now."""
        report = self.reported
        if not report.known_checks or report.reminded == len(report.checks):
            return ""
        report.reminded = len(report.checks)
        return "\nWhen your edits are done, run_check: " + ", ".join(report.known_checks)

    def _timed_out(self, use: ToolUsePart, elapsed_ms: int) -> None:
        """A check that did not end is one that ran and failed."""
        for check in run_check.checks(self.context):
            if check["id"] == use.input.get("id"):
                self._checked({**check, "ok": False, "durationMs": elapsed_ms})

    def _checked(self, data: dict[str, Any]) -> None:
        check = Validation(
            id=data["id"],
            kind=data["kind"],
            command=data["command"],
            ok=data["ok"],
            duration_ms=data["durationMs"],
            after_last_edit=True,
        )
        self.reported.checks.append((check, self.reported.edits))

    async def _ask_user(self, call_id: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return await questions.ask(
            self.client, self.task_id, call_id, arguments, self.limits.approval_timeout_ms
        )


def _mapped(background: asyncio.Task[ToolResult]) -> asyncio.Task[Outcome]:
    """The end of a background command as an outcome; cancelling it ends the command."""

    async def outcome() -> Outcome:
        try:
            result = await background
        except asyncio.CancelledError:
            background.cancel()
            raise
        return Outcome(True, result.content, result.data)

    return asyncio.ensure_future(outcome())
