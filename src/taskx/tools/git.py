"""git_status, git_diff, git_log: the repository, read without running anything of its settings.

No hooks, pagers, external diffs, text conversions, filters, file system monitors or signature
programs: each is a command that a repository's settings can name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from taskx.edits.paths import resolve
from taskx.errors import ToolError
from taskx.process import command
from taskx.process.output import Capture
from taskx.protocol.base import Wire
from taskx.tools.context import Call, ToolContext, ToolResult, whole_in
from taskx.tools.registry import Tool

TIMEOUT_S = 30
_SAFE = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.askPass": "true",
    "core.sshCommand": "false",
    "core.alternateRefsCommand": "true",
    "diff.external": "",
    "log.showSignature": "false",
    "interactive.diffFilter": "",
    "submodule.recurse": "false",
    "status.submoduleSummary": "false",
    "diff.ignoreSubmodules": "dirty",
    "color.ui": "false",
    "protocol.allow": "never",
}
_NO_PROGRAMS = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty")


async def git(
    context: ToolContext, call: Call, *args: str, allowed: Sequence[int] = (0,)
) -> tuple[str, Capture]:
    """Output of a git command. Raises ToolError."""
    capture = Capture(call.spill_path(context))
    settings = dict(_SAFE)
    for name in await _filters(context):
        settings[name] = "false" if name.endswith(".required") else ""
    pairs = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    argv = ["git", "--no-pager", "--no-optional-locks", "--literal-pathspecs", *pairs, *args]
    outcome = await command.run(
        context.launcher,
        argv,
        cwd=context.root,
        env=_environment(context),
        timeout_s=TIMEOUT_S,
        capture=capture,
    )
    if outcome.timed_out:
        raise ToolError("timeout", f"git did not end within {TIMEOUT_S} s")
    if outcome.exit_code not in allowed:
        text = capture.text().strip()
        if "not a git repository" in text:
            raise ToolError("unavailable", "the workspace is not in a git repository")
        raise ToolError("failed", f"git: {text[-2000:]}")
    return capture.text(), capture


def _environment(context: ToolContext) -> dict[str, str]:
    env = context.launcher.environment(
        {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C.UTF-8"}
    )
    unset = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_COUNT")
    return {name: value for name, value in env.items() if name not in unset}


async def _filters(context: ToolContext) -> list[str]:
    """Names of the settings that name filter programs."""
    outcome = await command.run(
        context.launcher,
        ["git", "config", "--name-only", "-z", "--get-regexp", r"^filter\."],
        cwd=context.root,
        env=_environment(context),
        timeout_s=TIMEOUT_S,
    )
    names = outcome.capture.text().split("\0") if outcome.exit_code == 0 else []
    return sorted({name for name in names if name})


def _result(text: str, capture: Capture, empty: str, data: dict[str, Any]) -> ToolResult:
    content = text or empty
    if capture.file is not None:
        content += f"\n{whole_in(capture.file)}"
    return ToolResult(content, {**data, "text": text, "truncated": capture.cut})


def _revision(name: str) -> str:
    if name.startswith("-") or not name.strip() or any(c in name for c in "\0\n"):
        raise ToolError("invalidInput", f"{name!r} is not a revision")
    return name


class GitStatusParams(Wire, frozen=True, kw_only=True):
    pass


async def status(params: GitStatusParams, context: ToolContext, call: Call) -> ToolResult:
    text, capture = await git(
        context, call, "status", "--short", "--branch", "--ignore-submodules=dirty"
    )
    return _result(text, capture, "clean", {})


class GitDiffParams(Wire, frozen=True, kw_only=True):
    revision: Annotated[
        str | None, Meta(description="Compare with this revision, or `a..b`. Default: the index.")
    ] = None
    staged: Annotated[
        bool, Meta(description="Show what is staged, not what is changed since. Default: false.")
    ] = False
    paths: Annotated[list[str] | None, Meta(description="Only these files or folders.")] = None


async def diff(params: GitDiffParams, context: ToolContext, call: Call) -> ToolResult:
    args = ["diff", *_NO_PROGRAMS]
    if params.staged:
        args.append("--cached")
    if params.revision is not None:
        args.append(_revision(params.revision))
    names = [resolve(context.root, path, follow=False).rel for path in params.paths or []]
    text, capture = await git(context, call, *args, "--", *names)
    return _result(text, capture, "no difference", {})


class GitLogParams(Wire, frozen=True, kw_only=True):
    path: Annotated[str | None, Meta(description="Only commits that touch this path.")] = None
    revision: Annotated[str | None, Meta(description="Start here. Default: HEAD.")] = None
    limit: Annotated[int, Meta(description="At most so many commits, 1 to 200. Default: 20.")] = 20
    patch: Annotated[bool, Meta(description="Show each commit's diff too. Default: false.")] = False


async def log(params: GitLogParams, context: ToolContext, call: Call) -> ToolResult:
    if not 1 <= params.limit <= 200:
        raise ToolError("invalidInput", "limit: expected 1 to 200")
    args = ["log", f"--max-count={params.limit}", "--date=iso-strict", "--no-show-signature"]
    args.append("--format=%h %ad %an%n    %s")
    args += [*_NO_PROGRAMS, "--patch" if params.patch else "--no-patch"]
    if params.revision is not None:
        args.append(_revision(params.revision))
    names = [] if params.path is None else [resolve(context.root, params.path, follow=False).rel]
    text, capture = await git(context, call, *args, "--", *names)
    return _result(text, capture, "no commits", {})


TOOLS = (
    Tool(
        name="git_status",
        tool_class="read",
        description="Shows the branch and the changed, staged and untracked files (short form).",
        params=GitStatusParams,
        run=status,
        parallel=True,
    ),
    Tool(
        name="git_diff",
        tool_class="read",
        description="Shows changes in the working tree, or with `staged` those in the index.",
        params=GitDiffParams,
        run=diff,
        parallel=True,
    ),
    Tool(
        name="git_log",
        tool_class="read",
        description="Shows commits, newest first, of the whole repository or of one path.",
        params=GitLogParams,
        run=log,
        parallel=True,
    ),
)
