"""The table that a parser of event streams has to survive."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskx.providers.sse import MAX_EVENT_BYTES, Lines, NdjsonParser, SseParser, TooLong

# What arrives -> the events (name, data) it holds.
TABLE: dict[str, tuple[bytes, list[tuple[bytes, bytes]]]] = {
    "one event": (b"data: a\n\n", [(b"", b"a")]),
    "no space": (b"data:a\n\n", [(b"", b"a")]),
    "only the first space goes": (b"data:  a \n\n", [(b"", b" a ")]),
    "named": (b"event: ping\ndata: {}\n\n", [(b"ping", b"{}")]),
    "name after data": (b"data: {}\nevent: ping\n\n", [(b"ping", b"{}")]),
    "name without data": (b"event: ping\n\ndata: a\n\n", [(b"", b"a")]),
    "comments": (b": hi\n:\n\ndata: a\n: in between\n\n:bye\n", [(b"", b"a")]),
    "id and retry": (b"id: 7\nretry: 3000\ndata: a\n\n", [(b"", b"a")]),
    "two lines of data": (b"data: a\ndata: b\n\n", [(b"", b"a\nb")]),
    "data without a colon": (b"data\n\n", [(b"", b"")]),
    "unknown field": (b"datax: no\ndata: a\n\n", [(b"", b"a")]),
    "byte order mark": (b"\xef\xbb\xbfdata: a\n\n", [(b"", b"a")]),
    "many blank lines": (b"\n\n\ndata: a\n\n\n\ndata: b\n\n", [(b"", b"a"), (b"", b"b")]),
    "separators of Unicode": (
        "data: a\u2028b\u2029c\x85d\x0be\n\n".encode(),
        [(b"", "a\u2028b\u2029c\x85d\x0be".encode())],
    ),
    "error as a field": (b'error: {"code":500}\n\n', [(b"error", b'{"code":500}')]),
    "no blank line at the end": (b"data: a\n\ndata: b\n", [(b"", b"a"), (b"", b"b")]),
    "no line end at the end": (b"data: a\n\ndata: b", [(b"", b"a"), (b"", b"b")]),
}


def parsed(chunks: list[bytes]) -> list[tuple[bytes, bytes]]:
    parser = SseParser()
    return [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("name", TABLE)
def test_V14_stream_cut_anywhere_gives_the_same_events(name: str, newline: bytes) -> None:
    text, events = TABLE[name]
    text = text.replace(b"\n", newline)
    assert parsed([text]) == events
    assert parsed([bytes([byte]) for byte in text]) == events
    for cut in range(len(text) + 1):
        assert parsed([text[:cut], text[cut:]]) == events


def test_V14_event_is_there_as_soon_as_its_blank_line_is() -> None:
    for newline in (b"\n", b"\r"):
        parser = SseParser()
        assert parser.feed(b"data: a" + newline) == []
        assert parser.feed(newline) == [(b"", b"a")]
    parser = SseParser()
    assert parser.feed(b"data: a\r\n\r") == [(b"", b"a")]
    assert parser.feed(b"\ndata: b\r\n\r\n") == [(b"", b"b")]


def test_V13_text_that_is_no_event_stream_is_told() -> None:
    for text, foreign in {b"hello": True, b"a: b\n\n": True, b": x\n": False, b"dat": False,
                          b"data: x": False, b"x: y\ndata: z\n": False}.items():  # fmt: skip
        parser = SseParser()
        parser.feed(text)
        parser.close()
        assert parser.foreign is foreign, text


def test_V14_endless_line_and_endless_event_are_refused() -> None:
    parser = SseParser()
    half = b"x" * (MAX_EVENT_BYTES // 2 + 1)
    assert parser.feed(b"data: " + half) == []
    with pytest.raises(TooLong):
        parser.feed(half)
    parser = SseParser()
    with pytest.raises(TooLong):
        parser.feed((b"data: " + half + b"\n") * 2)


def test_V14_one_byte_chunks_cost_linear_time() -> None:
    lines = Lines()
    for _ in range(200_000):
        assert lines.feed(b"x") == []
    assert lines.feed(b"\n") == [b"x" * 200_000]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_V14_ndjson_lines_cut_anywhere(newline: bytes) -> None:
    text = newline.join([b'{"a":1}', b"", b"  ", '{"b":"\u2028"}'.encode()])
    wanted = [(b"", b'{"a":1}'), (b"", '{"b":"\u2028"}'.encode())]
    for cut in range(len(text) + 1):
        parser = NdjsonParser()
        found = parser.feed(text[:cut]) + parser.feed(text[cut:]) + parser.close()
        assert found == wanted


@given(
    st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r", b"\r\n"]), max_size=30),
    st.lists(st.integers(0, 60), max_size=6),
)
def test_V14_lines_equal_those_of_the_whole_text(parts: list[bytes], cuts: list[int]) -> None:
    text = b"".join(parts)
    whole = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    places = sorted({min(cut, len(text)) for cut in cuts})
    chunks = [
        text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)
    ]
    lines = Lines()
    found = [line for chunk in chunks for line in lines.feed(chunk)]
    assert [*found, lines.close()] == whole
