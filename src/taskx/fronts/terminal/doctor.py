"""`taskx doctor`: what is installed, what is missing, and what to do about it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import taskx
from taskx import config
from taskx.fronts.terminal.output import print_json, size

EXAMPLE = "example: taskx doctor --json"

LIBRARIES = (
    "tree-sitter-language-pack",
    "rapidfuzz",
    "uvloop",
    "orjson",
    "msgspec",
    "httpx",
    "rich",
)
EXTENSIONS = ("scanner", "symbols", "refgraph", "scoring")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(arguments: Namespace) -> int:
    """Exit code 0 when nothing is wrong, 1 when something is."""
    findings = examine(arguments.cache_dir, arguments.environment)
    if arguments.json:
        print_json(findings)
    else:
        show(findings)
    return 1 if findings["problems"] else 0


def examine(cache_dir: str | None, environment: Mapping[str, str]) -> dict[str, Any]:
    problems: list[str] = []
    return {
        "taskx": taskx.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "libraries": library_versions(problems),
        "extensions": extension_states(problems),
        "grammars": grammar_states(problems),
        "sandbox": sandbox_state(problems),
        "programs": {name: shutil.which(name) for name in ("git", "bwrap", "rg", "claude")},
        "cache": cache_state(cache_dir, problems),
        "configuration": configuration_path(environment, problems),
        "problems": problems,
    }


def library_versions(problems: list[str]) -> dict[str, str | None]:
    versions: dict[str, str | None] = {}
    for name in LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
            problems.append(f"{name} is not installed: pip install {name}")
    return versions


def extension_states(problems: list[str]) -> dict[str, bool]:
    states: dict[str, bool] = {}
    for name in EXTENSIONS:
        try:
            import_module(f"taskx._native.{name}")
            states[name] = True
        except ImportError as error:
            states[name] = False
            problems.append(f"extension {name} does not load ({error}): install taskx again")
    return states


def grammar_states(problems: list[str]) -> dict[str, Any]:
    """Loads every grammar once: one that does not load is named, its files stay searchable."""
    from taskx.workspace.files.languages import LANGUAGES, grammar_capsule

    missing = []
    with_grammar = [language for language in LANGUAGES if language.grammar]
    for language in with_grammar:
        try:
            grammar_capsule(language.id)
        except (ImportError, ValueError, AttributeError) as error:
            missing.append(language.name)
            problems.append(f"grammar {language.name} does not load: {error}")
    return {"known": len(with_grammar), "missing": missing}


def sandbox_state(problems: list[str]) -> str:
    from taskx.process.available import sandbox_kind

    kind = sandbox_kind()
    if kind == "none":
        problems.append("no sandbox: install bubblewrap; until then commands need approval")
    elif kind == "landlock":
        problems.append("bubblewrap is missing: commands run under Landlock; install bubblewrap")
    return kind


def configuration_path(environment: Mapping[str, str], problems: list[str]) -> str | None:
    """The configuration file in force, whether it can be used or not."""
    try:
        return config.find(environment).path
    except config.ConfigError as error:
        problems.append(f"{error}: until then the runtime ends with exit code 3")
        return environment.get("TASK_X_CONFIG") or config.default_path(environment)


def cache_state(cache_dir: str | None, problems: list[str]) -> dict[str, Any]:
    if cache_dir is None:
        return {"path": None, "bytes": 0, "indexes": 0}
    folder = Path(cache_dir)
    state: dict[str, Any] = {"path": str(folder), "bytes": 0, "indexes": 0}
    existing = folder
    while not existing.exists():
        existing = existing.parent
    if not os.access(existing, os.W_OK):
        problems.append(f"cache folder {folder} cannot be written: set XDG_CACHE_HOME")
    if folder.is_dir():
        state["indexes"] = sum(1 for entry in folder.iterdir() if entry.is_dir())
        state["bytes"] = folder_bytes(folder)
    return state


def folder_bytes(folder: Path) -> int:
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(path, name)).st_size
            except FileNotFoundError:
                continue
    return total


def show(findings: dict[str, Any]) -> None:
    print(f"taskx {findings['taskx']}, Python {findings['python']}, {findings['platform']}")
    print(f"  cpus        {findings['cpus']}")
    versions = ", ".join(f"{name} {version}" for name, version in findings["libraries"].items())
    print(f"  libraries   {versions}")
    loaded = ", ".join(name for name, ok in findings["extensions"].items() if ok)
    print(f"  extensions  {loaded}")
    print(f"  grammars    {findings['grammars']['known']}")
    print(f"  sandbox     {findings['sandbox']}")
    cache = findings["cache"]
    place = cache["path"] or "switched off by TASK_X_CACHE=off"
    print(f"  cache       {place} ({cache['indexes']} indexes, {size(cache['bytes'])})")
    print(f"  config      {findings['configuration'] or 'no file'}")
    for name, path in findings["programs"].items():
        print(f"  {name:<11} {path or 'not found'}")
    if findings["problems"]:
        print("problems:", file=sys.stdout)
        for problem in findings["problems"]:
            print(f"  - {problem}")
    else:
        print("nothing is wrong")
