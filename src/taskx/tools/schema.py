"""JSON Schemas of tool inputs, from the Structs that check them."""

from __future__ import annotations

import functools
from typing import Any

import msgspec


@functools.cache
def _schema(params: type[msgspec.Struct]) -> dict[str, Any]:
    (whole,), components = msgspec.json.schema_components([params], ref_template="#/$defs/{name}")
    name = whole["$ref"].rsplit("/", 1)[-1]
    schema = dict(components.pop(name))
    schema.pop("title", None)
    schema.pop("description", None)
    schema.setdefault("required", [])
    if components:
        schema["$defs"] = components
    return schema


def schema_of(params: type[msgspec.Struct]) -> dict[str, Any]:
    """A self-contained JSON Schema of an object."""
    return dict(_schema(params))
