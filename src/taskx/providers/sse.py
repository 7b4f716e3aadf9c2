"""Server-sent events from bytes, whatever the line ends and wherever the network cuts.

Own code rather than `httpx-sse`: that one decodes through a text line reader per response, keeps
no bound on an event, and costs several times as much per delta. The table it has to survive is
`tests/providers/test_sse.py`.
Source: WHATWG HTML, "Server-sent events", section "Parsing an event stream".
"""

from __future__ import annotations

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""Of one line or one event. A whole non-streamed answer with its tool input is far below."""


_NAMES = frozenset({b"data", b"event", b"id", b"retry", b"error", b""})
"""Field names; the empty one is a comment's."""


class TooLong(ValueError):
    """A line or event grew past `MAX_EVENT_BYTES`."""


class Lines:
    """Splits bytes into lines at LF, CRLF or CR, as soon as the line end has arrived.

    A CR ends its line at once, so that a stream that rests after it is not held back; an LF that
    follows in the next chunk belongs to it. Cost is linear in the input, whatever the chunks.
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._held = 0
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk[0] == 10:
                chunk = chunk[1:]
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines and self._parts:
            self._parts.append(lines[0])
            lines[0] = b"".join(self._parts)
            self._parts.clear()
            self._held = 0
        if rest:
            self._parts.append(rest)
            self._held += len(rest)
            if self._held > MAX_EVENT_BYTES:
                raise TooLong(f"a line of more than {MAX_EVENT_BYTES} bytes")
        return lines

    def close(self) -> bytes:
        """What stands after the last line end."""
        rest = b"".join(self._parts)
        self._parts.clear()
        self._held = 0
        return rest


class SseParser:
    """Feed bytes, get the events they complete as pairs (event name, data).

    Comments, `id`, `retry` and events without data are dropped. A field named `error` counts as
    the data of an event of that name: old llama.cpp servers report faults that way.
    foreign: until a line of the format has come, when there were others.
    """

    def __init__(self) -> None:
        self._lines = Lines()
        self._event = b""
        self._data: list[bytes] = []
        self._size = 0
        self._first = True
        self._familiar = False
        self.foreign = False

    def feed(self, chunk: bytes) -> list[tuple[bytes, bytes]]:
        found: list[tuple[bytes, bytes]] = []
        for line in self._lines.feed(chunk):
            if self._first:
                self._first = False
                line = line.removeprefix(b"\xef\xbb\xbf")
            if not line:
                if self._data:
                    found.append(self._take())
                self._event = b""
            else:
                self._field(line)
        return found

    def close(self) -> list[tuple[bytes, bytes]]:
        """The last event when its blank line is missing. It may be cut: judge it by its data."""
        rest = self._lines.close()
        if rest and not any(name.startswith(rest) for name in _NAMES):
            self._field(rest)
        return [self._take()] if self._data else []

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if not self._familiar:
            self._familiar = name in _NAMES
            self.foreign = not self._familiar
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data" or name == b"error":
            if name == b"error":
                self._event = name
            self._data.append(value)
            self._size += len(value)
            if self._size > MAX_EVENT_BYTES:
                raise TooLong(f"an event of more than {MAX_EVENT_BYTES} bytes")
        elif name == b"event":
            self._event = value

    def _take(self) -> tuple[bytes, bytes]:
        event = (self._event, self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
        self._data = []
        self._size = 0
        return event


class NdjsonParser:
    """One JSON value a line, as Ollama streams. Same interface as `SseParser`."""

    def __init__(self) -> None:
        self._lines = Lines()

    def feed(self, chunk: bytes) -> list[tuple[bytes, bytes]]:
        return [(b"", line) for line in self._lines.feed(chunk) if line.strip()]

    def close(self) -> list[tuple[bytes, bytes]]:
        rest = self._lines.close()
        return [(b"", rest)] if rest.strip() else []
