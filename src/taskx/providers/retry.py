"""When to ask again: what endpoints say about it, and the policy of the agent loop.

A stream is never retried here; the loop that owns the task calls `retry_delay_ms` and waits.
Sources: RFC 9110 section 10.2.3 (Retry-After); the vendors' rate limit pages; protocol v1,
"ProviderError".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from taskx.errors import ProviderError

MAX_RETRIES = 4
BASE_DELAY_MS = 500
MAX_BACKOFF_MS = 30_000
MAX_STATED_MS = 300_000
"""A stated wait beyond this is no hiccup but a quota: the task turns to its fallbacks."""

_UNITS_MS = {"ms": 1.0, "s": 1000.0, "m": 60_000.0, "h": 3_600_000.0, "d": 86_400_000.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|h|m|s|d)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_IN_TEXT = re.compile(
    r"(?i)(?:try again|retry|wait)[^.\n]{0,40}?\b(?:in|after|for)\s+"
    r"((?:\d+(?:\.\d+)?\s*(?:milliseconds?|seconds?|minutes?|hours?|ms|secs?|mins?|[hms])\s*)+)"
)
_RESET_HEADERS = (
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
)


def retry_after_ms(headers: Mapping[str, str], message: str, now: datetime) -> int | None:
    """The wait an answer states, in order of authority, or None when it states none.

    headers: keys in lower case. message: the error's own words.
    """
    stated = headers.get("retry-after-ms", "").strip()
    if _NUMBER.fullmatch(stated):
        return round(float(stated))
    stated = headers.get("retry-after", "").strip()
    found = _seconds_or_date(stated, now)
    if found is None:
        found = _duration(stated)
    if found is not None:
        return found
    match = _IN_TEXT.search(message)
    if match:
        words = re.sub(r"(?i)millisecond\w*", "ms", match[1])
        words = re.sub(r"(?i)(h)our\w*|(m)in\w*|(s)ec\w*", _initial, words)
        return _duration(words)
    return _from_reset_headers(headers, now)


def _initial(match: re.Match[str]) -> str:
    return match[0][0].lower()


def _seconds_or_date(stated: str, now: datetime) -> int | None:
    if _NUMBER.fullmatch(stated):
        return round(float(stated) * 1000)
    try:
        moment = parsedate_to_datetime(stated)
    except (ValueError, IndexError):
        return None
    return _until(moment, now)


def _until(moment: datetime, now: datetime) -> int:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0, round((moment - now).total_seconds() * 1000))


def _duration(stated: str) -> int | None:
    """`6m0s`, `20ms`, `34s`."""
    parts = _DURATION.findall(stated.lower())
    if not parts:
        return None
    return round(sum(float(number) * _UNITS_MS[unit] for number, unit in parts))


def _from_reset_headers(headers: Mapping[str, str], now: datetime) -> int | None:
    """The latest reset among the limits that are used up."""
    waits = []
    for remaining, reset in _RESET_HEADERS:
        if headers.get(remaining, "").strip() in ("0", "0.0"):
            wait = _reset(headers.get(reset, "").strip(), now)
            if wait is not None:
                waits.append(wait)
    return max(waits, default=None)


def _reset(stated: str, now: datetime) -> int | None:
    """A duration, seconds, an epoch in seconds or milliseconds, or an RFC 3339 time."""
    if _NUMBER.fullmatch(stated):
        number = float(stated)
        if number > 1e11:
            return max(0, round(number - now.timestamp() * 1000))
        if number > 1e8:
            return max(0, round((number - now.timestamp()) * 1000))
        return round(number * 1000)
    try:
        return _until(datetime.fromisoformat(stated), now)
    except ValueError:
        return _duration(stated)


def retry_delay_ms(
    error: ProviderError,
    attempt: int,
    random: Callable[[], float],
    max_retries: int = MAX_RETRIES,
) -> int | None:
    """How long to wait before attempt `attempt` + 1, or None when not to try again.

    attempt: 1 for the first failure. random: uniform in [0, 1), for the jitter.
    The wait is never shorter than what the endpoint stated, and grows by doubling otherwise.
    """
    if not error.retryable or attempt > max_retries:
        return None
    stated = error.retry_after_ms
    if stated is not None and stated > MAX_STATED_MS:
        return None
    backoff = min(BASE_DELAY_MS << (attempt - 1), MAX_BACKOFF_MS)
    jittered = round(backoff * (0.5 + random() / 2))
    if stated is None:
        return jittered
    return stated + round(jittered / 4) if stated else jittered


def should_fall_back(error: ProviderError) -> bool:
    """Whether another provider may do better, once retries are used up.

    A request that is wrong in itself fails everywhere, except when it only was too long for this
    model's window.
    """
    if error.kind == "invalidRequest":
        return error.context_overflow
    return error.kind != "cancelled"
