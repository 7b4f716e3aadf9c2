"""Decoding of response bodies, with a bound on what a few bytes can turn into.

httpx would decode too, but a whole network read at once and without a bound: one read of brotli
can become gigabytes. Source: RFC 9110 section 8.4 (Content-Encoding); RFC 7932 (brotli).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Protocol

MAX_STEP_BYTES = 1 << 20
"""Of decoded bytes handed on at once."""

ACCEPTED = "gzip, deflate, br"


class BadContent(ValueError):
    """The body is not what its Content-Encoding says."""


class ContentDecoder(Protocol):
    def feed(self, data: bytes) -> Iterator[bytes]:
        """The decoded pieces, each not much above `MAX_STEP_BYTES`. Raises BadContent."""


class Identity:
    def feed(self, data: bytes) -> Iterator[bytes]:
        yield data


class Zlib:
    """gzip, and deflate with or without its zlib header."""

    def __init__(self, wbits: int) -> None:
        self._inflate = zlib.decompressobj(wbits)
        self._may_be_raw = wbits == zlib.MAX_WBITS

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            try:
                piece = self._inflate.decompress(data, MAX_STEP_BYTES)
            except zlib.error as error:
                if not self._may_be_raw:
                    raise BadContent(str(error)) from error
                self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
                self._may_be_raw = False
                continue
            self._may_be_raw = False
            yield piece
            data = self._inflate.unconsumed_tail


class Brotli:
    def __init__(self) -> None:
        import brotli

        self._error: type[Exception] = brotli.error
        self._inflate = brotli.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        try:
            while piece := self._inflate.process(data, output_buffer_limit=MAX_STEP_BYTES):
                data = b""
                yield piece
        except self._error as error:
            raise BadContent(str(error)) from error


def decoder_of(content_encoding: str) -> ContentDecoder:
    """Raises BadContent on an encoding that was not offered."""
    match content_encoding.strip().lower():
        case "" | "identity":
            return Identity()
        case "gzip" | "x-gzip":
            return Zlib(zlib.MAX_WBITS | 16)
        case "deflate":
            return Zlib(zlib.MAX_WBITS)
        case "br":
            return Brotli()
        case other:
            raise BadContent(f"unknown content encoding {other[:40]!r}")
