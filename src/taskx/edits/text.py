"""Bytes of a text file as text and back, such that bytes an edit does not name stay the same.

Encodings: UTF-8, UTF-16 and UTF-32 with a byte order mark, else Latin-1, in which every byte
string can be read and written back unchanged. The index decodes by the same rule.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from dataclasses import dataclass

from taskx.errors import ToolError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# A line ends with LF or CRLF. A lone CR is data.
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")


@dataclass(frozen=True)
class Text:
    """A decoded file. `mark + text.encode(encoding)` are its bytes."""

    text: str
    encoding: str
    mark: bytes = b""

    def encode(self, text: str) -> bytes:
        """`text` in this file's encoding. Raises ToolError when a character has no place in it."""
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError as error:
            character = text[error.start]
            name = "ISO-8859-1 or another 8-bit encoding" if self.encoding == "latin-1" else "text"
            raise ToolError(
                "invalidInput",
                f"the file is {name}, which has no character {character!r} "
                f"(U+{ord(character):04X}); write it in another way",
            ) from error


def decode(data: bytes) -> Text:
    """Never fails: bytes in no other encoding are Latin-1."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            body = data[len(mark) :]
            try:
                text = body.decode(encoding)
            except UnicodeDecodeError:
                continue
            if text.encode(encoding) == body:
                return Text(text, encoding, mark)
    try:
        return Text(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return Text(data.decode("latin-1"), "latin-1")


def is_binary(data: bytes) -> bool:
    """Whether a file is no text: a NUL in its beginning, unless a byte order mark explains it."""
    head = data[:8192]
    return b"\0" in head and not head.startswith(tuple(mark for mark, _ in _MARKS))


def split_lines(text: str) -> list[str]:
    """Lines with their ends; only the last can have none."""
    return _LINE.findall(text)


def body_of(line: str) -> str:
    """A line without its end."""
    if line.endswith("\r\n"):
        return line[:-2]
    return line[:-1] if line.endswith("\n") else line


def end_of(line: str) -> str:
    return line[len(body_of(line)) :]


def plain(text: str) -> str:
    """Text as a model sees it: every line ends with LF, without a byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def usual_end(lines: list[str]) -> str:
    """The line end that most lines have; LF when there is none."""
    counts = Counter(end for line in lines if (end := end_of(line)))
    return counts.most_common(1)[0][0] if counts else "\n"


def fit_ends(old: list[str], new: list[str], before: str, usual: str) -> list[str]:
    """`new` lines with the ends that their place in the file asks for.

    old: the lines that they replace. A line that stays keeps its own end; an inserted one takes
    the end of the line before it; the first, that of the first replaced line, else `before` (of
    the line before them in the file), else `usual`. A last new line without an end keeps none.
    """
    matched = _kept_lines([body_of(line) for line in old], [body_of(line) for line in new])
    fitted = []
    last = (end_of(old[0]) if old else "") or before or usual
    for index, line in enumerate(new):
        if index in matched and end_of(old[matched[index]]):
            last = end_of(old[matched[index]])
        elif index < len(old) and len(old) == len(new) and end_of(old[index]):
            last = end_of(old[index])
        fitted.append(body_of(line) + (last if end_of(line) else ""))
    return fitted


def _kept_lines(old: list[str], new: list[str]) -> dict[int, int]:
    """Index in `new` -> index in `old` of lines that stay."""
    from taskx.edits.diff import matching_blocks

    return {
        b + offset: a + offset
        for a, b, length in matching_blocks(old, new)
        for offset in range(length)
    }


def same_final_newline(old: str, new: str, usual: str) -> str:
    """`new`, ending with a newline exactly when `old` does. An empty text asks for nothing."""
    if not old or not new:
        return new
    if old.endswith("\n") and not new.endswith("\n"):
        return new + usual
    if not old.endswith("\n") and new.endswith("\n"):
        return body_of(new)
    return new


def whole(old: bytes, content: str) -> bytes:
    """Bytes for a file whose whole text becomes `content`, in the form that `old` has.

    Raises ToolError `invalidInput` when the file's encoding cannot hold the content.
    """
    form = decode(old)
    lines = split_lines(form.text)
    usual = usual_end(lines)
    new = split_lines(plain(content))
    text = "".join(fit_ends(lines, new, "", usual)) if lines else "".join(new)
    return form.encode(same_final_newline(form.text, text, usual))


def fresh(content: str) -> bytes:
    """Bytes of a new file: UTF-8, exactly as given. Raises ToolError on half a surrogate pair."""
    return Text("", "utf-8").encode(content)
