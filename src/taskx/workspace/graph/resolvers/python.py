"""Python imports: relative, absolute, packages with and without `__init__.py`, several roots.

Absolute names are searched as an interpreter started in the nearest sensible place would: the
importing file's own root first, then the folders above it with their `src` and `lib`, then roots
the repository declares, then the roots of its other projects. Source: the language reference,
"The import system".
"""

from __future__ import annotations

import configparser
import contextlib
import sys
import tomllib
from collections import defaultdict
from typing import Any

from taskx.workspace.graph.resolvers.base import (
    NAME,
    WILDCARD,
    ImportRow,
    Link,
    PathIndex,
    Read,
    ancestors,
    below,
    join,
    parent,
    shared_depth,
    text_of,
)

SUFFIXES = (".py", ".pyi", ".pyx", ".pyw")
INITS = ("__init__.py", "__init__.pyi", "__init__.pyx")
# Folders below a project that hold packages without being one.
SOURCE_FOLDERS = ("src", "lib", "python", "Lib")
MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py", "pytest.ini", "tox.ini")


class PythonResolver:
    """Import rules over one tree. Memoised per (folder, module)."""

    def __init__(self, files: PathIndex, read: Read) -> None:
        self.files = files
        self.read = read
        self.packages: set[str] = set()
        self.tops: dict[str, set[str]] = defaultdict(set)
        self.projects: set[str] = set()
        self.declared: dict[str, list[str]] = {}
        self._memo: dict[tuple[str, str, bool], tuple[int, bool] | None] = {}
        self._roots_memo: dict[tuple[str, str], list[str]] = {}
        self._scan()

    def _scan(self) -> None:
        sources: set[str] = set()
        for folder, names in self.files.folders.items():
            found = False
            for name in names:
                if name.endswith(SUFFIXES):
                    found = True
                    stem = name.rpartition(".")[0]
                    if stem == "__init__":
                        self.packages.add(folder)
                    else:
                        self.tops[stem].add(folder)
                elif name in MANIFESTS:
                    self.projects.add(folder)
                if name == "setup.py":
                    self.projects.add(folder)
            if found:
                sources.update(ancestors(folder))
        for folder in sources:
            if folder:
                self.tops[folder.rpartition("/")[2]].add(parent(folder))
        for project in sorted(self.projects):
            roots = self._declared_roots(project)
            if roots:
                self.declared[project] = roots

    def _declared_roots(self, project: str) -> list[str]:
        names = set(self.files.names_in(project))
        relative: list[str] = []
        if "pyproject.toml" in names:
            raw = self.read(_at(project, "pyproject.toml"))
            with contextlib.suppress(tomllib.TOMLDecodeError, RecursionError):
                relative += _pyproject_roots(tomllib.loads(text_of(raw)))
        for name in ("setup.cfg", "pytest.ini", "tox.ini"):
            if name in names:
                relative += _ini_roots(text_of(self.read(_at(project, name))))
        roots = (join(project, item) for item in relative)
        return list(dict.fromkeys(root for root in roots if root is not None))

    def resolve(self, source: str, row: ImportRow) -> list[Link]:
        stub = source.endswith(".pyi")
        if row.kind == NAME:
            return self._from_import(source, row, stub)
        if row.kind == WILDCARD:
            module = self._module(source, row.level, row.module, stub)
            return [Link((module[0],), "*")] if module else []
        module = self._module(source, row.level, row.module, stub)
        if module is None:
            return []
        links = [Link((module[0],), "", row.alias)]
        if not row.alias:
            top = row.module.partition(".")[0]
            if top == row.module:
                links = [Link((module[0],), "", top)]
            else:
                first = self._module(source, row.level, top, stub)
                if first is not None:
                    links.append(Link((first[0],), "", top, edge=False))
        return links

    def _from_import(self, source: str, row: ImportRow, stub: bool) -> list[Link]:
        alias = row.alias or row.name
        dotted = f"{row.module}.{row.name}" if row.module else row.name
        module = self._module(source, row.level, dotted, stub)
        if module is not None and module[1]:
            return [Link((module[0],), "", alias)]
        package = self._module(source, row.level, row.module, stub)
        return [Link((package[0],), row.name, alias)] if package else []

    def _module(self, source: str, level: int, dotted: str, stub: bool) -> tuple[int, bool] | None:
        """(file, exact) of a module; not exact when only a package above it is here."""
        folder = parent(source)
        if level:
            for _ in range(level - 1):
                if not folder:
                    return None
                folder = parent(folder)
            return self._below(folder, dotted, stub, package=True)
        if not dotted:
            return None
        key = (folder, dotted, stub)
        if key not in self._memo:
            self._memo[key] = self._absolute(folder, dotted, stub)
        return self._memo[key]

    def _absolute(self, folder: str, dotted: str, stub: bool) -> tuple[int, bool] | None:
        partial = None
        for root in self._roots(folder, dotted.partition(".")[0]):
            found = self._below(root, dotted, stub, package=False)
            if found is None:
                continue
            if found[1]:
                return found
            partial = partial or found
        return partial

    def _below(self, root: str, dotted: str, stub: bool, package: bool) -> tuple[int, bool] | None:
        """Look `dotted` up below one root; `package`: the root itself may be the answer."""
        parts = dotted.split(".") if dotted else []
        for used in range(len(parts), -1 if package else 0, -1):
            stem = "/".join(([root] if root else []) + parts[:used])
            found = self._file(stem, stub, folder_only=not used)
            if found is not None:
                return found, used == len(parts)
        return None

    def _file(self, stem: str, stub: bool, folder_only: bool) -> int | None:
        prefix = stem + "/" if stem else ""
        inits = [prefix + name for name in INITS]
        modules = [] if folder_only else [stem + suffix for suffix in SUFFIXES]
        if stub:
            inits[:2] = inits[1::-1]
            modules[:2] = modules[1::-1]
        return self.files.first(inits + modules)

    def _roots(self, folder: str, top: str) -> list[str]:
        """Folders in which `import top` may be looked up from `folder`, best first."""
        key = (folder, top)
        if key not in self._roots_memo:
            self._roots_memo[key] = self._search(folder, top)
        return self._roots_memo[key]

    def _search(self, folder: str, top: str) -> list[str]:
        candidates = self.tops.get(top)
        if not candidates:
            return []
        own = folder
        while own in self.packages and own:
            own = parent(own)
        if top in sys.stdlib_module_names:
            return [own] if own in candidates else []
        ranked: list[tuple[int, int, str]] = []
        for root in candidates:
            if root in self.packages and root != own:
                continue
            rank = self._rank(own, root)
            if rank is not None:
                ranked.append((*rank, root))
        ranked.sort()
        # Two other projects that are equally far away: which one is meant cannot be told.
        if len(ranked) > 1 and ranked[0][0] == 3 and ranked[0][:2] == ranked[1][:2]:
            return []
        return [root for _, _, root in ranked]

    def _rank(self, own: str, root: str) -> tuple[int, int] | None:
        """(class, -depth) of a root seen from the importer's own root; smaller is nearer."""
        if below(root, own):
            return (0, -_depth(root) * 2)
        above = parent(root)
        if root.rpartition("/")[2] in SOURCE_FOLDERS and below(above, own):
            return (0, -_depth(above) * 2 - 1)
        for project, roots in self.declared.items():
            if root in roots and below(project, own):
                return (1, -_depth(project))
        is_project = root in self.projects or (
            root.rpartition("/")[2] in SOURCE_FOLDERS and above in self.projects
        )
        if is_project or any(root in roots for roots in self.declared.values()):
            return (3, -shared_depth(own, root))
        return None


