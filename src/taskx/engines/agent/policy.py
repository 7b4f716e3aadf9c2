"""Whether a tool call runs, is asked about, or is refused.

The order: a deny rule refuses, a read-only task refuses what changes anything, `allowAll` runs the
rest, then allow rules and grants of this session, then the mode's classes.
Source: protocol v1, `policy`; `docs/protocol.md`, "Permissions".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from taskx.process import shell_guard
from taskx.protocol.agent import Policy, PolicyMode, ToolClass

ASKED_CLASSES: dict[PolicyMode, frozenset[ToolClass]] = {
    "readOnly": frozenset(),
    "manual": frozenset({"write", "execute", "destructive", "network"}),
    "acceptEdits": frozenset({"execute", "destructive", "network"}),
    "auto": frozenset({"destructive", "network"}),
}
READ_ONLY_CLASSES: frozenset[ToolClass] = frozenset({"read", "agent"})
COMMAND_TOOL = "run_command"

_COMMAND_RULE = re.compile(r"\Arun_command\((.*)\)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`why` is for the model when the call is refused."""

    action: Literal["run", "ask", "refuse"]
    why: str = ""
    by_grant: bool = False


@dataclass(slots=True)
class Grants:
    """What the user allowed for the rest of a task: tools, and commands by their signature."""

    tools: set[str] = field(default_factory=set)
    commands: set[str] = field(default_factory=set)

    def add(self, tool: str, arguments: dict[str, Any]) -> None:
        if tool != COMMAND_TOOL:
            self.tools.add(tool)
            return
        signature = shell_guard.signature(command_of(arguments))
        if signature is not None:
            self.commands.add(signature)

    def cover(self, tool: str, arguments: dict[str, Any]) -> bool:
        if tool != COMMAND_TOOL:
            return tool in self.tools
        return shell_guard.signature(command_of(arguments)) in self.commands


def decide(
    tool: str,
    tool_class: ToolClass,
    arguments: dict[str, Any],
    policy: Policy,
    grants: Grants,
    *,
    read_only: bool,
    sandboxed: bool,
    secret: bool = False,
) -> Verdict:
    """What happens to one call.

    read_only: of the chat mode or the role; the policy's own mode counts too.
    sandboxed: whether commands of this task are confined; if not, they are asked about.
    secret: whether the call writes to a file that holds secrets.
    """
    rule = first_match(policy.deny, tool, arguments, shell_guard.denied)
    if rule is not None:
        return Verdict("refuse", f"`{rule}` is denied by the user's policy")
    offered = policy.allow_all and tool.startswith("mcp__")
    read_only = read_only or policy.mode == "readOnly"
    if read_only and tool_class not in READ_ONLY_CLASSES and not offered:
        return Verdict("refuse", "this task is read-only: nothing may be changed or run")
    if policy.allow_all:
        return Verdict("run")
    if secret:
        return Verdict("ask")
    if first_match(policy.allow, tool, arguments, shell_guard.allowed) is not None:
        return Verdict("run")
    if grants.cover(tool, arguments):
        return Verdict("run", by_grant=True)
    if tool_class == "execute" and not sandboxed:
        return Verdict("ask")
    return Verdict("ask" if tool_class in ASKED_CLASSES[policy.mode] else "run")


def first_match(
    rules: list[str],
    tool: str,
    arguments: dict[str, Any],
    command_matches: Callable[[str, str], bool],
) -> str | None:
    """The first rule that names this call: a tool name, a glob, or a command prefix."""
    for rule in rules:
        prefix = _COMMAND_RULE.match(rule)
        if prefix is not None:
            if tool == COMMAND_TOOL and command_matches(command_of(arguments), prefix[1]):
                return rule
        elif fnmatchcase(tool, rule):
            return rule
    return None


def command_of(arguments: dict[str, Any]) -> str:
    command = arguments.get("command")
    return command if isinstance(command, str) else ""
