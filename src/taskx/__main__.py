"""`task-x-runtime`: the process that an editor starts."""

from __future__ import annotations

import sys

from taskx import cli


def main() -> None:
    cli.leave(cli.runtime(sys.argv[1:]))


if __name__ == "__main__":
    main()
