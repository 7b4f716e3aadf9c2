"""Makes a history fit the model's window, in stages that stop as soon as it does.

1. prune: old tool results that later ones replaced, repeated or that are long
2. fold: the middle of the history becomes one summary of progress
3. drop: the repository excerpts of the first request
4. cut: the largest tool results among the last messages

Invariants: a tool call and its result are never separated, the first message keeps its role and its
prompt, roles alternate as before, and compressing a history that fits changes nothing.
Source: protocol v1, "Context compression"; stage 4: `docs/protocol.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from taskx.engines.agent.estimate import Estimator
from taskx.protocol.chat import Message, TextPart, ToolResultPart, ToolSpec, ToolUsePart

KEEP_LAST = 6
LONG_CHARS, HEAD_CHARS, TAIL_CHARS = 2000, 1200, 400
DROP_SHARE = 0.9
CUT_TO_CHARS = 800
MARK = "[context compressed]"
EXCERPTS_HEAD = "Repository excerpts that may help:\n"

READERS = frozenset({"read_file"})
WRITERS = frozenset({"write_file", "replace_text", "delete_path", "move_path"})
MAX_FOLDED_CALLS, MAX_NOTES, MAX_ERRORS, MAX_LINE = 40, 12, 5, 200


@dataclass(slots=True)
class Compressed:
    """The history that fits (or the smallest there is), and what was done to get there."""

    messages: list[Message]
    folded: int = 0
    pruned: int = 0
    dropped_retrieval: bool = False
    before_tokens: int = 0
    after_tokens: int = 0
    fits: bool = True

    @property
    def changed(self) -> bool:
        return bool(self.folded or self.pruned or self.dropped_retrieval)


def compress(
    messages: Sequence[Message],
    system: str,
    tools: Sequence[ToolSpec],
    estimator: Estimator,
    window_tokens: int,
    share: float,
) -> Compressed:
    """The history with as little lost as it takes to stay under `share` of the window."""
    limit = window_tokens * share

    def size(history: Sequence[Message]) -> int:
        return estimator.calibrated(estimator.raw(system, tools, history))

    result = Compressed(list(messages))
    result.before_tokens = result.after_tokens = size(messages)
    if result.after_tokens <= limit:
        return result
    result.messages, result.pruned = prune(result.messages)
    result.after_tokens = size(result.messages)
    if result.after_tokens > limit:
        shorter, folded = fold(result.messages)
        # A summary of a few short messages can be longer than they are.
        if folded and size(shorter) < result.after_tokens:
            result.messages, result.folded = shorter, folded
            result.after_tokens = size(shorter)
    if result.after_tokens > max(limit, window_tokens * DROP_SHARE):
        result.messages, result.dropped_retrieval = drop_excerpts(result.messages)
        result.after_tokens = size(result.messages)
    while result.after_tokens > window_tokens * DROP_SHARE:
        cut = cut_largest(result.messages)
        if cut is None:
            break
        result.messages = cut
        result.pruned += 1
        result.after_tokens = size(result.messages)
    result.fits = result.after_tokens <= window_tokens
    return result


# Stage 1


def prune(messages: Sequence[Message]) -> tuple[list[Message], int]:
    """Old tool results as stubs or with their middle left out; errors stay whole."""
    uses = {part.id: part for message in messages for part in tool_uses(message)}
    boundary = len(messages) - KEEP_LAST
    seen_paths: set[str] = set()
    seen_contents: set[tuple[str, str]] = set()
    pruned = 0
    newest_first: list[Message] = []
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        parts = list(message.content)
        for place in range(len(parts) - 1, -1, -1):
            part = parts[place]
            if not isinstance(part, ToolResultPart):
                continue
            use = uses.get(part.tool_use_id)
            if index < boundary and not part.is_error:
                shorter = pruned_content(part, use, seen_paths, seen_contents)
                if shorter is not None:
                    parts[place] = with_content(part, shorter)
                    pruned += 1
            if not part.is_error:
                seen_contents.add((part.tool_name, part.content))
                if use is not None and use.name in READERS | WRITERS:
                    seen_paths.update(touched_paths(use))
        unchanged = all(new is old for new, old in zip(parts, message.content, strict=True))
        newest_first.append(message if unchanged else Message(role=message.role, content=parts))
    return newest_first[::-1], pruned


def pruned_content(
    part: ToolResultPart,
    use: ToolUsePart | None,
    seen_paths: set[str],
    seen_contents: set[tuple[str, str]],
) -> str | None:
    """What an old result shrinks to, or None when it stays as it is."""
    if part.content.startswith(MARK):
        return None
    if use is not None and use.name in READERS and len(part.content) > MAX_LINE:
        paths = touched_paths(use)
        if paths and paths <= seen_paths and covers_whole_file(use):
            return f"{MARK} {next(iter(paths))} was read or changed again later."
    if len(part.content) > MAX_LINE and (part.tool_name, part.content) in seen_contents:
        return f"{MARK} The same result came again later."
    if len(part.content) > LONG_CHARS:
        left_out = len(part.content) - HEAD_CHARS - TAIL_CHARS
        return (
            f"{MARK} {left_out} characters in the middle are left out.\n"
            f"{part.content[:HEAD_CHARS]}\n[…]\n{part.content[-TAIL_CHARS:]}"
        )
    return None


def covers_whole_file(use: ToolUsePart) -> bool:
    """A later read replaces an earlier one of the same file, ranges included."""
    return isinstance(use.input.get("path"), str)


def touched_paths(use: ToolUsePart) -> set[str]:
    return {value for key in ("path", "from", "to") if isinstance(value := use.input.get(key), str)}


def with_content(part: ToolResultPart, content: str) -> ToolResultPart:
    return msgspec.structs.replace(part, content=content)


def tool_uses(message: Message) -> Iterator[ToolUsePart]:
    return (part for part in message.content if isinstance(part, ToolUsePart))


# Stage 2


def fold(messages: Sequence[Message]) -> tuple[list[Message], int]:
    """Everything between the first message and a tail of at least the last six, as a summary.

    The tail begins with an assistant message, so that its calls keep their results and the roles
    alternate; the summary joins the first message.
    """
    start = tail_start(messages)
    if start <= 2:
        return list(messages), 0
    first = messages[0]
    kept = [
        part
        for part in first.content
        if not (isinstance(part, TextPart) and part.text.startswith(MARK))
    ]
    earlier = [
        part.text
        for part in first.content
        if isinstance(part, TextPart) and part.text.startswith(MARK)
    ]
    summary = progress_summary(messages[1:start], earlier)
    joined = Message(role="user", content=[*kept, TextPart(text=summary)])
    return [joined, *messages[start:]], start - 1


def tail_start(messages: Sequence[Message]) -> int:
    """Index of the assistant message the kept tail begins with; 0 when there is none."""
    for index in range(len(messages) - KEEP_LAST, 0, -1):
        if messages[index].role == "assistant":
            return index
    return 0


def progress_summary(messages: Sequence[Message], earlier: Sequence[str]) -> str:
    """What the folded messages did: calls, changed files, notes and the last errors."""
    calls: dict[str, int] = {}
    changed: dict[str, None] = {}
    notes: list[str] = []
    errors: list[str] = []
    for message in messages:
        for part in message.content:
            match part:
                case ToolUsePart():
                    call = describe_call(part)
                    calls[call] = calls.get(call, 0) + 1
                    if part.name in WRITERS:
                        changed.update(dict.fromkeys(sorted(touched_paths(part))))
                case ToolResultPart(is_error=True):
                    errors.append(one_line(f"{part.tool_name}: {part.content}"))
                case TextPart() if part.text.strip():
                    who = "said" if message.role == "assistant" else "user"
                    notes.append(one_line(f"{who}: {part.text}"))
    lines = [f"{MARK} Earlier steps of this task, in short."]
    lines += [one_line(line, 4 * MAX_LINE) for text in earlier for line in text.splitlines()[1:]]
    lines += ["Tool calls:"] + [
        f"- {call}" + (f" ({times} times)" if times > 1 else "")
        for call, times in list(calls.items())[-MAX_FOLDED_CALLS:]
    ]
    if changed:
        lines += ["Files changed: " + ", ".join(changed)]
    if notes:
        lines += ["Notes:"] + [f"- {note}" for note in notes[-MAX_NOTES:]]
    if errors:
        lines += ["Recent errors:"] + [f"- {error}" for error in errors[-MAX_ERRORS:]]
    return bounded("\n".join(lines))


MAX_SUMMARY_CHARS = 8000


def bounded(text: str) -> str:
    """Summaries of summaries stay small: the head line and the newest lines."""
    if len(text) <= MAX_SUMMARY_CHARS:
        return text
    head, _, rest = text.partition("\n")
    return f"{head}\n{rest[-(MAX_SUMMARY_CHARS - len(head) - 1) :].partition(chr(10))[2]}"


def describe_call(use: ToolUsePart) -> str:
    for key in ("path", "command", "pattern", "query", "name", "objective", "from"):
        value = use.input.get(key)
        if isinstance(value, str):
            return one_line(f"{use.name} {value}", 120)
    return use.name


def one_line(text: str, limit: int = MAX_LINE) -> str:
    flat = " ".join(text[: 4 * limit].split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


# Stages 3 and 4


def drop_excerpts(messages: Sequence[Message]) -> tuple[list[Message], bool]:
    """Without the repository excerpts of the first request."""
    first = messages[0]
    kept = [
        part
        for part in first.content
        if not (isinstance(part, TextPart) and part.text.startswith(EXCERPTS_HEAD))
    ]
    if len(kept) == len(first.content) or not kept:
        return list(messages), False
    return [Message(role=first.role, content=kept), *messages[1:]], True


def cut_largest(messages: Sequence[Message]) -> list[Message] | None:
    """The history with its largest tool result cut; None when none is left to cut."""
    best = CUT_TO_CHARS + LONG_CHARS // 4
    place = None
    for index, message in enumerate(messages):
        for position, part in enumerate(message.content):
            if isinstance(part, ToolResultPart) and len(part.content) > best:
                best, place = len(part.content), (index, position, part)
    if place is None:
        return None
    index, position, part = place
    half = CUT_TO_CHARS // 2
    text = (
        f"{MARK} {len(part.content) - CUT_TO_CHARS} characters are left out to fit the window.\n"
        f"{part.content[:half]}\n[…]\n{part.content[-half:]}"
    )
    parts = list(messages[index].content)
    parts[position] = with_content(part, text)
    changed = Message(role=messages[index].role, content=parts)
    return [*messages[:index], changed, *messages[index + 1 :]]
