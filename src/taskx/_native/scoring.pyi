from array import array
from typing import final

from taskx.workspace.index.segment import Segment

FEATURES: tuple[str, ...]

@final
class Matcher:
    def __init__(
        self,
        terms: list[tuple[bytes, int, float]],
        weights: list[tuple[float, float]],
        names: list[tuple[bytes, float, bytes]],
    ) -> None:
        """terms: (term, concept, share of it); weights per concept: (text weight, head weight);
        names: (name, how sure it is meant as a name, its letters in lower case)."""

    def present(self, text: bytes) -> int:
        """A bit per concept whose own term stands in the text."""

@final
class SegmentReader:
    def __init__(self, segment: Segment) -> None: ...
    def features(self, matcher: Matcher, index: int) -> array[float]:
        """What path and symbols say, in the order of FEATURES."""
    def value(self, matcher: Matcher, index: int, weights: array[float]) -> tuple[float, bool]:
        """The features, weighed and summed; and whether the file's own name holds a term.

        Holds the GIL: some microseconds for a usual file.
        """
    def definition(self, matcher: Matcher, index: int) -> int:
        """Row of the symbol that a queried name means, or -1."""
    def chunks(
        self, matcher: Matcher, index: int, text: bytes, fresh: bool, limit: int
    ) -> tuple[float, float, float, list[tuple[int, int, float, int, int, int, int]]]:
        """Scores the pieces of a file.

        text: UTF-8. fresh: the text is what was indexed, so the symbols' lines hold.
        Returns the best piece's score, the discounted sum of the next five, the share of the
        question that the whole file covers, and the best pieces, best first, as (first line,
        last line, score, concept bits, row of the symbol of a queried name that the piece defines
        or -1, byte offsets of its start and end); lines are 1-based and inclusive.
        """

def line_offsets(text: bytes) -> array[int]:
    """Byte offset of each line start; the last entry is len(text)."""
