"""The tools by name: their schemas, and the one way to call them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from taskx.errors import ToolError
from taskx.tools.context import Call, OnOutput, ToolClass, ToolContext, ToolResult
from taskx.tools.schema import schema_of

__all__ = [
    "TOOLS",
    "Tool",
    "ToolContext",
    "ToolResult",
    "call",
    "find",
    "preview",
    "secret_paths",
    "tools",
]

TOOLS: dict[str, Tool]

log = logging.getLogger("taskx.tools")

PREVIEW_LIMIT = 20_000


@dataclass(frozen=True)
class Tool:
    """description: what a model reads. params: the Struct of its input.

    run: does it. preview: what a person reads before allowing it; reads files, changes nothing.
    touches: paths that a call would write, as the model gave them.
    parallel: whether it may run beside other calls of the same turn.
    """

    name: str
    tool_class: ToolClass
    description: str
    params: type[msgspec.Struct]
    run: Callable[[Any, ToolContext, Call], Awaitable[ToolResult]]
    preview: Callable[[Any, ToolContext], str] | None = None
    touches: Callable[[Any], list[str]] | None = None
    parallel: bool = False

    @property
    def input_schema(self) -> dict[str, Any]:
        return schema_of(self.params)

    def parse(self, given: Any) -> Any:
        """The input as its Struct. Raises ToolError naming the field and what was expected."""
        if not isinstance(given, dict):
            raise ToolError("invalidInput", f"{self.name}: the input must be a JSON object")
        try:
            # Models quote numbers and booleans now and then; that is no reason to fail.
            return msgspec.convert(given, self.params, strict=False)
        except msgspec.ValidationError as error:
            raise ToolError("invalidInput", f"{self.name}: {_explain(str(error))}") from None


def _explain(message: str) -> str:
    text, _, place = message.partition(" - at `$.")
    return f"{place.rstrip('`')}: {text[:1].lower()}{text[1:]}" if place else text


def _load() -> dict[str, Tool]:
    from taskx.tools import (
        apply_patch,
        create_directory,
        delete_path,
        find_files,
        get_dependencies,
        get_diagnostics,
        get_outline,
        git,
        list_files,
        move_path,
        read_file,
        replace_text,
        retrieve_context,
        run_check,
        run_command,
        search_symbols,
        search_text,
        write_file,
    )

    tools = (
        read_file.TOOL,
        list_files.TOOL,
        find_files.TOOL,
        search_text.TOOL,
        search_symbols.TOOL,
        get_outline.TOOL,
        get_dependencies.TOOL,
        retrieve_context.TOOL,
        get_diagnostics.TOOL,
        *git.TOOLS,
        write_file.TOOL,
        replace_text.TOOL,
        apply_patch.TOOL,
        create_directory.TOOL,
        move_path.TOOL,
        delete_path.TOOL,
        run_command.TOOL,
        run_check.TOOL,
    )
    return {tool.name: tool for tool in tools}


def __getattr__(name: str) -> Any:
    """`TOOLS` is made at its first use: the tools' modules import this one."""
    if name == "TOOLS":
        globals()["TOOLS"] = _load()
        return globals()["TOOLS"]
    raise AttributeError(name)


def tools() -> dict[str, Tool]:
    loaded: dict[str, Tool] = globals().get("TOOLS") or __getattr__("TOOLS")
    return loaded


def find(name: str) -> Tool:
    """Raises ToolError `notFound`."""
    tool = tools().get(name)
    if tool is None:
        raise ToolError("notFound", f"no tool {name!r}; there are {', '.join(tools())}")
    return tool


async def call(
    name: str,
    given: Any,
    context: ToolContext,
    *,
    call_id: str = "",
    on_output: OnOutput | None = None,
    secrets_ok: bool = False,
) -> ToolResult:
    """Calls a tool. Never asks: who calls has decided that it may run.

    secrets_ok: the user allowed it to touch the files that `secret_paths` gives.
    Raises ToolError for what the model can do something about.
    """
    tool = find(name)
    started = time.monotonic()
    outcome = "failed"
    try:
        params = tool.parse(given)
        result = await tool.run(params, context, Call(call_id, on_output, secrets_ok))
        outcome = "ok"
        return result
    except ToolError as error:
        outcome = error.kind
        raise
    except asyncio.CancelledError:
        outcome = "cancelled"
        raise
    except OSError as error:
        raise ToolError("failed", f"{name}: {error.strerror or error}") from error
    finally:
        elapsed = round((time.monotonic() - started) * 1000)
        log.info("tool %s (%s): %s in %d ms", name, tool.tool_class, outcome, elapsed)


def preview(name: str, given: Any, context: ToolContext) -> str:
    """What a call would do, for a person: a diff, or a command with its folder. Blocks on disk.

    Never raises ToolError: a call that will fail is described as such.
    """
    try:
        tool = find(name)
        params = tool.parse(given)
        text = tool.preview(params, context) if tool.preview is not None else ""
    except ToolError as error:
        return f"this call will fail: {error.message}"
    if len(text) > PREVIEW_LIMIT:
        text = text[:PREVIEW_LIMIT] + f"\n[… {len(text) - PREVIEW_LIMIT} characters left out]"
    return text


def secret_paths(name: str, given: Any, context: ToolContext) -> list[str]:
    """Files that hold secrets, or decide what is executed, and that a call would write or read."""
    from taskx.tools import guard

    try:
        tool = find(name)
        params = tool.parse(given)
        if tool.touches is None:
            return []
        return [path for path in tool.touches(params) if guard.is_sensitive(context, path)]
    except ToolError:
        return []
