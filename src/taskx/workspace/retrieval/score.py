"""How much a file answers a question: features from the index, then from its text.

The only wrapper of the native `scoring`. Weights were found on 25 repositories by coordinate
ascent, as the mean over random two thirds of them, and checked on the others. They are shares of
one scale: each feature is at most about 1.
"""

from __future__ import annotations

import bisect
import math
import re
from array import array
from dataclasses import dataclass, field

from taskx._native.scoring import Matcher, SegmentReader
from taskx.workspace.files.languages import LANGUAGES
from taskx.workspace.index.segment import Segment
from taskx.workspace.index.snapshot import Snapshot
from taskx.workspace.retrieval.candidates import first_at
from taskx.workspace.retrieval.terms import Question

# In the order of scoring.FEATURES: head, types, stem, stem_exact, stem_rare, folders, inside,
# defines, named, symbol, symbols.
WEIGHTS = array("d", (0.8, 0.4, 0.95, 2.1, 1.6, 0.85, 0.4, 0.47, 1.15, 0.3, 0.12))
FULL_TEXT = 0.6
"""Of the index's own score, relative to the best one; replaced by the three below once read."""
BEST_PIECE = 0.75
MORE_PIECES = 0.2
COVERED = 0.4

FULL_TEXT_LATE = 0.2

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
    """A file on its way to an answer. early: its score without its text; score: with it."""

    fid: int
    segment: Segment
    index: int
    path: str
    early: float
    value: float
    lift: float
    by_path: bool
    """Its own name holds what was asked for."""
    score: float = 0.0
    focus: bool = False
    pieces: list[tuple[int, int, float, int, int, int, int]] = field(default_factory=list)


def is_c(paths: list[str]) -> bool:
    """Whether these are files of C rather than C++: there a header declares what a .c does."""
    return sum(path.endswith(".c") for path in paths) > sum(
        path.endswith((".cc", ".cpp", ".cxx", ".hpp")) for path in paths
    )


class Scorer:
    """Scores files of one snapshot against one question.

    Not by how much depends on a file: on the benchmark that gave 0.8925 against 0.8940 without, and
    the answer would hang on whether the graph was built.
    """

    def __init__(self, snapshot: Snapshot, question: Question) -> None:
        self.snapshot = snapshot
        self.question = question
        self.matcher = Matcher(question.terms, question.weights, question.names)
        self.readers = [SegmentReader(segment) for segment in snapshot.segments]
        self.aside = not ASKS_ASIDE.search(question.text)
        self.c_tree = False
        self.docs = bool(ASKS_DOCS.search(question.text))
        self.no_code = not ASKS_NO_CODE.search(question.text)

    def place(self, fid: int) -> tuple[SegmentReader, Segment, int]:
        bases = self.snapshot.bases
        at = bisect.bisect_right(bases, fid) - 1 if len(bases) > 1 else 0
        return self.readers[at], self.snapshot.segments[at], fid - bases[at]

    def early(self, found: dict[int, float], keep: int) -> list[Scored]:
        """The files that path and symbols speak for most, not yet damped.

        found: fid -> the index's own score, 0 to 1.
        """
        scored = []
        for fid, full_text in found.items():
            reader, segment, index = self.place(fid)
            value, by_path = reader.value(self.matcher, index, WEIGHTS)
            lift = ((1 + segment.n_terms[index]) / USUAL_TERMS) ** LENGTH
            scored.append(
                Scored(
                    fid, segment, index, "", (value + FULL_TEXT * full_text) * lift,
                    value + FULL_TEXT_LATE * full_text, lift, by_path,
                )
            )  # fmt: skip
        scored.sort(key=lambda one: (-one.early, one.fid))
        del scored[keep:]
        for one in scored:
            one.path = one.segment.path(one.index).decode("utf-8", "replace")
        self.c_tree = is_c([one.path for one in scored])
        for one in scored:
            damping = math.exp(-self.damping(one.segment.language[one.index], one.path))
            if self.docs and LANGUAGES[one.segment.language[one.index]].name in DOCS:
                damping *= DOCS_LIFT
            one.lift *= damping
            one.early *= damping
        scored.sort(key=lambda one: (-one.early, one.path))
        return scored

    def damping(self, language: int, path: str) -> float:
        found = DEPTH * path.count("/")
        if self.aside and ASIDE_PATH.search(path):
            found += ASIDE
        if self.no_code and (
            not language or (language > PROGRAMMING and LANGUAGES[language].name in NO_CODE_NAMES)
        ):
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
        reader, _, index = self.place(found.fid)
        best, more, covered, pieces = reader.chunks(self.matcher, index, text, fresh, limit)
        found.score = found.lift * (
            found.value + BEST_PIECE * best + MORE_PIECES * more + COVERED * covered
        )
        found.pieces = pieces
