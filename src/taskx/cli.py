"""From argv and environment to one front. Nothing else reads os.environ.

The order is fixed, because the exit code tells a client what to do: arguments are checked first
(exit 2), then the switches (5), then the configuration (3), then the session's lease (4).
Light on purpose: it is imported before `initialize` is answered.
"""

from __future__ import annotations

import contextlib
import os
import sys

from taskx import config
from taskx.config import ConfigError, Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

EXIT_CLEAN = 0
EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_CONFIG = 3
EXIT_SESSION_IN_USE = 4
EXIT_SWITCHED_OFF = 5

RUNTIME_HELP = """\
usage: task-x-runtime [options]

Serves the task-x protocol, version 1, on standard input and output.

  --data-dir DIR     keep tasks, checkpoints, sessions and the index in DIR
  --session ID       name of the session; needs a data dir, here or in initialize
  --config FILE      configuration file (TASK_X_CONFIG; else task-x/config.toml
                     in the configuration folder)
  --profile NAME     provider profile of the configuration file
  --mcp-server [--root DIR] [--no-tools]
                     serve the tools to an MCP client instead
  --acp              serve the Agent Client Protocol instead
  --hook-shell-edit  check one tool call given on standard input, and exit
  --version          print the version
  --help             print this

environment:
  TASK_X_LOG         error, warn, info, debug or trace; default warn
  TASK_X_CACHE=off   keep no index on disk
  TASK_X_SERVE=off   refuse to serve; TASK_X_ACP=off refuses --acp only

exit codes: 0 clean, 1 failed, 2 wrong arguments, 3 wrong configuration,
            4 session in use, 5 switched off

example: task-x-runtime --data-dir ~/.local/share/task-x
"""

# Surfaces: option -> what serves it, and its own switch.
SURFACES: dict[str, tuple[str, str | None]] = {
    "": ("taskx.fronts.runtime.start:serve", None),
    "--mcp-server": ("taskx.fronts.mcp.server:serve", None),
    "--acp": ("taskx.fronts.acp.server:serve", "TASK_X_ACP"),
}

HOOK = "taskx.fronts.shell_hook:main"


class UsageError(Exception):
    """What is wrong with the arguments."""


class Arguments:
    """The arguments of `task-x-runtime`."""

    __slots__ = ("config", "data_dir", "hook", "no_tools", "profile", "root", "session", "surface")

    def __init__(self) -> None:
        self.surface = ""
        self.hook = False
        self.no_tools = False
        self.root: str | None = None
        self.data_dir: str | None = None
        self.session: str | None = None
        self.config: str | None = None
        self.profile: str | None = None


_WITH_VALUE = {
    "--root": "root",
    "--data-dir": "data_dir",
    "--session": "session",
    "--config": "config",
    "--profile": "profile",
}


def parse(argv: list[str]) -> Arguments:
    """Raises UsageError. `--version` and `--help` are the caller's."""
    arguments = Arguments()
    rest = list(argv)
    while rest:
        name, has_value, value = rest.pop(0).partition("=")
        if name in _WITH_VALUE:
            if not has_value:
                if not rest:
                    raise UsageError(f"{name} needs a value")
                value = rest.pop(0)
            if not value:
                raise UsageError(f"{name} needs a value")
            if getattr(arguments, _WITH_VALUE[name]) is not None:
                raise UsageError(f"{name} is given twice")
            setattr(arguments, _WITH_VALUE[name], value)
        elif has_value:
            raise UsageError(f"unknown option {name}=…")
        elif name in ("--mcp-server", "--acp"):
            if arguments.surface not in ("", name):
                raise UsageError(f"{name} and {arguments.surface} exclude each other")
            arguments.surface = name
        elif name == "--no-tools":
            arguments.no_tools = True
        elif name == "--hook-shell-edit":
            arguments.hook = True
        else:
            raise UsageError(f"unknown argument {name!r}")
    _check(arguments)
    return arguments


def _check(arguments: Arguments) -> None:
    if arguments.hook and arguments.surface:
        raise UsageError(f"--hook-shell-edit and {arguments.surface} exclude each other")
    if arguments.surface != "--mcp-server" and (arguments.root or arguments.no_tools):
        raise UsageError("--root and --no-tools belong to --mcp-server")
    if arguments.session is not None:
        from taskx.sessions import record

        if not record.valid_id(arguments.session):
            raise UsageError(
                "--session: expected 1 to 128 letters, digits, `.`, `_` or `-`, no leading `.`"
            )


def runtime(argv: list[str]) -> int:
    """`task-x-runtime` and `taskx serve`. Returns the exit code."""
    if "--version" in argv or "--help" in argv or "-h" in argv:
        from taskx import __version__

        text = f"task-x-runtime {__version__}\n" if "--version" in argv else RUNTIME_HELP
        sys.stdout.write(text)
        return EXIT_CLEAN
    try:
        arguments = parse(argv)
    except UsageError as error:
        return _fail(EXIT_USAGE, f"{error} (see --help)")
    if arguments.hook:
        return _call(HOOK)
    return _serve(arguments, os.environ)


