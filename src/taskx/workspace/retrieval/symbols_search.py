"""Definitions by name as people type it: exact, prefix, subwords, part of a name, with a typo.

The native pass goes over all distinct names and leaves a shortlist; rapidfuzz orders what is only
similar.
"""

from __future__ import annotations

import re

from msgspec import UNSET
from rapidfuzz.distance import OSA

from taskx._native.names import shortlist
from taskx.errors import InvalidParams
from taskx.protocol.context import (
    FoundSymbol,
    OutlineResult,
    OutlineSymbol,
    SymbolsResult,
)
from taskx.workspace.files.languages import LANGUAGES
from taskx.workspace.index.rows import KIND_NAMES, Symbol
from taskx.workspace.index.snapshot import Snapshot

BASE = (1.0, 0.95, 0.85, 0.75, 0.6, 0.0)
"""Score of each class of `shortlist`; within a class shorter names are better."""
LEAST_SIMILAR = 0.6
SHORTLIST = 200
SAME_NAME = 50
"""Definitions of one name that are listed at most."""

QUALIFIER = re.compile(r"^(.+?)(?:\.|::|->|#|\\|/)([^.:>#\\/]+)$")


def search(
    snapshot: Snapshot, query: str, kind: str | None = None, limit: int = 50
) -> SymbolsResult:
    """Symbols for a typed name, best first. `Foo.bar` asks for a bar in a Foo."""
    if kind is not None and kind not in KIND_NAMES[1:]:
        raise InvalidParams(f"kind: no such kind: {kind}")
    query = query.strip()
    qualifier = QUALIFIER.match(query)
    inside, wanted = (qualifier[1], qualifier[2]) if qualifier else ("", query)
    scored = scored_names(snapshot, wanted)
    if inside:
        # A name may hold its qualifier itself, as modules of Elixir do.
        for name, score in scored_names(snapshot, query).items():
            scored[name] = max(score, scored.get(name, 0.0))
    found: list[tuple[float, str, int, FoundSymbol]] = []
    ranked = sorted(scored.items(), key=lambda item: (-item[1], item[0][0]))
    for (_, name_hash), score in ranked:
        if len(found) >= limit * 2:
            break
        for symbol in snapshot.symbols_named(name_hash)[: SAME_NAME * 4]:
            if kind is None or symbol.kind_name == kind:
                row = describe(snapshot, symbol, score, inside)
                found.append((-row.score, row.path, row.start_line, row))
    found.sort(key=lambda item: item[:3])
    return SymbolsResult(symbols=[row for *_, row in found[:limit]])


def scored_names(snapshot: Snapshot, wanted: str) -> dict[tuple[str, int], float]:
    """(name, hash) -> how well it is what was typed."""
    found: dict[tuple[str, int], float] = {}
    for segment in snapshot.segments:
        for row, group, _ in shortlist(segment, wanted.encode(), SHORTLIST):
            name = segment.text(segment.sym_name_off[row], segment.sym_name_len[row])
            score = BASE[group]
            if group == 5:
                score = 0.7 * OSA.normalized_similarity(name.lower(), wanted.lower())
                if score < 0.7 * LEAST_SIMILAR:
                    continue
            elif group > 1:
                score -= 0.1 * (1 - len(wanted) / max(len(name), len(wanted), 1))
            found[(name, segment.sym_name_hash[row])] = score
    return found


def describe(snapshot: Snapshot, symbol: Symbol, score: float, inside: str) -> FoundSymbol:
    segment, index = snapshot.locate(symbol.fid)
    container = ""
    if symbol.parent >= 0:
        container = segment.symbol(symbol.parent, symbol.fid - index).name
    path = snapshot.path(symbol.fid)
    if inside:
        outer = inside.replace("::", ".").rpartition(".")[2].lower()
        stem = path.rpartition("/")[2].partition(".")[0].lower()
        score *= 1.0 if outer in (container.lower(), stem) else 0.6
    # Definitions before what only declares, the public before what hides in functions.
    score -= 0.02 * bool(symbol.flags & 16) + 0.01 * bool(symbol.flags & 4)
    return FoundSymbol(
        name=symbol.name,
        kind=symbol.kind_name,
        path=path,
        start_line=symbol.line,
        end_line=symbol.end_line,
        score=round(max(score, 0.0), 4),
        container=container or UNSET,
    )


def outline(snapshot: Snapshot, path: str) -> OutlineResult:
    """The symbols of a file as a tree. Raises InvalidParams when it is not indexed."""
    relative = snapshot.tree_path(path)
    if relative is None:
        raise InvalidParams(f"path: {path!r} lies outside the workspace")
    fid = snapshot.file_id(relative)
    if fid is None:
        raise InvalidParams(f"path: {path!r} is not an indexed file")
    symbols = snapshot.symbols_of(fid)
    children: dict[int, list[Symbol]] = {}
    rows = {symbol.row for symbol in symbols}
    for symbol in symbols:
        parent = symbol.parent if symbol.parent in rows else -1
        children.setdefault(parent, []).append(symbol)
    return OutlineResult(
        path=snapshot.path(fid),
        language=LANGUAGES[snapshot.language(fid)].name,
        symbols=branches(children, -1, 0),
    )


MAX_DEPTH = 60


def branches(children: dict[int, list[Symbol]], parent: int, depth: int) -> list[OutlineSymbol]:
    if depth > MAX_DEPTH:
        return []
    return [
        OutlineSymbol(
            name=symbol.name,
            kind=symbol.kind_name,
            start_line=symbol.line,
            end_line=symbol.end_line,
            children=branches(children, symbol.row, depth + 1),
        )
        for symbol in children.get(parent, [])
    ]
