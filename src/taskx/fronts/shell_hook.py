"""`task-x-runtime --hook-shell-edit`: Claude Code's PreToolUse hook, one call on standard input.

Prints a denial for a shell command that rewrites files, and nothing for what may go on. What
cannot be read is blocked (exit 2): a guard that fails open is none.
"""

from __future__ import annotations

import json
import sys
from typing import Any

ADVICE = (
    "Change files with the task-x edit tools (replace_text, apply_patch, write_file), "
    "whose changes the user can review and undo."
)


def denial(call: Any) -> str | None:
    """Why a tool call is denied, or None."""
    if not isinstance(call, dict) or call.get("tool_name") not in (
        "Bash",
        "mcp__task-x__run_command",
    ):
        return None
    given = call.get("tool_input")
    command = given.get("command") if isinstance(given, dict) else None
    if not isinstance(command, str):
        return None
    if isinstance(given, dict) and given.get("dangerouslyDisableSandbox") is True:
        return "Commands always run in the sandbox."
    from taskx.process import shell_edits

    why = shell_edits.reason(command)
    return None if why is None else f"This command is blocked: {why}. {ADVICE}"


def main() -> int:
    try:
        call = json.loads(sys.stdin.buffer.read())
        why = denial(call)
    except (ValueError, RecursionError) as error:
        print(f"the hook's input could not be read: {error}", file=sys.stderr)
        return 2
    if why is not None:
        answer = {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": why,
            }
        }
        print(json.dumps(answer))
    return 0
