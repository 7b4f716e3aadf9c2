"""Writing server-sent events, with the line end a test asks for."""

from __future__ import annotations

import json
from typing import Any

LINE_ENDS = {"LF": b"\n", "CRLF": b"\r\n", "CR": b"\r"}


def event(data: Any, name: str = "", newline: bytes = b"\n") -> bytes:
    """One event; a string is sent as it is, anything else as JSON."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    lines = [f"event: {name}".encode()] if name else []
    lines.append(b"data: " + text.encode())
    return b"".join(line + newline for line in lines) + newline


def json_line(value: Any, newline: bytes = b"\n") -> bytes:
    """A line of NDJSON; Ollama's encoder escapes the two Unicode line separators."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").encode() + newline
