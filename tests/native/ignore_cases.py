"""Strategies for ignore files and paths, dense enough that rules and paths meet."""

from __future__ import annotations

from hypothesis import strategies as st

NAMES = [b"a", b"b", b"ab", b"a.c", b"b.log", b"build", b"keep", b"A", b"Z.LOG", b"x y", b"[a]"]
NAMES += [b"a\\b", b" ", b"#a", b"!a", b"caf\xc3\xa9", b"\xff.c", b"*", b"a-b"]

_PIECES = [b"a", b"b", b".c", b".log", b"build", b"keep", b"*", b"**", b"?", b"/", b"/", b"[a-c]"]
_PIECES += [b"[!a]", b"[^b.]", b"[]a]", b"[a", b"[[:alpha:]]", b"[[:nope:]]", b"[a-", b"[\\]]"]
_PIECES += [b"\\", b"\\*", b"\\ ", b" ", b"  ", b"!", b"#", b"\xc3\xa9", b"\xff", b"A", b"[[:]"]
_PIECES += [b"[A-C]", b"[[:upper:]]", b"[c-a]", b"***", b"**/", b"/**", b"x y", b"-", b"\t", b"\\/"]

LINE = st.builds(
    lambda mark, anchor, body, end: mark + anchor + body + end,
    st.sampled_from([b"", b"", b"", b"!"]),
    st.sampled_from([b"", b"", b"/"]),
    st.lists(st.sampled_from(_PIECES), min_size=1, max_size=6).map(b"".join)
    | st.sampled_from(NAMES),
    st.sampled_from([b"", b"", b"/", b" ", b"  ", b"/**", b"/*"]),
)

IGNORE_FILE = st.builds(
    lambda mark, lines, end: mark + end.join(lines) + end,
    st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf"]),
    st.lists(LINE, max_size=9),
    st.sampled_from([b"\n", b"\n", b"\r\n"]),
)

PATH = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(b"/".join)
