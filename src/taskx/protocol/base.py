"""The two bases of every wire type.

A type of its own repeats `frozen=True, kw_only=True`. `UNSET` is an absent field, None is null.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

__all__ = ["UNSET", "Event", "UnsetType", "Wire", "event_tag"]


class Wire(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """An object on the wire. Unknown fields are ignored unless the type forbids them."""


def event_tag(class_name: str) -> str:
    """`TextDeltaEvent` -> `textDelta`."""
    name = class_name.removesuffix("Event")
    return name[:1].lower() + name[1:]


class Event(Wire, tag_field="type", tag=event_tag, frozen=True, kw_only=True):
    """One of several objects told apart by `type`."""
