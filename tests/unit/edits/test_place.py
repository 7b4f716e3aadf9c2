"""replace_text on bytes: the one place that is meant, and every other byte as it was."""

from __future__ import annotations

import random

import pytest

from taskx.edits import text as texts
from taskx.edits.place import replace
from taskx.errors import ToolError

LATIN = "caf\xe9 1\nline 2\n".encode("latin-1")
UTF16 = b"\xff\xfe" + "a\r\nb\r\n".encode("utf-16-le")


@pytest.mark.parametrize(
    ("data", "old", "new", "result"),
    [
        # E1: line ends
        (b"a\r\nb\r\nc\r\n", "b\n", "x\ny\n", b"a\r\nx\r\ny\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "a\r\nb", "a\nx", b"a\r\nx\r\nc\r\n"),
        (b"a\nb\r\nc\n", "b", "x", b"a\nx\r\nc\n"),
        (b"a\nb\r\nc\n", "a\nb\nc\n", "a\nB\nc\n", b"a\nB\r\nc\n"),
        (b"a\nb\r\nc\nd\r\n", "b\nc\n", "b\nnew\nc\n", b"a\nb\r\nnew\r\nc\nd\r\n"),
        (b"a\rb\r\nc\n", "c", "x", b"a\rb\r\nx\n"),
        (b"a\rb\n", "a\rb", "a\rx", b"a\rx\n"),
        (b"a\r\nb\r\n", "a\nb\n", "ab\n", b"ab\r\n"),
        (b"a\r\nb\r\nc", "a\n", "", b"b\r\nc"),
        # E2: encodings
        (LATIN, "line 2", "line 3", LATIN.replace(b"2", b"3")),
        (LATIN, "caf\xe9", "th\xe9", LATIN.replace(b"caf", b"th")),
        (b"\xd6\xd0\xce\xc4\nabc\n", "abc", "abd", b"\xd6\xd0\xce\xc4\nabd\n"),
        (UTF16, "b", "\u20ac", b"\xff\xfe" + "a\r\n\u20ac\r\n".encode("utf-16-le")),
        (b"\xef\xbb\xbfa\nb\n", "a", "x", b"\xef\xbb\xbfx\nb\n"),
        # E4: final newline
        (b"a\nb\n", "b\n", "c", b"a\nc\n"),
        (b"a\nb\n", "b", "c\n", b"a\nc\n\n"),
        (b"a\nb", "b\n", "c\n", b"a\nc"),
        (b"a\nb", "b", "c\n", b"a\nc"),
        (b"a\nb", "a\nb\n", "x\ny\n", b"x\ny"),
        (b"a\nb\n", "b\n", "", b"a\n"),
        (b"a\nb", "\nb", "", b"a"),
        (b"a\n", "a\n", "", b""),
        # within a line, joining and splitting lines
        (b"foo(bar, baz)\n", "bar", "x", b"foo(x, baz)\n"),
        (b"a\nb\nc\n", "a\nb", "ab", b"ab\nc\n"),
        (b"a b\n", " ", "\n", b"a\nb\n"),
        # tolerance: white space at line ends, then one common indentation
        (b"a  \nb\t\nc\n", "a\nb\n", "x\ny\n", b"x\ny\nc\n"),
        (b"a\nb\n", "a   \n", "x\n", b"x\nb\n"),
        (
            b"    if x:\n        y\n",
            "if x:\n    y\n",
            "if z:\n    y\n\n    w\n",
            b"    if z:\n        y\n\n        w\n",
        ),
        (b"if x:\n    y\n", "    if x:\n        y\n", "    if z:\n        y\n", b"if z:\n    y\n"),
        (b"\tif x:\r\n\t\ty\r\n", "if x:\n\ty\n", "if z:\n\ty\n", b"\tif z:\r\n\t\ty\r\n"),
    ],
)
def test_E1_E2_E4_only_what_is_named_changes(
    data: bytes, old: str, new: str, result: bytes
) -> None:
    assert replace(data, old, new) == (result, 1)


@pytest.mark.parametrize(
    ("data", "old", "new", "result", "count"),
    [
        (b"a\na\r\na", "a", "b", b"b\nb\r\nb", 3),
        (b"aaa\n", "aa", "b", b"ba\n", 1),
        (b"x a x a\n", "a", "bb", b"x bb x bb\n", 2),
        (b"a\r\na\nb\n", "a\n", "c\nc\n", b"c\r\nc\r\nc\nc\nb\n", 2),
        (b"a\nb\na\nb\n", "\nb", "", b"a\na\n", 2),
        (b"a\na\nb\n", "a\n", "a", b"aab\n", 2),
    ],
)
def test_all_places(data: bytes, old: str, new: str, result: bytes, count: int) -> None:
    assert replace(data, old, new, every=True) == (result, count)


@pytest.mark.parametrize(
    ("data", "old", "new", "message"),
    [
        (b"a\nb\na\n", "a", "x", "2 places (lines 1, 3)"),
        (b"aaa\n", "aa", "x", "2 places (lines 1, 1)"),
        (b"  a\n  b\n a\n b\n", "a\nb\n", "x\n", "nearly in 2 places (lines 1, 3)"),
        (b"a \nb\na\t\nb\n", "a\nb\n", "x\n", "nearly in 2 places"),
        (b"a\n", "", "x", "empty"),
        (b"a\n", "a", "a", "same"),
        (b"def parse(x):\n", "def parse(y):\n    pass\n", "x", "nearest is at line 1"),
        (b"  if x:\n      y\n", "if x:\n  y\n", "x", "not in the file"),
        (LATIN, "line 2", "\u20ac", "no character '\u20ac'"),
        (b"a\n", "a", "\ud83d", "no character"),
        (b"a\nb", "b", "b\n", "leaves the file as it is"),
        (b"\n\n\n", "   \n", "x", "not in the file"),
    ],
)
def test_no_place_and_two_places_are_refused(data: bytes, old: str, new: str, message: str) -> None:
    with pytest.raises(ToolError) as caught:
        replace(data, old, new)
    assert caught.value.kind == "invalidInput"
    assert message in caught.value.message


def test_E1_random_edits_leave_other_lines_alone() -> None:
    random.seed(6)
    for _ in range(1500):
        ends = random.choice([["\n"], ["\r\n"], ["\n", "\r\n"]])
        words = ["a", "b\rb", "c c", "", "d\xe9"]
        lines = [f"{i}{random.choice(words)}{random.choice(ends)}" for i in range(8)]
        if random.random() < 0.5:
            lines[-1] = texts.body_of(lines[-1])
        encoding = random.choice(["utf-8", "latin-1"])
        data = "".join(lines).encode(encoding)
        start = random.randrange(8)
        stop = random.randint(start + 1, 8)
        old = texts.plain("".join(lines[start:stop]))
        fresh = [f"n{i}\n" for i in range(random.randrange(4))]
        new = "".join(fresh)
        if texts.plain(old) == new or (start == 0 and stop == 8):
            continue
        result, _ = replace(data, old, new)
        prefix = "".join(lines[:start]).encode(encoding)
        suffix = "".join(lines[stop:]).encode(encoding)
        if suffix:
            assert result.startswith(prefix)
            assert result.endswith(suffix)
            middle = result[len(prefix) : len(result) - len(suffix)].decode(encoding)
            assert texts.plain(middle) == new
            assert ends != ["\r\n"] or middle.count("\n") == middle.count("\r\n")
        else:
            assert result.rstrip(b"\r\n").startswith(prefix.rstrip(b"\r\n"))
        if result:
            assert result.endswith(b"\n") == data.endswith(b"\n")


@pytest.mark.parametrize(
    ("old", "content", "result"),
    [
        (b"a\r\nb\r\n", "a\nx\n", b"a\r\nx\r\n"),
        (b"a\r\nb\nc\r\n", "a\nb\nc\nd\n", b"a\r\nb\nc\r\nd\r\n"),
        (b"a\n", "b", b"b\n"),
        (b"a", "b\n", b"b"),
        (b"", "b", b"b"),
        (b"", "b\r\n", b"b\n"),
        (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
        (LATIN, "caf\xe9\n", "caf\xe9\n".encode("latin-1")),
        (UTF16, "z\n", b"\xff\xfe" + "z\r\n".encode("utf-16-le")),
        (b"a\n", "", b""),
    ],
)
def test_E4_whole_content_takes_the_form_of_the_file(
    old: bytes, content: str, result: bytes
) -> None:
    assert texts.whole(old, content) == result
