"""The term rule: parts, word forms, scripts, numbers, and that no input breaks it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskx._native import terms

SAME_STEM = [
    "parser parse parsing parsed parsers",
    "router route routes routing routed",
    "validation validator validate validates validating",
    "serializer serialization serialize serializing serialised",
    "connection connector connect connected",
    "iterator iterate iterable iteration",
    "format formatter formatting formatted formats",
    "query queries queried",
    "cookie cookies",
    "retry retries retried",
    "controller control controlled",
    "installer install installing",
    "resolver resolve resolution",
    "scheduler schedule scheduling",
    "implement implementation implements",
    "expire expiry expired expiration",
    "index indexes indices",
]
STRANGERS = ["string str", "header head", "setting set", "status stat", "union unit", "number numb"]


@pytest.mark.parametrize("words", SAME_STEM)
def test_forms_of_one_word_meet(words: str) -> None:
    assert len({terms.stem(word.encode()) for word in words.split()}) == 1


@pytest.mark.parametrize("words", STRANGERS)
def test_strangers_stay_apart(words: str) -> None:
    first, second = words.split()
    assert terms.stem(first.encode()) != terms.stem(second.encode())


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("HTTPServer", "http serv httpserver"),
        ("flat_hash_map", "flat hash map flathashmap"),
        ("flatHashMap", "flat hash map flathashmap"),
        ("getURLs", "get url geturls"),
        ("URLsFor", "url for urlsfor"),
        ("utf8", "utf utf8"),
        ("__init__", "init"),
        ("0xFFEE", ""),
        ("404", "404"),
        ("12345678", ""),
        ("x", ""),
        ("Größe", "gross"),
        ("ДВА", "два"),
        ("日本語", "日本 本語"),
        ("错", "错"),
    ],
)
def test_word_terms(word: str, expected: str) -> None:
    assert b" ".join(terms.word_terms(word.encode())).decode() == expected


def test_words_part_at_what_is_no_letter_and_where_scripts_meet() -> None:
    assert terms.words("foo::bar(x)错误in".encode()) == [
        b"foo", b"bar", b"x", "错误".encode(), b"in",
    ]  # fmt: skip


@given(st.binary(max_size=600))
def test_any_bytes_give_terms_without_spaces(data: bytes) -> None:
    for term in terms.text_terms(data):
        assert term
        assert b" " not in term


@given(st.text(alphabet="abAB_09zäßЖ日本", min_size=1, max_size=400))
def test_no_word_outgrows_its_room(text: str) -> None:
    terms.word_terms(text.encode())
