"""How results and errors reach a person or a pipe."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

USAGE_ERROR = 2


def print_json(value: Any) -> None:
    """One JSON document and a newline on stdout, the same fields as on the wire."""
    import msgspec
    import orjson

    options = orjson.OPT_APPEND_NEWLINE | (orjson.OPT_INDENT_2 if sys.stdout.isatty() else 0)
    sys.stdout.buffer.write(orjson.dumps(value, default=msgspec.to_builtins, option=options))
    sys.stdout.buffer.flush()


def fail(message: str, code: int = USAGE_ERROR) -> NoReturn:
    """Ends the command with one line on stderr that names what was wrong and what to do."""
    print(f"taskx: {message}", file=sys.stderr)
    raise SystemExit(code)


def checked(given: dict[str, Any], name: str) -> Any:
    """Arguments as the params of their method, held to the same ranges. Ends with exit code 2."""
    import msgspec

    from taskx.protocol import context, graph

    types = {
        "RetrieveParams": context.RetrieveParams,
        "SymbolsParams": context.SymbolsParams,
        "ProjectParams": graph.ProjectParams,
    }
    try:
        return msgspec.convert(given, types[name])
    except msgspec.ValidationError as error:
        fail(str(error).replace(" - at `$.", ": `"))


def count(number: int) -> str:
    """`12 345`: digits in groups, for people."""
    return f"{number:,}".replace(",", " ")


def size(size_bytes: int) -> str:
    """`1.4 GB`: decimal units, three digits at most."""
    value = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def duration(elapsed_ms: float) -> str:
    """`84 ms` or `3.2 s`."""
    return f"{elapsed_ms:.0f} ms" if elapsed_ms < 1000 else f"{elapsed_ms / 1000:.1f} s"
