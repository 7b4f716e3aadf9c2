"""How much a file answers a question: features from the index, then from its text.

The only wrapper of the native `scoring`. Weights were found on 25 repositories by coordinate
ascent, as the mean over random two thirds of them, and checked on the others. They are shares of
one scale: each feature is at most about 1.
"""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from taskx._native.scoring import Matcher, SegmentReader
from taskx.workspace.files.languages import LANGUAGES
from taskx.workspace.index.snapshot import Snapshot
from taskx.workspace.retrieval.candidates import first_at
from taskx.workspace.retrieval.terms import Question

# In the order of scoring.FEATURES: head, types, stem, stem_exact, stem_rare, folders, inside,
# defines, named, symbol, symbols.
WEIGHTS = (0.8, 0.4, 0.95, 2.1, 1.6, 0.85, 0.4, 0.47, 1.15, 0.3, 0.12)
FULL_TEXT = 0.6
"""Of the index's own score, relative to the best one; replaced by the three below once read."""
BEST_PIECE = 0.75
MORE_PIECES = 0.2
COVERED = 0.4

FULL_TEXT_LATE = 0.2

DEPENDENTS = 0.1
"""Per e-fold of files that depend on it."""
LENGTH = 0.04
"""Per e-fold of terms beyond a usual file's."""
USUAL_TERMS = 400

# Exponents of a damping; each kind of file stays findable by its name.
ASIDE = 0.9
NO_CODE = 1.1
C_HEADER = 0.6
OLD_VERSION = 1.1
DEPTH = 0.05
"""Per folder."""

ASIDE_FOLDERS = (
    r"tests?|testing|__tests__|specs?|testdata|fixtures?|mocks?|bench(?:marks?)?|examples?|"
    r"samples?|demos?|docs?|vendor|third_party|node_modules|dist|build|generated"
)
ASIDE_PATH = re.compile(
    rf"(?:^|/)(?:{ASIDE_FOLDERS})/"
    r"|(?:^|[/_.-])(?:tests?|spec|bench|benchmarks?|mocks?)[_.-]"
    r"|[_.-](?:tests?|spec|bench|benchmarks?|mocks?)\.[^/]*$"
    r"|(?:Tests?|Spec|Benchmarks?)\.[A-Za-z]+$"
    r"|\.d\.ts$|\.min\.",
)
OLD_PATH = re.compile(r"(?:^|/)_?(?:legacy|deprecated|compat|old|attic|obsolete)/")
VERSION = re.compile(r"^v(\d+)$")
ASKS_ASIDE = re.compile(
    r"\b(?:tests?|testing|specs?|mock\w*|bench\w*|examples?|docs?|documentation|fixtures?|samples?|"
    r"generated|vendor)\b",
    re.IGNORECASE,
)
ASKS_DOCS = re.compile(r"\b(?:readme|changelog|docs|documentation)\b", re.IGNORECASE)
DOCS_LIFT = 1.6
DOCS = frozenset({"markdown", "rst", "text"})
ASKS_NO_CODE = re.compile(
    r"\b(?:readme|changelog|docs?|documentation|json|ya?ml|toml|xml|html|css|markdown|dockerfile|"
    r"makefile|cmake|licen[cs]e|template)\b|\.(?:md|rst|txt|json|ya?ml|toml|xml|html?|css|cfg|ini)\b",
    re.IGNORECASE,
)
PROGRAMMING = 20
"""Languages up to this id are programming languages with their own extraction."""
NO_CODE_NAMES = frozenset(
    """bibtex cmake comment css csv diff dockerfile dtd git_config git_rebase gitattributes
    gitcommit gitignore gomod gosum html ini json json5 jsonc latex make markdown markdown_inline
    ninja org pem plaintext po properties psv pymanifest regex requirements rst scss starlark text
    toml tsv vimdoc xml yaml""".split()  # noqa: SIM905
)


@dataclass(slots=True)
class Scored:
    """A file on its way to an answer."""

    fid: int
    path: str
    early: float
    """Score without its text."""
    damping: float
    lift: float
    by_path: bool
    """Its own name holds what was asked for."""
    score: float = 0.0
    focus: bool = False
    row: int = -1
    pieces: list[tuple[int, int, float, int, int]] = field(default_factory=list)