def _serve(arguments: Arguments, environment: Mapping[str, str]) -> int:
    target, switch = SURFACES[arguments.surface]
    for variable in ("TASK_X_SERVE", switch):
        if variable is not None and _switched_off(environment, variable):
            return _fail(EXIT_SWITCHED_OFF, f"switched off by {variable}=off")
    try:
        settings = _settings(arguments, environment)
    except ConfigError as error:
        return _fail(EXIT_CONFIG, str(error))
    from taskx.sessions.lease import LeaseTaken

    try:
        if arguments.surface == "--mcp-server":
            return _call(target, settings, arguments.root, not arguments.no_tools)
        return _call(target, settings)
    except LeaseTaken as error:
        return _fail(EXIT_SESSION_IN_USE, str(error))
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _fail(EXIT_CONFIG, f"--data-dir: {place}{error.strerror}")


def _settings(arguments: Arguments, environment: Mapping[str, str]) -> Settings:
    """Reads the configuration. Raises ConfigError."""
    settings = Settings()
    settings.config = config.find(environment, arguments.config)
    settings.profile, settings.api_key = config.select_profile(
        settings.config, arguments.profile, environment
    )
    if arguments.data_dir is not None:
        settings.data_dir = os.path.abspath(arguments.data_dir)
    settings.session_id = arguments.session
    settings.use_cache = not _switched_off(environment, "TASK_X_CACHE")
    settings.cache_dir = config.default_cache_dir(environment)
    settings.environment = environment
    settings.log_level = _log_level(environment)
    return settings


def _switched_off(environment: Mapping[str, str], variable: str) -> bool:
    return environment.get(variable, "").strip().lower() == "off"


def _log_level(environment: Mapping[str, str]) -> str:
    level = environment.get("TASK_X_LOG", "")
    if level in ("error", "warn", "info", "debug", "trace"):
        return level
    if level:
        _say(f"TASK_X_LOG={level!r} is not error, warn, info, debug or trace; using warn")
    return "warn"


def _call(target: str, *arguments: object) -> int:
    import importlib

    module, _, function = target.partition(":")
    try:
        front = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        return _fail(EXIT_SWITCHED_OFF, "this build does not have it")
    code: int = getattr(front, function)(*arguments)
    return code


def _say(message: str) -> None:
    with contextlib.suppress(OSError):  # without stderr the exit code has to do
        os.write(2, f"task-x-runtime: {message}\n".encode("utf-8", "backslashreplace"))


def _fail(code: int, message: str) -> int:
    _say(message)
    return code


def leave(code: int) -> NoReturn:
    """Ends the process now: worker threads may still be in native code, and need no waiting for."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or none
            stream.flush()
    os._exit(code)


# People's commands: name -> (module with add_arguments, run and EXAMPLE; one line for the list).
COMMANDS: dict[str, tuple[str, str]] = {
    "index": ("taskx.fronts.terminal.index", "index a folder and show what is in it"),
    "retrieve": ("taskx.fronts.terminal.retrieve", "find the code that answers a question"),
    "symbols": ("taskx.fronts.terminal.symbols", "find definitions by name"),
    "graph": ("taskx.fronts.terminal.graph", "show what depends on what"),
    "run": ("taskx.fronts.terminal.run", "give a task in this repository to an agent"),
    "chat": ("taskx.fronts.terminal.chat", "talk to a model"),
    "doctor": ("taskx.fronts.terminal.doctor", "say what is installed and what is wrong"),
    "schema": ("taskx.fronts.terminal.schema", "print the protocol's types"),
    "bench": ("taskx.bench.command", "measure this runtime on a folder"),
}


def taskx() -> None:
    """`taskx`: the commands for people and CI."""
    leave(_taskx(sys.argv[1:]))


def _taskx(argv: list[str]) -> int:
    if argv and argv[0] == "serve":
        return runtime(argv[1:])
    import argparse
    import importlib

    from taskx import __version__

    parser = argparse.ArgumentParser(
        prog="taskx",
        description="Work with a repository's code.",
        epilog="example: taskx retrieve 'where is the session saved' --root ~/src/django",
    )
    parser.add_argument("--version", action="version", version=f"taskx {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)
    commands.add_parser("serve", help="serve the protocol (the same as task-x-runtime)")
    chosen = next((word for word in argv if not word.startswith("-")), None)
    for name, (module, summary) in COMMANDS.items():
        if name != chosen:
            commands.add_parser(name, help=summary)
            continue
        command = importlib.import_module(module)
        sub = commands.add_parser(
            name,
            help=summary,
            description=summary[:1].upper() + summary[1:] + ".",
            epilog=command.EXAMPLE,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(sub)
        cached = not _switched_off(os.environ, "TASK_X_CACHE")
        sub.set_defaults(
            run=command.run,
            cache_dir=config.default_cache_dir(os.environ) if cached else None,
            environment=dict(os.environ),
        )
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else EXIT_USAGE
    from taskx.errors import TaskxError

    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()  # while it can still be told that nobody takes it
    except TaskxError as error:
        sys.stderr.write(f"taskx: {error.message}\n")
        return EXIT_ERROR
    except ConfigError as error:
        sys.stderr.write(f"taskx: {error}\n")
        return EXIT_CONFIG
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else EXIT_ERROR
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return EXIT_CLEAN
    except OSError as error:
        place = error.filename or "standard output"
        sys.stderr.write(f"taskx: {place}: {error.strerror or error}\n")
        return EXIT_ERROR
    return code
