"""From scored files to snippets: which pieces, in which order, within the budget."""

from __future__ import annotations

import re
from dataclasses import dataclass

from taskx._native.scoring import Matcher, line_offsets
from taskx.protocol.context import Snippet
from taskx.workspace.index.snapshot import Snapshot
from taskx.workspace.retrieval.score import Scored
from taskx.workspace.retrieval.terms import Question

PER_FILE = 5
SECOND = 0.55
"""Share of its file's score that a second piece keeps; a third has it twice. One file does not
fill the list: the best pieces of several files come first."""
LEAST = 0.12
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
    bits: int
    row: int
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
        for first, last, score, bits, row in found.pieces:
            if len(own) >= PER_FILE:
                break
            if any(first <= other.last and other.first <= last for other in own):
                continue
            share = SECOND ** len(own) * (score / best if own else 1.0)
            own.append(Piece(found, first, last, found.score * share, bits, row))
        if not own and (found.focus or found.by_path) and texts[found.fid]:
            last = min(len(line_offsets(texts[found.fid])) - 1, 60)
            own.append(Piece(found, 1, last, found.score, 0, -1))
        pieces.extend(own)
    pieces.sort(key=lambda piece: (-piece.score, piece.scored.path, piece.first))
    return pieces


def around(found: Scored, text: bytes, line: int) -> Piece:
    """The piece that holds a line of the question, else the lines about it."""
    n_lines = max(len(line_offsets(text)) - 1, 1)
    line = max(1, min(line, n_lines))
    for first, last, _, bits, row in found.pieces:
        if first <= line <= last:
            return Piece(found, first, last, found.score, bits, row, True)
    first, last = max(1, line - AROUND), min(n_lines, line + AROUND)
    return Piece(found, first, last, found.score, 0, -1, True)


def fill(
    snapshot: Snapshot,
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
    offsets: dict[int, list[int]] = {}
    floor = pieces[0].score * LEAST if pieces else 0.0
    for piece in pieces:
        if left < CHARS_PER_TOKEN or piece.score <= 0:
            break
        if piece.score < floor and not piece.scored.focus:
            continue
        fid = piece.scored.fid
        if fid not in offsets:
            offsets[fid] = list(line_offsets(texts[fid]))
        cut = cut_text(texts[fid], offsets[fid], piece.first, piece.last, left)
        if cut is None:
            continue
        text, last = cut
        reason = explain(snapshot, question, matcher, piece, text, last)
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


def cut_text(
    text: bytes, offsets: list[int], first: int, last: int, room: int
) -> tuple[str, int] | None:
    """Lines first to last, or as many as have room, without the last line's end.

    None when not even a few fit. Blank lines at the end are left out.
    """
    wanted = last
    while True:
        body = text[offsets[first - 1] : offsets[last]].decode("utf-8", "replace")
        body = body.removesuffix("\n").removesuffix("\r")
        if len(body) <= room:
            break
        share = room / len(body)
        last = min(last - 1, first - 1 + int((last - first + 1) * share))
        if last < first:
            return None
    if last < wanted and last - first + 1 < FEW_LINES:
        return None
    while last > first and (not body or body.endswith("\n")):
        last -= 1
        body = text[offsets[first - 1] : offsets[last]].decode("utf-8", "replace")
        body = body.removesuffix("\n").removesuffix("\r")
    return (body, last) if body.strip() else None


def explain(
    snapshot: Snapshot, question: Question, matcher: Matcher, piece: Piece, text: str, last: int
) -> str:
    """Why this snippet: short, and true of what the snippet shows."""
    if piece.row >= 0:
        segment, index = snapshot.locate(piece.scored.fid)
        symbol = segment.symbol(piece.row, piece.scored.fid - index)
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
