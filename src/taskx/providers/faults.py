"""Errors of endpoints as `ProviderError`: the right kind, and words a user can act on.

The message names host and model and never holds the key. A vendor's own error type in the body
wins over the status; a context overflow is told apart from other refusals.
Source: protocol v1, "ProviderError"; the project's protocol page, "Provider errors".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from taskx.errors import ProviderError
from taskx.providers.endpoint import Endpoint
from taskx.providers.retry import retry_after_ms

MAX_QUOTED_CHARS = 500

_BY_STATUS = {
    400: "invalidRequest",
    401: "auth",
    402: "permissionDenied",
    403: "permissionDenied",
    404: "notFound",
    408: "timeout",
    409: "server",
    425: "rateLimited",
    429: "rateLimited",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}

# Error types and codes of the vendors, lower case, to kinds. A type not listed says nothing.
_BY_TYPE = {
    # Anthropic
    "authentication_error": "auth",
    "permission_error": "permissionDenied",
    "billing_error": "permissionDenied",
    "not_found_error": "notFound",
    "request_too_large": "invalidRequest",
    "rate_limit_error": "rateLimited",
    "api_error": "server",
    "overloaded_error": "overloaded",
    "timeout_error": "timeout",
    # OpenAI and those after it
    "invalid_api_key": "auth",
    "invalid_authentication": "auth",
    "account_deactivated": "permissionDenied",
    "insufficient_quota": "permissionDenied",
    "insufficient_balance": "permissionDenied",
    "billing_hard_limit_reached": "permissionDenied",
    "billing_not_active": "permissionDenied",
    "unsupported_country_region_territory": "permissionDenied",
    "model_not_found": "notFound",
    "deploymentnotfound": "notFound",
    "rate_limit_exceeded": "rateLimited",
    "rate_limit_reached": "rateLimited",
    "server_error": "server",
    "internal_error": "server",
    "internal_server_error": "server",
    "service_unavailable": "overloaded",
    "engine_overloaded": "overloaded",
    "engine_overloaded_error": "overloaded",
    "context_length_exceeded": "invalidRequest",
    # llama.cpp
    "exceed_context_size_error": "invalidRequest",
    "unavailable_error": "overloaded",
    # Google
    "invalid_argument": "invalidRequest",
    "unauthenticated": "auth",
    "permission_denied": "permissionDenied",
    "not_found": "notFound",
    "resource_exhausted": "rateLimited",
    "unavailable": "overloaded",
    "internal": "server",
    "deadline_exceeded": "timeout",
}

_OVERFLOW_TYPES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_OVERFLOW_TEXT = re.compile(
    r"(?i)maximum context length|context length exceeded"
    r"|exceeds? (?:the )?(?:available |model'?s? |maximum )?context"
    r"|prompt is too long|maximum prompt length|exceed context limit"
    r"|context window|longer than the maximum model length|maximum model length"
    r"|input token count.{0,40}exceeds the maximum|exceeded model token limit"
    r"|greater than the context length|context length of only|input is too long"
    r"|reduce the length of (?:the|your) (?:messages|prompt|input)|exceeds max length"
    r"|max_new_tokens` must be <=|prompt too long|input length exceeds|too many tokens"
    r"|exceeds the limit of \d+ tokens|larger than the max(?:imum)? context"
)
_ADVICE = {
    "auth": "refused the API key: check it",
    "permissionDenied": "does not allow this: check the key's rights, the account and its balance",
    "notFound": "does not know this model or address: check `model` and `baseUrl`",
    "rateLimited": "is limiting requests: wait, or use another model",
    "overloaded": "is overloaded or still loading: try again in a moment",
    "server": "failed: try again",
    "timeout": "did not finish in time: try again",
    "invalidRequest": "refused the request",
    "protocol": "sent something that is not its API: check `baseUrl`",
    "network": "broke the connection",
}
_OVERFLOW_ADVICE = "refused the request: it is longer than the model's context window"


def kind_of_status(status: int) -> str:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return "server" if status >= 500 else "invalidRequest"


def from_response(
    endpoint: Endpoint, status: int, headers: Mapping[str, str], body: bytes
) -> ProviderError:
    """The error of an answer whose status is not a success.

    headers: keys in lower case. body: as much of it as was read.
    """
    try:
        payload = orjson.loads(body)
    except orjson.JSONDecodeError:
        payload = None
    return from_payload(endpoint, payload, status=status, headers=headers)


def from_payload(
    endpoint: Endpoint,
    payload: Any,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> ProviderError:
    """The error an endpoint reports in JSON, in an answer or in the middle of a stream."""
    report = Report.of(payload)
    http_failed = status is not None and status >= 400
    kind = report.kind or (kind_of_status(status) if status and http_failed else "server")
    overflow = kind == "invalidRequest" and report.is_overflow
    if kind == "server" and not http_failed and report.is_overflow:
        kind, overflow = "invalidRequest", True
    shown_status = status if status is not None else report.status
    advice = _OVERFLOW_ADVICE if overflow else _ADVICE[kind]
    wait = None
    if kind in ("rateLimited", "overloaded", "server", "timeout"):
        wait = report.wait_ms
        if wait is None:
            wait = retry_after_ms(headers or {}, report.message, datetime.now(UTC))
    return ProviderError(
        kind,
        _message(endpoint, advice, report.message, shown_status),
        status=shown_status,
        retry_after_ms=wait,
        context_overflow=overflow,
    )


def failure(endpoint: Endpoint, kind: str, what: str, status: int | None = None) -> ProviderError:
    """A fault seen on this side. `what` continues "HOST (model M) ..."."""
    return ProviderError(kind, _message(endpoint, what, "", status), status=status)


def _message(endpoint: Endpoint, what: str, quoted: str, status: int | None) -> str:
    text = f"{endpoint.host} (model {endpoint.model}) {what}"
    if status is not None:
        text += f" [HTTP {status}]"
    quoted = " ".join(quoted.split())
    if len(quoted) > MAX_QUOTED_CHARS:
        quoted = quoted[:MAX_QUOTED_CHARS] + "…"
    return endpoint.redact(f"{text}: {quoted}" if quoted else text)


class Report:
    """What the error object of some vendor says, whatever its shape."""

    def __init__(self, types: list[str], message: str, status: int | None, wait_ms: int | None):
        self.types = types
        self.message = message
        self.status = status
        self.wait_ms = wait_ms

    @property
    def kind(self) -> str | None:
        for name in self.types:
            if name in _BY_TYPE:
                return _BY_TYPE[name]
        return kind_of_status(self.status) if self.status is not None else None

    @property
    def is_overflow(self) -> bool:
        return any(name in _OVERFLOW_TYPES for name in self.types) or (
            _OVERFLOW_TEXT.search(self.message) is not None
        )

    @staticmethod
    def of(payload: Any) -> Report:
        if isinstance(payload, list) and payload:
            payload = payload[0]
        if not isinstance(payload, dict):
            return Report([], payload if isinstance(payload, str) else "", None, None)
        error = payload.get("error", payload)
        if isinstance(error, str):
            error = {**payload, "message": payload.get("message") or error}
        if not isinstance(error, dict):
            error = payload
        # The code is the finer word (OpenAI: type `invalid_request_error`, code `model_not_found`).
        words = [error.get(key) for key in ("code", "type", "status", "error_type")]
        types = [word.lower() for word in words if isinstance(word, str)]
        status = next(
            (word for word in words if type(word) is int and 400 <= word <= 599),
            None,
        )
        return Report(types, _text_of(error), status, _stated_wait(error))


def _text_of(error: dict[str, Any]) -> str:
    """The words for people; `detail` is FastAPI's, `raw` what OpenRouter passes on."""
    message = error.get("message") or error.get("detail") or error.get("error") or ""
    if isinstance(message, list):
        message = "; ".join(
            str(item.get("msg", item)) if isinstance(item, dict) else str(item) for item in message
        )
    if isinstance(message, dict):
        message = message.get("message", "")
    metadata = error.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("raw"), str):
        message = f"{message}: {metadata['raw']}"
    return message if isinstance(message, str) else str(message)


def _stated_wait(error: dict[str, Any]) -> int | None:
    """Google's `RetryInfo`, and the headers OpenRouter repeats in the body."""
    details = error.get("details")
    for detail in details if isinstance(details, list) else []:
        if isinstance(detail, dict) and isinstance(detail.get("retryDelay"), str):
            return retry_after_ms({"retry-after": detail["retryDelay"]}, "", datetime.now(UTC))
    metadata = error.get("metadata")
    headers = metadata.get("headers") if isinstance(metadata, dict) else None
    if isinstance(headers, dict):
        lowered = {str(key).lower(): str(value) for key, value in headers.items()}
        return retry_after_ms(lowered, "", datetime.now(UTC))
    return None
