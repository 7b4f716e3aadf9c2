"""JSON with comments and trailing commas, as tsconfig files are written."""

from __future__ import annotations

import json
import re
from typing import Any

# A string, a comment, or a comma before a closing bracket. Strings are matched so as to be kept.
_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.S
)


def loads(text: str) -> Any:
    """The value, or None when the text is not JSON even so."""
    plain = _TOKEN.sub(lambda m: m[0] if m[0].startswith('"') else " ", text)
    try:
        return json.loads(plain)
    except (ValueError, RecursionError):
        return None


def load_object(text: str) -> dict[str, Any]:
    """The object; an empty one for anything else."""
    value = loads(text)
    return value if isinstance(value, dict) else {}
