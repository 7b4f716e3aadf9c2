"""`taskx symbols`: definitions by exact, prefix, subword and fuzzy name."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from taskx.fronts.terminal.output import checked, print_json
from taskx.fronts.terminal.workspace import add_root, with_workspace

if TYPE_CHECKING:
    from taskx.protocol.context import SymbolsResult
    from taskx.workspace.workspace import Workspace

EXAMPLE = "example: taskx symbols HttpReq --root ~/src/django --kind class"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a name or part of one; typos are forgiven")
    add_root(parser)
    parser.add_argument("--kind", help="only this kind, such as class, function, method, struct")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="at most N (20)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: Namespace) -> int:
    given = {"query": arguments.name, "limit": arguments.limit}
    if arguments.kind is not None:
        given["kind"] = arguments.kind
    params = checked(given, "SymbolsParams")

    async def search(workspace: Workspace) -> SymbolsResult:
        return await workspace.symbols(params.query, arguments.kind, params.limit)

    result = with_workspace(arguments, search)
    if arguments.json:
        print_json(result)
        return 0
    if not result.symbols:
        print(f"no symbol like {arguments.name}")
        return 0
    for symbol in result.symbols:
        place = f"{symbol.path}:{symbol.start_line}"
        inside = f" in {symbol.container}" if symbol.container else ""
        print(f"{place}  {symbol.kind} {symbol.name}{inside}")
    return 0
