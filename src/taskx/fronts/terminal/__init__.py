"""What a person types: `taskx index`, `retrieve`, `symbols`, `graph`, `doctor`.

Each module has `add_arguments(parser)` and `run(arguments) -> int` (the exit code). They drive the
same services as the runtime, in this process. Must not know: JSON-RPC. `rich` is imported late, so
that `--json` in a pipe does not pay for it.
"""
