"""Files that might answer: by full text, by the definition of a queried name, by path, by focus."""

from __future__ import annotations

from taskx._native.terms import text_terms
from taskx.workspace.index.segment import Segment
from taskx.workspace.index.snapshot import Snapshot, hash_term
from taskx.workspace.index.tables import find_path
from taskx.workspace.retrieval.terms import Place, Question

FROM_TEXT = 50
FROM_NAME = 12
FROM_PLACE = 20
FROM_FOCUS = 40


def find(
    snapshot: Snapshot, question: Question, focus: list[str]
) -> tuple[dict[int, float], dict[int, int | None], set[int]]:
    """Candidates with their full-text score from 0 to 1; files named by the question with the line
    it gives; files in focus."""
    found: dict[int, float] = {}
    weighted = [(term, question.shares[concept] * share) for term, concept, share in question.terms]
    hits = snapshot.search(weighted, FROM_TEXT) if weighted else []
    best = hits[0][1] if hits else 1.0
    for fid, score in hits:
        found[fid] = score / best
    for fid in defining(snapshot, question):
        found.setdefault(fid, 0.0)
    named: dict[int, int | None] = {}
    for place in question.places:
        for fid in at_place(snapshot, place):
            found.setdefault(fid, 0.0)
            named.setdefault(fid, place.line)
    focused = in_focus(snapshot, focus)
    for fid in focused:
        found.setdefault(fid, 0.0)
    return found, named, set(focused)


def defining(snapshot: Snapshot, question: Question) -> list[int]:
    """Files that define a name of the question, the surest names first."""
    sure = [name for name, sureness, _ in question.names if sureness > 0.5]
    if not sure:
        return []
    found: dict[int, None] = {}
    for name in sure:
        for symbol in snapshot.symbols_named(hash_term(name))[: FROM_NAME * 4]:
            found.setdefault(symbol.fid)
            if len(found) >= FROM_NAME * 4:
                return list(found)
    return list(found)


def at_place(snapshot: Snapshot, place: Place) -> list[int]:
    """Files whose path ends in a queried one; an absolute or partly foreign path may match less."""
    parts = place.path.split("/")
    for start in range(len(parts)):
        exact = snapshot.file_id("/".join(parts[start:]))
        if exact is not None:
            return [exact]
    terms = [(term, 1.0) for term in dict.fromkeys(text_terms(parts[-1].encode()))]
    name = "/" + parts[-1]
    found = []
    for fid, _ in snapshot.search(terms, FROM_PLACE * 4, 20.0):
        path = snapshot.path(fid)
        if ("/" + path).endswith(name):
            shared = 0
            for a, b in zip(reversed(parts), reversed(path.split("/")), strict=False):
                if a != b:
                    break
                shared += 1
            found.append((-shared, fid))
    found.sort()
    return [fid for shared, fid in found if shared == found[0][0]][:FROM_PLACE]


def first_at(segment: Segment, prefix: bytes) -> int:
    """Index of the first file at or after a path in byte order."""
    return int(find_path(segment.path_blob, segment.path_off, prefix))


def in_focus(snapshot: Snapshot, focus: list[str]) -> list[int]:
    """Files of the focus: each path a file, or a folder of which the first files count."""
    found: list[int] = []
    for path in focus:
        relative = snapshot.tree_path(path.replace("\\", "/"))
        if relative is None:
            continue
        fid = snapshot.file_id(relative)
        if fid is not None:
            found.append(fid)
            continue
        prefix = (
            b"" if relative in ("", ".") else relative.encode("utf-8", "surrogateescape") + b"/"
        )
        for base, segment in zip(snapshot.bases, snapshot.segments, strict=True):
            start = first_at(segment, prefix)
            for index in range(start, min(start + FROM_FOCUS, segment.n_files)):
                if not segment.path(index).startswith(prefix):
                    break
                if snapshot.is_live(base + index):
                    found.append(base + index)
    return found[: FROM_FOCUS * 5]
