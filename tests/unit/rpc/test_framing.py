"""The line splitter against a slow, obvious one, however the stream is cut."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskx.rpc.framing import BOM, LineSplitter, LineTooLong

LIMIT = 12

pieces = st.lists(
    st.sampled_from([b"\n", b"\r\n", b"\r", b" ", BOM, b"a", b"bc", b"\xe2\x80\xa8", b"x" * 11]),
    max_size=40,
)


def reference(stream: bytes) -> tuple[list[bytes], bool]:
    """The lines up to the first that is too long, and whether there was one."""
    lines = []
    *whole, tail = stream.split(b"\n")
    for number, line in enumerate(whole):
        if len(line) > LIMIT:
            return lines, True
        if line.endswith(b"\r"):
            line = line[:-1]
        if number == 0:
            line = line.removeprefix(BOM)
        if line.strip(b" \t\n\r\x0b\x0c"):
            lines.append(line)
    return lines, len(tail) > LIMIT


def split(chunks: list[bytes]) -> tuple[list[bytes], bool]:
    splitter = LineSplitter(LIMIT)
    lines: list[bytes] = []
    for chunk in chunks:
        try:
            lines += splitter.feed(chunk)
        except LineTooLong as error:
            return lines + error.args[0], True
    return lines, False


@settings(max_examples=500, deadline=None)
@given(pieces, st.data())
def test_lines_are_the_same_however_the_stream_is_cut(
    parts: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(parts)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=8).map(sorted))
    edges = [0, *cuts, len(stream)]
    chunks = [stream[a:b] for a, b in itertools.pairwise(edges) if a < b]
    assert split(chunks) == reference(stream)


@pytest.mark.parametrize("over", [0, 1])
def test_the_limit_counts_the_line_without_its_end(over: int) -> None:
    line = b"x" * (LIMIT + over)
    assert split([line + b"\n"]) == (([] if over else [line]), bool(over))
