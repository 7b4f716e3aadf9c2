"""What a model is told before it starts: its role, the rules, the editor's state."""

from __future__ import annotations

from collections.abc import Sequence

from taskx.protocol.agent import ChatMode, EditorContext, Role, Selection

MAX_SELECTION_CHARS = 20_000
MAX_OPEN_FILES = 50
MAX_DIAGNOSTICS = 50

_COMMON = """\
You are a coding agent inside a developer's editor, working in the repository at {root}.
Paths are relative to that folder. Use the tools to look before you answer: search and read the code
rather than guess what it says. Call independent read tools together in one turn. When a tool
refuses or fails, read why and change your approach; do not repeat the same call."""

_MODES: dict[ChatMode, str] = {
    "ask": """\
Answer the user's question about this repository. You cannot change files or run commands. Name the
files and lines your answer rests on.""",
    "plan": """\
Work out a plan for the user's request; you cannot change files or run commands. Read what matters,
then give numbered steps with the files each one touches, how to check it, what could go wrong.""",
    "agent": """\
Carry out the user's request completely. Make the smallest change that does it well, in the style of
the code around it. Read a file before you change it; prefer replace_text and apply_patch to writing
whole files. After your edits run the project's checks that apply, and mend what you broke. Finish
with a short summary: what changed, how it was checked, what is left.""",
    "team": """\
Lead a small team: break the request into steps, hand them to subagents with clear objectives, check
their reports, and finish with a short summary of what changed and how it was checked.""",
}

_ROLES: dict[Role, str] = {
    "research": "Find out what you are asked and report it with files and lines. Change nothing.",
    "implementation": "Carry out the objective with the smallest good change, and check it.",
    "testing": "Write and run tests for the objective. Report what passes and what fails.",
    "review": """\
Review the code you are pointed to. Change nothing. End with a fenced code block whose language is
`task-x-findings`: a JSON array of {"path", "line", "severity", "message"}, the severity `error`,
`warning` or `info`; an empty array when there is nothing to report.""",
    "documentation": "Write or correct documentation for the objective, true to the code.",
}


def system_prompt(
    root: str,
    mode: ChatMode,
    role: Role | None,
    instructions: Sequence[tuple[str, str]],
    checks: Sequence[str],
) -> str:
    """The system prompt of a task.

    instructions: (source, content) of the workspace's instruction files.
    checks: a line for each check the project declares.
    """
    parts = [_COMMON.format(root=root), _ROLES[role] if role is not None else _MODES[mode]]
    if checks and (role in (None, "implementation", "testing")) and mode in ("agent", "team"):
        parts.append("Checks this project declares (run_check):\n" + "\n".join(checks))
    parts += [
        f"Instructions of this repository, from {source}:\n{content}"
        for source, content in instructions
    ]
    return "\n\n".join(parts)


def editor_text(editor: EditorContext) -> str:
    """The editor's state as the model reads it; empty when there is none."""
    lines = []
    if isinstance(editor.active_file, str):
        lines.append(f"Active file: {editor.active_file}")
    if editor.open_files:
        lines.append("Open files: " + ", ".join(editor.open_files[:MAX_OPEN_FILES]))
    lines += [
        f"Problem: {problem.path}:{problem.line} {problem.severity}: {problem.message}"
        for problem in editor.diagnostics[:MAX_DIAGNOSTICS]
    ]
    selection = editor.selection
    if isinstance(selection, Selection) and selection.text:
        lines.append(
            f"Selected in {selection.path}, lines {selection.start_line} to"
            f" {selection.end_line}:\n{selection.text[:MAX_SELECTION_CHARS]}"
        )
    return "Editor state:\n" + "\n".join(lines) if lines else ""
