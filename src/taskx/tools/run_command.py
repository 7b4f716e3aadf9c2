"""run_command: a shell command, in the sandbox, in the foreground or background."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from taskx.edits.paths import resolve
from taskx.errors import ToolError
from taskx.process import command as commands
from taskx.process.output import Capture
from taskx.process.sandbox import Confined
from taskx.protocol.base import Wire
from taskx.tools.context import Call, ToolContext, ToolResult, whole_in
from taskx.tools.registry import Tool

TIMEOUT_MAX_MS = 3_600_000
COMMAND_LIMIT = 100_000
SHELL = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"


class RunCommandParams(Wire, frozen=True, kw_only=True):
    command: Annotated[str, Meta(description="A command line for bash.")]
    cwd: Annotated[
        str | None, Meta(description="Folder to run in, relative to the workspace. Default: root.")
    ] = None
    timeout_ms: Annotated[
        int | None, Meta(description="Ended after so long. Default: 120000; the most: 3600000.")
    ] = None
    background: Annotated[
        bool,
        Meta(
            description="Return at once and let it run (servers, watchers); its output comes when "
            "it ends. Default: false."
        ),
    ] = False


async def run(params: RunCommandParams, context: ToolContext, call: Call) -> ToolResult:
    if not params.command.strip() or "\0" in params.command:
        raise ToolError("invalidInput", "command is empty or holds a NUL character")
    if len(params.command) > COMMAND_LIMIT:
        raise ToolError("invalidInput", f"command is longer than {COMMAND_LIMIT} characters")
    folder = await asyncio.to_thread(folder_of, params.cwd, context)
    timeout_ms = params.timeout_ms
    if timeout_ms is None:
        timeout_ms = 0 if params.background else context.command_timeout_ms
    elif not 1 <= timeout_ms <= TIMEOUT_MAX_MS:
        raise ToolError("invalidInput", f"timeoutMs: expected 1 to {TIMEOUT_MAX_MS}")
    running = await start(params.command, folder, timeout_ms, context, call)
    if not params.background:
        return await finish(running, params.command, timeout_ms, context, call)
    task = asyncio.create_task(finish(running, params.command, timeout_ms, context, call))
    message = "the command runs in the background; its output comes when it ends"
    data = {"background": True, "command": params.command, "message": message}
    return ToolResult(message, data, background=task)


def folder_of(name: str | None, context: ToolContext) -> Path:
    if name is None:
        return context.root
    place = resolve(context.root, name)
    if not os.path.isdir(place.path):
        raise ToolError("notFound", f"no such folder: {name}")
    return Path(place.path)


async def start(
    command: str, folder: Path, timeout_ms: int, context: ToolContext, call: Call
) -> Confined | commands.Command:
    """Starts a command line, confined when the context has a sandbox."""
    argv = [SHELL, "-c", command]
    capture = Capture(call.spill_path(context))
    context.captures[call.id] = capture
    timeout_s = timeout_ms / 1000 if timeout_ms else None
    if context.sandbox is not None:
        return await context.sandbox.start(
            argv,
            cwd=folder,
            capture=capture,
            timeout_s=timeout_s,
            on_output=call.on_output,
            network=context.network,
        )
    return commands.start(
        context.launcher,
        argv,
        cwd=folder,
        env=context.launcher.environment(),
        capture=capture,
        timeout_s=timeout_s,
        on_output=call.on_output,
    )


async def finish(
    running: Confined | commands.Command,
    command: str,
    timeout_ms: int,
    context: ToolContext,
    call: Call,
) -> ToolResult:
    """Waits for a command. Raises ToolError `timeout` with the output so far."""
    notes: list[str] = []
    try:
        waited = await running.wait()
        outcome = waited[0] if isinstance(waited, tuple) else waited
        notes += waited[1] if isinstance(waited, tuple) else []
    finally:
        context.captures.pop(call.id, None)
    if outcome.left_behind:
        notes.append("processes that the command left running were ended; use background for that")
    text = outcome.capture.text()
    if outcome.capture.file is not None:
        notes.append(whole_in(outcome.capture.file))
    if outcome.timed_out:
        rows = [f"the command did not end within {timeout_ms} ms and was stopped", text, *notes]
        raise ToolError("timeout", "\n".join(row for row in rows if row))
    ended = (
        f"[ended by {outcome.signal}]"
        if outcome.exit_code is None
        else f"[exit code {outcome.exit_code}]"
    )
    data: dict[str, Any] = {
        "command": command,
        "exitCode": outcome.exit_code,
        "signal": outcome.signal,
        "output": text,
        "truncated": outcome.capture.cut,
        "durationMs": outcome.duration_ms,
        "notes": notes,
    }
    body = text if text.endswith("\n") or not text else f"{text}\n"
    return ToolResult("\n".join([f"{body}{ended}", *notes]), data)


def preview(params: RunCommandParams, context: ToolContext) -> str:
    where = params.cwd or "."
    how = "" if context.sandbox is not None else " (without a sandbox)"
    back = " in the background" if params.background else ""
    return f"in {where}{back}{how}:\n{params.command}"


TOOL = Tool(
    name="run_command",
    tool_class="execute",
    description=(
        "Runs a bash command in the workspace and gives its output and exit code. It can write "
        "only inside the workspace and a private temp folder, and has no network. Standard input "
        "is empty: do not start programs that ask. Do not edit files with it; use the edit tools, "
        "whose changes the user can review and undo."
    ),
    params=RunCommandParams,
    run=run,
    preview=preview,
)