def is_c(paths: list[bytes]) -> bool:
    """Whether these are files of C rather than C++: there a header declares what a .c does."""
    return sum(path.endswith(b".c") for path in paths) > sum(
        path.endswith((b".cc", b".cpp", b".cxx", b".hpp")) for path in paths
    )


class Scorer:
    """Scores files of one snapshot against one question. dependents: fid -> files that use it."""

    def __init__(self, snapshot: Snapshot, question: Question, fids: Iterable[int] = ()) -> None:
        """fids: the candidates; they tell whether headers here belong to C."""
        self.snapshot = snapshot
        self.question = question
        self.matcher = Matcher(question.terms, question.weights, question.names)
        self.readers = [SegmentReader(segment) for segment in snapshot.segments]
        self.aside = not ASKS_ASIDE.search(question.text)
        self.c_tree = is_c([snapshot.path_bytes(fid) for fid in fids])
        self.docs = bool(ASKS_DOCS.search(question.text))
        self.no_code = not ASKS_NO_CODE.search(question.text)

    def reader(self, fid: int) -> tuple[SegmentReader, int]:
        at = bisect.bisect_right(self.snapshot.bases, fid) - 1
        return self.readers[at], fid - self.snapshot.bases[at]

    def early(self, fid: int, full_text: float, dependents: int) -> Scored:
        """full_text: the index's score, 0 to 1."""
        reader, index = self.reader(fid)
        features = reader.features(self.matcher, index)
        value = sum(w * f for w, f in zip(WEIGHTS, features, strict=True))
        path = self.snapshot.path(fid)
        damping = math.exp(-self.damping(fid, path))
        segment = self.snapshot.locate(fid)[0]
        lift = 1 + DEPENDENTS * math.log1p(dependents)
        if self.docs and LANGUAGES[self.snapshot.language(fid)].name in DOCS:
            lift *= DOCS_LIFT
        lift *= ((1 + segment.n_terms[index]) / USUAL_TERMS) ** LENGTH
        early = (value + FULL_TEXT * full_text) * damping * lift
        found = Scored(fid, path, early, damping, lift, features[2] > 0)
        found.score = value + FULL_TEXT_LATE * full_text
        return found

    def damping(self, fid: int, path: str) -> float:
        found = DEPTH * path.count("/")
        if self.aside and ASIDE_PATH.search(path):
            found += ASIDE
        language = self.snapshot.language(fid)
        if (
            self.no_code and language > PROGRAMMING and LANGUAGES[language].name in NO_CODE_NAMES
        ) or (self.no_code and not language):
            found += NO_CODE
        if self.c_tree and path.endswith(".h"):
            found += C_HEADER
        if OLD_PATH.search(path) or self.is_old_version(path):
            found += OLD_VERSION
        return found

    def is_old_version(self, path: str) -> bool:
        """Below a folder v1 whose parent has the same file, or a folder v2 with anything."""
        if "/v" not in path and not path.startswith("v"):
            return False
        parts = path.split("/")
        for at, part in enumerate(parts[:-1]):
            if (version := VERSION.match(part)) is None or part in self.question.text:
                continue
            twin = "/".join(parts[:at] + parts[at + 1 :])
            if self.snapshot.file_id(twin) is not None:
                return True
            folder = "/".join([*parts[:at], f"v{int(version[1]) + 1}"])
            if self.has_folder(folder):
                return True
        return False

    def has_folder(self, folder: str) -> bool:
        prefix = folder.encode() + b"/"
        for segment in self.snapshot.segments:
            at = first_at(segment, prefix)
            if at < segment.n_files and segment.path(at).startswith(prefix):
                return True
        return False

    def late(self, found: Scored, text: bytes, fresh: bool, limit: int) -> None:
        """Adds what the text says; keeps the best pieces."""
        reader, index = self.reader(found.fid)
        best, more, covered, pieces = reader.chunks(self.matcher, index, text, fresh, limit)
        value = found.score + BEST_PIECE * best + MORE_PIECES * more + COVERED * covered
        found.score = value * found.damping * found.lift
        found.pieces = pieces
        found.row = reader.definition(self.matcher, index) if fresh else -1
