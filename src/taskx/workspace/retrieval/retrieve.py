"""`context/retrieve`: question in, snippets out. Runs in a worker thread on one snapshot."""

from __future__ import annotations

from collections.abc import Callable

from taskx.protocol.context import Retrieval, RetrieveResult
from taskx.protocol.project import Instruction
from taskx.workspace.index.snapshot import Snapshot
from taskx.workspace.retrieval import candidates, files, snippets, terms
from taskx.workspace.retrieval.score import Scored, Scorer

READ = 20
READ_FOR_NAME = 12
READ_ALWAYS = 10
"""Files whose text is read: what the index alone tells puts the right one among them. Past the
first ten, only while a text could still lift a file among the ten best."""
GAIN = 0.9
"""What a text usually adds at most."""
CONSIDERED = 40
"""Candidates that are looked at closely."""
PIECES = 6
FOCUS_LIFT = 1.6
NAMED_LIFT = 3.0
"""Of a file whose path the question names."""


class Cancelled(Exception):
    """The caller no longer wants the answer."""


def retrieve(
    snapshot: Snapshot,
    query: str,
    budget_tokens: int,
    focus_paths: list[str],
    cancelled: Callable[[], bool] = lambda: False,
    instructions: Callable[[list[str]], list[Instruction]] = lambda paths: [],
) -> RetrieveResult:
    """The best snippets for a question.

    cancelled: asked between the stages; when true the call ends with Cancelled.
    instructions: those that govern the given paths (relative to the root).
    The same snapshot, files and question give the same result.
    """
    question = terms.ask(snapshot, query)
    found, named, focus = candidates.find(snapshot, question, focus_paths)
    if cancelled():
        raise Cancelled
    scorer = Scorer(snapshot, question)
    considered = rank(scorer, found, named, focus)
    if cancelled():
        raise Cancelled
    texts: dict[int, bytes] = {}
    read: list[Scored] = []
    scores: list[float] = []
    for scored in considered[: READ_FOR_NAME if question.single else READ]:
        if len(scores) >= READ_ALWAYS and scored.early + GAIN * scored.lift < scores[9]:
            break
        content = files.read(snapshot, scored.fid)
        if content is None:
            continue
        texts[scored.fid], fresh = content
        scorer.late(scored, texts[scored.fid], fresh, PIECES)
        lift(scored, named)
        read.append(scored)
        scores.append(scored.score)
        scores.sort(reverse=True)
    if cancelled():
        raise Cancelled
    read.sort(key=lambda scored: (-scored.score, scored.path))
    pieces = snippets.choose(read, texts, named)
    chosen, used = snippets.fill(question, scorer.matcher, pieces, texts, budget_tokens)
    paths = dict.fromkeys(snippet.path for snippet in chosen)
    paths.update(dict.fromkeys(focus_paths))
    return RetrieveResult(
        retrieval=Retrieval(
            terms=question.words,
            snippets=chosen,
            files_considered=len(found),
            budget_tokens=budget_tokens,
            used_tokens=used,
        ),
        instructions=instructions(sorted(paths)),
    )


def rank(
    scorer: Scorer,
    found: dict[int, float],
    named: dict[int, int | None],
    focus: set[int],
) -> list[Scored]:
    """Candidates by what the index tells of them, best first; those the question names lead."""
    wanted = {fid: found[fid] for fid in (*named, *sorted(focus))}
    others = {fid: score for fid, score in found.items() if fid not in wanted}
    considered = scorer.early(others, CONSIDERED)
    if wanted:
        considered += scorer.early(wanted, len(wanted))
        for scored in considered:
            if scored.fid in focus:
                scored.focus = True
                scored.lift *= FOCUS_LIFT
                scored.early = scored.early * FOCUS_LIFT + 0.2
            if scored.fid in named:
                scored.early += 10.0
        considered.sort(key=lambda scored: (-scored.early, scored.path))
    return considered


def lift(scored: Scored, named: dict[int, int | None]) -> None:
    """Files that the question names, and those in focus, come even where few words match."""
    if scored.focus:
        scored.score += 0.1
    if scored.fid in named:
        scored.score += NAMED_LIFT + (1.0 if named[scored.fid] is not None else 0.0)