def _at(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _depth(folder: str) -> int:
    return folder.count("/") + 1 if folder else 0


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _table(value: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _pyproject_roots(data: dict[str, Any]) -> list[str]:
    """Folders that hold packages, as build backends, pytest and type checkers are told."""
    tool = _table(data, "tool")
    setuptools = _table(tool, "setuptools")
    roots = _strings(_table(setuptools, "packages", "find").get("where"))
    for name, folder in _table(setuptools, "package-dir").items():
        if isinstance(folder, str):
            roots.append(folder if not name else folder.rpartition("/")[0])
    for package in _table(tool, "poetry").get("packages") or []:
        if isinstance(package, dict) and isinstance(package.get("from"), str):
            roots.append(package["from"])
    hatch = _table(tool, "hatch", "build", "targets", "wheel")
    roots += [item.rpartition("/")[0] for item in _strings(hatch.get("packages"))]
    roots += _strings(hatch.get("sources"))
    roots += _strings(_table(tool, "pdm", "build").get("package-dir"))
    roots += _strings(_table(tool, "flit", "module").get("root"))
    roots += _strings(_table(tool, "pytest", "ini_options").get("pythonpath"))
    roots += _strings(_table(tool, "pyright").get("extraPaths"))
    for item in _strings(_table(tool, "mypy").get("mypy_path")):
        roots += item.replace(",", ":").split(":")
    return [root.removeprefix("$MYPY_CONFIG_FILE_DIR/").strip() for root in roots]


def _ini_roots(text: str) -> list[str]:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.Error:
        return []
    roots: list[str] = []
    for section, option in (
        ("options.packages.find", "where"),
        ("pytest", "pythonpath"),
        ("tool:pytest", "pythonpath"),
        ("mypy", "mypy_path"),
    ):
        value = parser.get(section, option, fallback=None)
        if value:
            roots += value.replace(",", " ").replace(":", " ").split()
    for line in (parser.get("options", "package_dir", fallback=None) or "").splitlines():
        name, equals, folder = line.partition("=")
        if equals and not name.strip():
            roots.append(folder.strip())
    return roots
