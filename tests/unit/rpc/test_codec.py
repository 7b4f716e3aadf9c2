"""Messages to bytes and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskx.errors import ParseError
from taskx.rpc import codec
from taskx.rpc.framing import MAX_LINE_BYTES

anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(anything)
def test_what_is_encoded_is_one_line_that_decodes_to_the_same(value: Any) -> None:
    data = codec.encode(value)
    assert data.count(b"\n") == 1
    assert data.endswith(b"\n")
    assert "\u2028" not in data.decode()
    assert "\u2029" not in data.decode()
    assert codec.decode(data) == codec.scrub(value)
    assert json.loads(data) == codec.scrub(value)


@settings(max_examples=500, deadline=None)
@given(
    st.binary(max_size=60) | st.text(st.sampled_from('{}[]",:\\ud83"0123eE+-.ntf '), max_size=60)
)
def test_any_line_is_decoded_or_refused(line: bytes | str) -> None:
    raw = line if isinstance(line, bytes) else line.encode()
    try:
        value = codec.decode(raw)
    except ParseError:
        return
    codec.encode(value)


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        ("plain", "plain"),
        ("\ud83d", "\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("a\udc00\ud800b", "a\ufffd\ufffdb"),
        ({"\ud800": ["\udfff", 1, None]}, {"\ufffd": ["\ufffd", 1, None]}),
    ],
)
def test_scrub(value: Any, clean: Any) -> None:
    assert codec.scrub(value) == clean


def test_too_large() -> None:
    with pytest.raises(codec.MessageTooLarge):
        codec.encode("x" * MAX_LINE_BYTES)
    assert len(codec.encode("x" * (MAX_LINE_BYTES - 2))) == MAX_LINE_BYTES + 1
