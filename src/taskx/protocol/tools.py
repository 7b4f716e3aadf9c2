"""Types of `tools/list` and `tools/call`."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import field

from taskx.protocol.base import UNSET, UnsetType, Wire


class ToolInfo(Wire, frozen=True, kw_only=True):
    """input_schema: a JSON Schema of an object. tool_class: what permission it needs."""

    name: str
    description: str
    input_schema: dict[str, Any]
    tool_class: Literal["read", "write", "execute", "destructive", "network", "agent"] = field(
        name="class"
    )


class ToolsListResult(Wire, frozen=True, kw_only=True):
    tools: list[ToolInfo]


class ToolsCallParams(Wire, frozen=True, kw_only=True):
    name: str
    input: dict[str, Any] | UnsetType = UNSET


class ToolChange(Wire, frozen=True, kw_only=True):
    """One file that a call changed. operation: its entry in the edit log."""

    path: str
    operation: str
    kind: Literal["create", "modify", "delete", "move", "mode", "directory"]
    added: int
    removed: int


class ToolsCallResult(Wire, frozen=True, kw_only=True):
    """content: as a model gets it. data: the same as JSON, by tool."""

    content: str
    data: Any
    changes: list[ToolChange]
