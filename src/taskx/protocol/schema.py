"""The protocol's types as one JSON Schema document, from what validates the messages."""

from __future__ import annotations

from typing import Any

import msgspec

from taskx import errors
from taskx.protocol import capabilities
from taskx.protocol.methods import METHODS

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def document() -> dict[str, Any]:
    """`$defs` has every named type; `methods` refers to them; `errors` has the codes."""
    rows = [METHODS[name] for name in sorted(METHODS)]
    types = [kind for row in rows for kind in (row.params, row.result) if kind is not None]
    schemas, definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    schema = iter(schemas)
    methods = {}
    for row in rows:
        entry: dict[str, Any] = {"kind": row.kind, "handledBy": row.direction}
        entry["params"] = None if row.params is None else next(schema)
        if row.kind == "request":
            entry["result"] = {"type": "null"} if row.result is None else next(schema)
        methods[row.name] = entry
    return {
        "$schema": DIALECT,
        "title": "task-x protocol",
        "protocolVersion": capabilities.PROTOCOL_VERSION,
        "methods": methods,
        "errors": dict(sorted(error_codes().items())),
        "$defs": {name: definitions[name] for name in sorted(definitions)},
    }


def error_codes() -> dict[str, int]:
    """Each class of the exception tree that is told on the wire, and its code."""
    codes = {"InternalError": errors.TaskxError.code}
    waiting = [errors.TaskxError]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            waiting.append(kind)
            if "code" in vars(kind):
                codes[kind.__name__] = kind.code
    return codes
