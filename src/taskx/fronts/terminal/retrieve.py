"""`taskx retrieve`: the snippets that answer a question about a repository."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from taskx.fronts.terminal.output import checked, fail, print_json
from taskx.fronts.terminal.workspace import add_root, with_workspace

if TYPE_CHECKING:
    from taskx.protocol.context import RetrieveResult, Snippet
    from taskx.workspace.workspace import Workspace

EXAMPLE = 'example: taskx retrieve "where are redirects followed" --root ~/src/httpx'


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="a question, a name, a path or an error")
    add_root(parser)
    parser.add_argument(
        "--budget", type=int, default=8000, metavar="TOKENS", help="at most this much (8000)"
    )
    parser.add_argument(
        "--focus",
        action="append",
        default=[],
        metavar="PATH",
        help="a file or folder to prefer (repeatable)",
    )
    parser.add_argument(
        "--limit",
        type=int,
        default=5,
        metavar="N",
        help="snippets to print, the best one last (5; JSON has all, the best one first)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: Namespace) -> int:
    given = {"query": arguments.query, "budgetTokens": arguments.budget}
    params = checked({**given, "focusPaths": arguments.focus}, "RetrieveParams")
    if arguments.limit < 1:
        fail("--limit: expected 1 or more")

    async def ask(workspace: Workspace) -> RetrieveResult:
        return await workspace.retrieve(params.query, params.budget_tokens, params.focus_paths)

    result = with_workspace(arguments, ask)
    if arguments.json:
        print_json(result)
        return 0
    snippets = result.retrieval.snippets
    if not snippets:
        print("nothing in this repository matches")
        return 0
    show(snippets[: arguments.limit])
    return 0


def show(snippets: list[Snippet]) -> None:
    """Each snippet with its path, lines and reason above it, worst first so the best ends lowest.

    A terminal scrolls: the best answer is the one that must be in sight when the prompt returns.
    """
    from rich.console import Console
    from rich.syntax import Syntax
    from rich.text import Text

    console = Console()
    for snippet in reversed(snippets):
        head = Text()
        head.append(f"{snippet.path}:{snippet.start_line}", style="bold cyan")
        head.append(f"-{snippet.end_line}", style="cyan")
        head.append(f"  {snippet.reason}", style="dim")
        head.append(f"  {snippet.score:.1f}", style="dim")
        console.print(head, soft_wrap=True)
        console.print(
            Syntax(
                snippet.text,
                Syntax.guess_lexer(snippet.path, snippet.text),
                line_numbers=True,
                start_line=snippet.start_line,
                theme="ansi_dark",
                word_wrap=True,
            )
        )
        console.print()
