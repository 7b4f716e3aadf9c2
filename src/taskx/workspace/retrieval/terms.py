"""A question as concepts, names and places.

A concept is one thing that is asked for: a term with the terms that may stand for it. Words before
the first preposition name the thing and count more than what qualifies it; words that stand in
nearly every file weigh little by their frequency. A name is a word that may be a definition's. A
place is a path, maybe with a line, as in a stack trace.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from itertools import pairwise

from taskx._native import terms
from taskx.workspace.index import tables
from taskx.workspace.index.snapshot import Snapshot, hash_term
from taskx.workspace.retrieval import symbols_search, vocabulary
from taskx.workspace.retrieval.vocabulary import FAINT, GERMAN_MARKS, PREPOSITIONS, SILENT

# Shares of a concept's weight. Found on the development repositories; all are flat around here.
WHOLE = 1.4
"""A name of several parts, as a whole."""
PART = 0.8
FAINT_SHARE = 0.25
TAIL = 0.5
"""What follows the first preposition."""
PAIR = 0.7
"""Two neighbouring words that the tree writes as one."""
SYNONYM = 0.35
OWN_NAME = 0.3
"""A word of the repository's own name."""

MAX_WORDS = 60
MAX_CONCEPTS = 40
MAX_TYPOS = 3
TYPO_LENGTH = 5
TYPO_SCORE = 0.55
"""Of `symbols_search`: about a letter in five wrong."""

PLACE = re.compile(
    r"""(?P<path>[^\s"'`<>()\[\]{},;:|*?]*[^\s"'`<>()\[\]{},;:|*?./\\]\.[A-Za-z0-9_+]{1,10})"""
    r"""(?:["']?,\s*line\s+|:|\(|\#L|\s+line\s+)?(?P<line>\d{1,7})?"""
)
QUALIFIED = re.compile(r"[A-Za-z_][\w$]*(?:(?:\.|::|->|\#|\\)[A-Za-z_][\w$]*)+")


@dataclass(frozen=True, slots=True)
class Place:
    path: str
    line: int | None


@dataclass(frozen=True, slots=True)
class Question:
    """terms: (term, concept, share). weights: per concept its weight in texts, and in names.
    words: what the question asks for, as terms for the reader. names: (name, sureness, letters).
    """

    text: str
    single: bool
    terms: list[tuple[bytes, int, float]]
    weights: list[tuple[float, float]]
    shares: list[float]
    words: list[str]
    names: list[tuple[bytes, float, bytes]]
    places: list[Place]
    defined: list[str]
    """Names that the tree defines."""


@dataclass(slots=True)
class Concept:
    term: bytes
    share: float
    others: dict[bytes, float] = field(default_factory=dict)


def text_df(snapshot: Snapshot, term: bytes) -> int:
    return snapshot.doc_freq(term)


def head_df(snapshot: Snapshot, term: bytes) -> int:
    """Files with the term in their path or symbol names."""
    term_hash = hash_term(term)
    return sum(
        tables.doc_freq(s.head_hash, s.head_off, s.head_posts, term_hash) for s in snapshot.segments
    )


def places(text: str) -> list[Place]:
    """Paths with an extension, as compilers, stack traces and people write them."""
    found = []
    for match in PLACE.finditer(text):
        path = match["path"].replace("\\", "/").lstrip("./")
        line = int(match["line"]) if match["line"] else None
        if not path.rpartition(".")[2].isdigit():
            found.append(Place(path, line))
    return found[:20]


MAX_QUESTION_CHARS = 20_000
MAX_RUN_CHARS = 300
LONG_RUN = re.compile(rf"\S{{{MAX_RUN_CHARS + 1},}}")


def bounded(text: str) -> str:
    """The question without what no name is: a run of more characters than a path has.

    The expressions that look for places and names take time with the square of a run's length.
    """
    return LONG_RUN.sub(lambda run: run[0][:MAX_RUN_CHARS], text[:MAX_QUESTION_CHARS])


def ask(snapshot: Snapshot, text: str) -> Question:
    """Reads a question against the words of a tree."""
    text = bounded(text)
    raw = text.encode("utf-8", "replace")
    words = terms.words(raw)[:MAX_WORDS]
    single = len(words) == 1
    own = own_words(snapshot)
    concepts: dict[bytes, Concept] = {}
    names: dict[bytes, float] = {}
    for word in words:
        add_word(word, single, own, concepts, names)
    for english in translated(words):
        add_word(english, False, own, concepts, {})
    for qualified in QUALIFIED.findall(text):
        names[qualified.encode()] = 1.0
    correct(snapshot, concepts, names)
    if not single:
        lower_tail(words, concepts)
        add_pairs(snapshot, words, concepts)
        add_synonyms(snapshot, concepts)
    return settle(snapshot, text, single, concepts, names)


def own_words(snapshot: Snapshot) -> set[bytes]:
    name = snapshot.root.rstrip(b"/").rpartition(b"/")[2]
    return set(terms.text_terms(name))


