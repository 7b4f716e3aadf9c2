"""From scored files to snippets: which pieces, in which order, within the budget."""

from __future__ import annotations

import re
from dataclasses import dataclass

from taskx._native.scoring import Matcher, line_offsets
from taskx.protocol.context import Snippet
from taskx.workspace.retrieval.score import Scored
from taskx.workspace.retrieval.terms import Question

PER_FILE = 4
SECOND = 0.55
"""Share of its file's score that a second piece keeps; a third has it twice. One file does not
fill the list: the best pieces of several files come first."""
LEAST = 0.15
"""Share of the best score under which a snippet is noise."""
SCALE = 10.0
CHARS_PER_TOKEN = 4
FEW_LINES = 3
AROUND = 25
"""Lines before and after a line that the question names."""


@dataclass(slots=True)
class Piece:
    scored: Scored
    first: int
    last: int
    score: float
    row: int
    start: int
    end: int
    """Byte offsets in the file's text."""
    named: bool = False


def choose(
    scored: list[Scored], texts: dict[int, bytes], named: dict[int, int | None]
) -> list[Piece]:
    """Pieces of all files, best first: equal scores by path, then line."""
    pieces: list[Piece] = []
    for found in scored:
        own: list[Piece] = []
        line = named.get(found.fid)
        if line is not None:
            own.append(around(found, texts[found.fid], line))
        best = found.pieces[0][2] if found.pieces else 1.0
        for first, last, score, _, row, start, end in found.pieces:
            if len(own) >= PER_FILE:
                break
            if any(first <= other.last and other.first <= last for other in own):
                continue
            share = SECOND ** len(own) * (score / best if own else 1.0)
            own.append(Piece(found, first, last, found.score * share, row, start, end))
        if not own and (found.focus or found.by_path) and texts[found.fid]:
            offsets = line_offsets(texts[found.fid])
            last = min(len(offsets) - 1, 60)
            own.append(Piece(found, 1, last, found.score, -1, 0, offsets[last]))
        pieces.extend(own)
    pieces.sort(key=lambda piece: (-piece.score, piece.scored.path, piece.first))
    return pieces


def around(found: Scored, text: bytes, line: int) -> Piece:
    """The piece that holds a line of the question, else the lines about it."""
    offsets = line_offsets(text)
    n_lines = max(len(offsets) - 1, 1)
    line = max(1, min(line, n_lines))
    for first, last, _, _, row, start, end in found.pieces:
        if first <= line <= last:
            return Piece(found, first, last, found.score, row, start, end, True)
    first, last = max(1, line - AROUND), min(n_lines, line + AROUND)
    return Piece(found, first, last, found.score, -1, offsets[first - 1], offsets[last], True)


def fill(
    question: Question,
    matcher: Matcher,
    pieces: list[Piece],
    texts: dict[int, bytes],
    budget_tokens: int,
) -> tuple[list[Snippet], int]:
    """Takes pieces while the budget lasts; one that does not fit is cut at a line or left out."""
    left = budget_tokens * CHARS_PER_TOKEN
    found: list[Snippet] = []
    chars = 0
    floor = pieces[0].score * LEAST if pieces else 0.0
    for piece in pieces:
        if left < CHARS_PER_TOKEN or piece.score <= 0:
            break
        if piece.score < floor and not piece.scored.focus:
            continue
        cut = cut_text(texts[piece.scored.fid][piece.start : piece.end], piece.first, left)
        if cut is None:
            continue
        text, last = cut
        reason = explain(question, matcher, piece, text, last)
        found.append(
            Snippet(
                path=piece.scored.path,
                start_line=piece.first,
                end_line=last,
                text=text,
                score=round(piece.score * SCALE, 3),
                reason=reason,
            )
        )
        left -= len(text)
        chars += len(text)
    return found, -(-chars // CHARS_PER_TOKEN)


def cut_text(data: bytes, first: int, room: int) -> tuple[str, int] | None:
    """The lines of `data` that have room, without the last one's end, and the last one's number.

    first: number of its first line. None when not even a few lines fit, or all are blank.
    """
    text = data.decode("utf-8", "replace")
    if len(text) > room:
        end = text.rfind("\n", 0, room + 1)
        text = text[: end + 1] if end >= 0 else ""
        if text.count("\n") < FEW_LINES:
            return None
    text = text.removesuffix("\n")
    while True:
        head, line_end, tail = text.rpartition("\n")
        if tail.strip():
            break
        if not line_end:
            return None
        text = head
    return text.removesuffix("\r"), first + text.count("\n")


def explain(question: Question, matcher: Matcher, piece: Piece, text: str, last: int) -> str:
    """Why this snippet: short, and true of what the snippet shows."""
    if piece.row >= 0:
        symbol = piece.scored.segment.symbol(piece.row, 0)
        if piece.first <= symbol.line <= last:
            return f"defines {words_of_kind(symbol.kind_name)} `{symbol.name}`"
    for name in question.defined:
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            return f"uses `{name}`"
    if piece.named:
        return "matches path"
    hits = matcher.present(text.encode()).bit_count()
    if piece.scored.by_path and hits < 2:
        return "matches path"
    if hits:
        return f"matches text: {hits} term{'' if hits == 1 else 's'}"
    return "in focus" if piece.scored.focus else "matches path"


def words_of_kind(kind: str) -> str:
    """`typeParameter` -> `type parameter`."""
    return "".join(f" {c.lower()}" if c.isupper() else c for c in kind)
