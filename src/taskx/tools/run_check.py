"""run_check: one of the checks that the project declares: build, test, lint, types, format."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from taskx.errors import ToolError
from taskx.protocol.base import Wire
from taskx.tools import run_command
from taskx.tools.context import Call, ToolContext, ToolResult
from taskx.tools.registry import Tool

TIMEOUT_MS = 900_000


class RunCheckParams(Wire, frozen=True, kw_only=True):
    id: Annotated[
        str | None,
        Meta(description="Id of the check. Without it the project's checks are listed."),
    ] = None
    timeout_ms: Annotated[int | None, Meta(description="Ended after so long. Default: 900000.")] = (
        None
    )


def checks(context: ToolContext) -> list[dict[str, Any]]:
    """The detected checks; [] while no workspace is open."""
    if context.workspace is None:
        return []
    summary = msgspec.to_builtins(context.workspace.summary())
    found = (summary.get("project") or {}).get("checks") or []
    return [check for check in found if isinstance(check, dict)]


async def run(params: RunCheckParams, context: ToolContext, call: Call) -> ToolResult:
    known = checks(context)
    if params.id is None:
        rows = [f"{c['id']} ({c['kind']}): {c['command']}" for c in known]
        return ToolResult("\n".join(rows) or "the project declares no checks", {"checks": known})
    check = next((c for c in known if c["id"] == params.id), None)
    if check is None:
        names = ", ".join(str(c["id"]) for c in known) or "none"
        raise ToolError("notFound", f"no check {params.id!r}; there are: {names}")
    timeout_ms = params.timeout_ms or TIMEOUT_MS
    if not 1 <= timeout_ms <= run_command.TIMEOUT_MAX_MS:
        raise ToolError("invalidInput", f"timeoutMs: expected 1 to {run_command.TIMEOUT_MAX_MS}")
    folder = await asyncio.to_thread(run_command.folder_of, check.get("dir") or None, context)
    running = await run_command.start(check["command"], folder, timeout_ms, context, call)
    result = await run_command.finish(running, check["command"], timeout_ms, context, call)
    ok = result.data["exitCode"] == 0
    data = {"id": check["id"], "kind": check["kind"], "ok": ok, **result.data}
    verdict = "passed" if ok else "failed"
    return ToolResult(f"{check['kind']} check {verdict}\n{result.content}", data)


def preview(params: RunCheckParams, context: ToolContext) -> str:
    check = next((c for c in checks(context) if c["id"] == params.id), None)
    if check is None:
        return "list the project's checks"
    return f"in {check.get('dir') or '.'}:\n{check['command']}"


TOOL = Tool(
    name="run_check",
    tool_class="execute",
    description=(
        "Runs one of the project's own checks (build, tests, lint, types) in the sandbox. Call it "
        "without id to see them; run those that apply after you edited."
    ),
    params=RunCheckParams,
    run=run,
    preview=preview,
)
