"""The only place that turns messages into bytes and bytes into messages.

In: one line -> one JSON value, strictly (RFC 8259): no NaN or Infinity, nesting up to 1024 levels.
Out: one line, with U+2028 and U+2029 escaped for readers that take them as line ends, and never a
lone surrogate.
"""

import json
from typing import Any, NoReturn

import msgspec
import orjson

from taskx.errors import ParseError
from taskx.rpc.framing import MAX_LINE_BYTES

_LINE_SEPARATOR_LEAD = b"\xe2\x80"


class MessageTooLarge(Exception):
    """An outgoing message over `MAX_LINE_BYTES`; `args[0]` is its size in bytes."""


def decode(line: bytes) -> Any:
    """The JSON value of one line. Raises ParseError.

    Half a surrogate pair written as an escape is valid JSON and comes out as U+FFFD.
    """
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        if b"\\u" not in line:
            raise ParseError(f"parse error: {error}") from None
    return _decode_with_lone_surrogates(line)


def _decode_with_lone_surrogates(line: bytes) -> Any:
    """The slow way for lines that orjson refuses and that may hold a lone surrogate escape."""
    try:
        value = json.loads(line.decode("utf-8"), parse_constant=_refuse, parse_float=_finite)
        return scrub(value)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"parse error: {error}") from None


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("number out of range")
    return value


def encode(message: Any) -> bytes:
    """One line with its LF. Raises MessageTooLarge, or TypeError for what has no JSON form."""
    try:
        data = orjson.dumps(message, default=msgspec.to_builtins, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        data = orjson.dumps(
            scrub(msgspec.to_builtins(message, builtin_types=(orjson.Fragment,))),
            option=orjson.OPT_APPEND_NEWLINE,
        )
    if _LINE_SEPARATOR_LEAD in data:
        data = data.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
    if len(data) - 1 > MAX_LINE_BYTES:
        raise MessageTooLarge(len(data) - 1)
    return data


class Kept:
    """Encodes an answer that is asked for often once, until another object takes its place."""

    __slots__ = ("_fragment", "_value")

    def __init__(self) -> None:
        self._value: Any = None
        self._fragment: orjson.Fragment | None = None

    def __call__(self, value: Any) -> orjson.Fragment:
        """value: not changed after it was given."""
        if self._fragment is None or value is not self._value:
            self._fragment = orjson.Fragment(encode(value)[:-1])
            self._value = value
        return self._fragment


def scrub(value: Any) -> Any:
    """`value` with every lone surrogate in its strings and keys replaced by U+FFFD."""
    if isinstance(value, str):
        return scrub_text(value)
    if isinstance(value, dict):
        return {scrub_text(key): scrub(item) for key, item in value.items()}
    if isinstance(value, list):
        return [scrub(item) for item in value]
    return value


def scrub_text(text: str) -> str:
    """Halves that make a pair are joined, others become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
