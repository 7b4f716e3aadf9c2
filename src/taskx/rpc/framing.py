"""Cuts a byte stream into lines at 0x0A, with a bound on the length of a line.

Source: protocol v1, "Framing". Unicode line separators are data, never a cut.
"""

MAX_LINE_BYTES = 32 * 1024 * 1024
BOM = b"\xef\xbb\xbf"


class LineTooLong(Exception):
    """A line passed `MAX_LINE_BYTES`. What was read of it has been dropped."""


class LineSplitter:
    """Feed it chunks as they come; it gives back the lines that are complete.

    A trailing CR, blank lines and a BOM before the first line are dropped. Never holds more than
    `limit` bytes of an unfinished line.
    """

    def __init__(self, limit: int = MAX_LINE_BYTES, *, first: bool = True) -> None:
        """first: whether the first line of the stream is still to come."""
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._first = first

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes, without their line ends.

        Raises LineTooLong when an unfinished line, or one of the lines, is over the limit; lines
        that were complete before it are in the exception's `args[0]`.
        """
        pieces = chunk.split(b"\n")
        tail = pieces.pop()
        if pieces and self._parts:
            self._parts.append(pieces[0])
            pieces[0] = b"".join(self._parts)
            self._parts = []
            self._size = 0
        lines: list[bytes] = []
        for line in pieces:
            if len(line) > self._limit:
                raise LineTooLong(lines)
            if line.endswith(b"\r"):
                line = line[:-1]
            if self._first:
                self._first = False
                line = line.removeprefix(BOM)
            if line and not line.isspace():
                lines.append(line)
        if tail:
            self._parts.append(tail)
            self._size += len(tail)
            if self._size > self._limit:
                self._parts = []
                raise LineTooLong(lines)
        return lines
