"""Rows of the index as Python values, for the few that are looked at one by one."""

from __future__ import annotations

from typing import NamedTuple

# Wire name of each symbol kind; the codes are LSP's SymbolKind.
KIND_NAMES = (
    "",
    "file",
    "module",
    "namespace",
    "package",
    "class",
    "method",
    "property",
    "field",
    "constructor",
    "enum",
    "interface",
    "function",
    "variable",
    "constant",
    "string",
    "number",
    "boolean",
    "array",
    "object",
    "key",
    "null",
    "enumMember",
    "struct",
    "event",
    "operator",
    "typeParameter",
)

# Status of a file: how far it was read. `_types.pxd` has the codes.
STATUS_NAMES = (
    "parsed",
    "text",
    "binary",
    "tooLarge",
    "minified",
    "unreadable",
    "vanished",
    "budget",
)
PARSED, TEXT, BINARY, TOO_LARGE, MINIFIED, UNREADABLE, VANISHED, BUDGET = range(8)


class Symbol(NamedTuple):
    """One definition. Lines are 1-based and inclusive."""

    name: str
    kind: int
    fid: int
    start_line: int
    end_line: int
    line: int
    """Where the name stands."""
    flags: int
    row: int
    """Its row in its segment."""
    parent: int
    """The row of the symbol around it, or -1."""

    @property
    def kind_name(self) -> str:
        return KIND_NAMES[self.kind]


class Import(NamedTuple):
    """One imported name; kinds, level and flags as in `_types.pxd`."""

    fid: int
    kind: int
    line: int
    level: int
    flags: int
    module: str
    name: str
    alias: str
    attr: str
