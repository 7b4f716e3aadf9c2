"""TypeScript types from the JSON Schema document of `schema.py`."""

from __future__ import annotations

import json
import re
from typing import Any

_WIDTH = 100
_PLAIN = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*\Z")

_HEAD = """\
// Types of the task-x protocol, version {version}. Made by `taskx schema --typescript`.

"""

_TABLES = (
    ("Requests", "Requests that the client sends.", "request", "server"),
    ("Notifications", "Notifications that the client sends.", "notification", "server"),
    ("ClientRequests", "Requests that the runtime sends to the client.", "request", "client"),
    ("ClientNotifications", "Notifications that the runtime sends.", "notification", "client"),
)


def module(document: dict[str, Any]) -> str:
    """A module of types only; it compiles under `tsc --strict`."""
    parts = [_HEAD.format(version=document["protocolVersion"])]
    parts += [
        _definition(name, schema) + "\n" for name, schema in sorted(document["$defs"].items())
    ]
    parts += [_table(document["methods"], *table) + "\n" for table in _TABLES]
    codes = " | ".join(str(code) for code in sorted(set(document["errors"].values())))
    parts.append(f"/** Codes of error replies. */\nexport type ErrorCode = {codes};\n")
    return "".join(parts)


def _definition(name: str, schema: dict[str, Any]) -> str:
    head = _comment(schema.get("description"), "")
    if schema.get("type") == "object" and "properties" in schema:
        return f"{head}export interface {type_name(name)} {_object(schema, '')}\n"
    return f"{head}export type {type_name(name)} = {_type(schema, '')};\n"


def type_name(name: str) -> str:
    """A name of `$defs` as an identifier."""
    return re.sub(r"\W+", "_", name).strip("_")


def _table(methods: dict[str, Any], name: str, about: str, kind: str, direction: str) -> str:
    lines = [f"/** {about} */", f"export interface {name} {{"]
    for method, entry in methods.items():
        if (entry["kind"], entry["handledBy"]) != (kind, direction):
            continue
        params = "undefined" if entry["params"] is None else _type(entry["params"], "  ")
        if kind == "request":
            params = f"{{ params: {params}; result: {_type(entry['result'], '  ')} }}"
        lines.append(f"  {json.dumps(method)}: {params};")
    return "\n".join([*lines, "}"]) + "\n"


def _comment(text: str | None, indent: str) -> str:
    if not text:
        return ""
    lines = text.replace("*/", "* /").strip().split("\n")
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    body = "".join(f"{indent} * {line.strip()}".rstrip() + "\n" for line in lines)
    return f"{indent}/**\n{body}{indent} */\n"


def _object(schema: dict[str, Any], indent: str) -> str:
    inner = indent + "  "
    required = set(schema.get("required", ()))
    lines = []
    for field, kind in schema["properties"].items():
        key = field if _NAME.match(field) else json.dumps(field)
        mark = "" if field in required else "?"
        lines.append(
            f"{_comment(kind.get('description'), inner)}{inner}{key}{mark}: {_type(kind, inner)};\n"
        )
    return "{\n" + "".join(lines) + indent + "}"


def _type(schema: dict[str, Any], indent: str) -> str:
    """The type expression of a schema; what says nothing is `unknown`."""
    if "$ref" in schema:
        return type_name(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return " | ".join(dict.fromkeys(_type(part, indent) for part in schema[union]))
    kind = schema.get("type")
    if kind == "array":
        return _array(schema, indent)
    if kind == "object":
        return _map(schema, indent)
    if isinstance(kind, list):
        return " | ".join(_PLAIN[part] for part in kind)
    return _PLAIN.get(kind or "", "unknown")


def _array(schema: dict[str, Any], indent: str) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(_type(item, indent) for item in schema['prefixItems'])}]"
    items = schema.get("items")
    item = _type(items, indent) if isinstance(items, dict) else "unknown"
    return f"({item})[]" if " | " in item else f"{item}[]"


def _map(schema: dict[str, Any], indent: str) -> str:
    if schema.get("properties"):
        return _object(schema, indent)
    values = schema.get("additionalProperties")
    return f"Record<string, {_type(values, indent) if isinstance(values, dict) else 'unknown'}>"