def add_word(
    word: bytes,
    single: bool,
    own: set[bytes],
    concepts: dict[bytes, Concept],
    names: dict[bytes, float],
) -> None:
    found = terms.word_terms(word)
    if not found:
        return
    lower = word.lower()
    named = len(found) > 1 or single or (word[:1].isupper() and lower not in SILENT)
    if named or (len(word) > 3 and lower not in SILENT and lower not in FAINT):
        names.setdefault(word, 1.0 if named else 0.2)
    if len(found) == 1 or not word.isascii():
        folded = found[0] if word.isascii() else b""
        if not single and (lower in SILENT or folded in SILENT):
            return
        share = FAINT_SHARE if lower in FAINT and not single else 1.0
        for term in found:
            if term in own and not single:
                share *= OWN_NAME
            concepts.setdefault(term, Concept(term, share))
        return
    concepts.setdefault(found[-1], Concept(found[-1], WHOLE))
    for term in found[:-1]:
        concepts.setdefault(term, Concept(term, PART * (OWN_NAME if term in own else 1.0)))


def translated(words: list[bytes]) -> list[bytes]:
    """English programming words for those of a Chinese or German question."""
    german = any(word.lower() in GERMAN_MARKS for word in words)
    found: list[bytes] = []
    for word in words:
        if not word.isascii():
            text = word.decode("utf-8", "replace")
            found.extend(vocabulary.from_chinese(text) or vocabulary.from_german(text))
        elif german and word.isalpha() and word.lower() not in SILENT:
            found.extend(vocabulary.from_german(word.decode()))
    return found


def correct(snapshot: Snapshot, concepts: dict[bytes, Concept], names: dict[bytes, float]) -> None:
    """Adds the name that is meant for each that stands nowhere and is very like one that does."""
    unknown = [
        name
        for name, sure in names.items()
        if sure > 0.5
        and len(name) >= TYPO_LENGTH
        and name.isascii()
        and not is_defined(snapshot, name)
        and not any(text_df(snapshot, term) for term in terms.word_terms(name)[-1:])
    ]
    for name in unknown[:MAX_TYPOS]:
        typed = name.decode()
        likely = [
            (score, meant)
            for (meant, _), score in symbols_search.scored_names(snapshot, typed).items()
            if score >= TYPO_SCORE
        ]
        if likely:
            meant = min(likely, key=lambda pair: (-pair[0], pair[1]))[1].encode()
            names.setdefault(meant, 1.0)
            for term in terms.word_terms(meant):
                concepts.setdefault(term, Concept(term, 1.0))


def lower_tail(words: list[bytes], concepts: dict[bytes, Concept]) -> None:
    """The phrase before the first preposition names the thing; what follows qualifies it."""
    for at, word in enumerate(words):
        if at and word.lower() in PREPOSITIONS:
            front = words[:at]
            if all(other.lower() in SILENT for other in front):
                continue
            kept = {term for other in front for term in terms.word_terms(other)}
            for term, concept in concepts.items():
                if term not in kept:
                    concept.share *= TAIL
            return


def add_pairs(snapshot: Snapshot, words: list[bytes], concepts: dict[bytes, Concept]) -> None:
    lower = [word.lower() for word in words]
    for first, second in pairwise(lower):
        if first in SILENT or second in SILENT or len(first) < 2 or len(second) < 2:
            continue
        joined = first + second
        if not joined.isalnum():
            continue
        for term in (joined, terms.stem(joined)):
            if term not in concepts and text_df(snapshot, term):
                concepts[term] = Concept(term, PAIR)
                break


def add_synonyms(snapshot: Snapshot, concepts: dict[bytes, Concept]) -> None:
    table = vocabulary.synonyms()
    for term, concept in concepts.items():
        for other in table.get(term, ()):
            if other not in concepts and text_df(snapshot, other):
                concept.others[other] = SYNONYM


def settle(
    snapshot: Snapshot,
    text: str,
    single: bool,
    concepts: dict[bytes, Concept],
    names: dict[bytes, float],
) -> Question:
    """Weighs concepts by how rare they are here; leaves out what stands nowhere."""
    total = max(snapshot.n_files, 1)
    found: list[tuple[bytes, int, float]] = []
    weights: list[tuple[float, float]] = []
    shares: list[float] = []
    words: list[str] = []
    for concept in list(concepts.values())[:MAX_CONCEPTS]:
        known = text_df(snapshot, concept.term)
        rarity = inverse(known, total) if known else 0.0
        if not known:
            rarity = max(
                (inverse(text_df(snapshot, o), total) * s for o, s in concept.others.items()),
                default=0.0,
            )
        in_names = head_df(snapshot, concept.term)
        if not rarity and not in_names:
            continue
        rare_name = math.log1p(total / (1 + in_names)) / math.log1p(total)
        number = len(weights)
        found.append((concept.term, number, 1.0))
        found.extend((other, number, share) for other, share in concept.others.items())
        weights.append((concept.share * rarity, concept.share * rare_name))
        shares.append(concept.share)
        words.append(concept.term.decode("utf-8", "replace"))
    flat = [(name, sure, re.sub(rb"[_-]", b"", name).lower()) for name, sure in names.items()]
    defined = [
        name.decode("utf-8", "replace")
        for name, sure, _ in flat[:16]
        if sure > 0.5 and is_defined(snapshot, name)
    ]
    return Question(text, single, found, weights, shares, words, flat[:16], places(text), defined)


def is_defined(snapshot: Snapshot, name: bytes) -> bool:
    name_hash = hash_term(name)
    for segment in snapshot.segments:
        start, end = tables.symbols_of_hash(segment.sym_name_hash, segment.sym_by_hash, name_hash)
        if end > start:
            return True
    return False


def inverse(df: int, total: int) -> float:
    return math.log1p((max(total - df, 0) + 0.5) / (df + 0.5))
