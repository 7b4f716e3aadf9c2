"""`taskx schema`: the protocol's types, for those who write a client."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace

EXAMPLE = "example: taskx schema --typescript > src/protocol.ts"


def add_arguments(parser: ArgumentParser) -> None:
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as JSON Schema (the default)")
    form.add_argument("--typescript", action="store_true", help="as a TypeScript module")


def run(arguments: Namespace) -> int:
    from taskx.protocol import schema, typescript

    document = schema.document()
    if arguments.typescript:
        sys.stdout.write(typescript.module(document))
    else:
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
    return 0
