"""Parameters an endpoint refuses: recognised in its error, remembered, and left out.

A refused parameter is not a failed stream: the endpoint never began to answer. So the request is
built again without it, at most `MAX_ADAPTATIONS` times, and the endpoint's later requests for that
model start out right. Each quirk is a name a wire format asks for while it builds a body.
"""

from __future__ import annotations

import re

NO_TEMPERATURE = "no_temperature"
NO_STREAM_OPTIONS = "no_stream_options"
NO_CACHE_CONTROL = "no_cache_control"
NO_THINKING = "no_thinking"
MAX_COMPLETION_TOKENS = "max_completion_tokens"
MAX_TOKENS = "max_tokens"

# Field of the request -> the quirk that leaves it out or names it differently.
_BY_FIELD = {
    "temperature": NO_TEMPERATURE,
    "stream_options": NO_STREAM_OPTIONS,
    "cache_control": NO_CACHE_CONTROL,
    "reasoning_effort": NO_THINKING,
    "reasoning": NO_THINKING,
    "thinking": NO_THINKING,
    "think": NO_THINKING,
    "max_tokens": MAX_COMPLETION_TOKENS,
    "max_completion_tokens": MAX_TOKENS,
}
_REFUSAL = re.compile(
    r"(?i)unsupported|not supported|n't support|not support|unrecogni[sz]ed|unknown|deprecated"
    r"|not permitted|not allowed|extra (?:inputs|fields)|extra_forbidden|unexpected"
)
_FIELD = re.compile(
    r"(?<![A-Za-z_])(" + "|".join(sorted(_BY_FIELD, key=len, reverse=True)) + r")(?![A-Za-z_])"
)


def refused_parameter(status: int, text: str, quirks: frozenset[str]) -> str | None:
    """The quirk that answers an error body, or None when the error is about something else.

    text: the body's own words, field names included; the first field named in it is the refused
    one (OpenAI names the replacement after it).
    """
    if status not in (400, 422) or not _REFUSAL.search(text):
        return None
    match = _FIELD.search(text)
    if match is None:
        return None
    quirk = _BY_FIELD[match[1]]
    return None if quirk in quirks else quirk
