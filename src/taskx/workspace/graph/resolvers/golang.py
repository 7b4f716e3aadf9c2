"""Go imports: a path names a folder, whose files of one package are all meant.

Modules of the tree, `replace` to a local folder, `go.work`, `vendor`, the standard library's own
tree. Source: Go Modules Reference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from taskx.workspace.graph.resolvers.base import (
    IMPORT,
    ImportRow,
    Link,
    PathIndex,
    Read,
    ancestors,
    below,
    join,
    parent,
    text_of,
)

_MODULE = re.compile(r'^\s*module\s+"?([^\s"]+)"?', re.M)
_REPLACE = re.compile(
    r'^\s*(?:replace\s+)?"?([^\s"]+)"?(?:\s+v\S+)?\s*=>\s*"?(\.\.?[^\s"]*)"?', re.M
)
_MAJOR = re.compile(r"/v\d+\Z")


class Module(NamedTuple):
    """One go.mod: its folder, its path ("" for the standard library's), local replacements."""

    folder: str
    path: str
    replace: dict[str, str]


class GoResolver:
    """Import rules over one tree. packages: file id -> name in its package clause."""

    def __init__(self, files: PathIndex, read: Read, packages: Mapping[int, str]) -> None:
        self.files = files
        self.packages = packages
        self.modules: dict[str, Module] = {}
        for path in files.named("go.mod"):
            self._add_module(parent(path), text_of(read(path)))
        self.by_path = sorted(
            self.modules.values(), key=lambda m: (-len(m.path), m.folder.count("/"), m.folder)
        )
        self._owners: dict[str, Module | None] = {}
        self._units: dict[str, tuple[int, ...]] = {}
        self._memo: dict[tuple[str, str], tuple[int, ...]] = {}

    def _add_module(self, folder: str, text: str) -> None:
        found = _MODULE.search(text)
        if found is None:
            return
        path = "" if found[1] == "std" else found[1]
        replace = {}
        for old, target in _REPLACE.findall(text):
            place = join(folder, target)
            if place is not None:
                replace[old] = place
        self.modules[folder] = Module(folder, path, replace)

    def resolve(self, source: str, row: ImportRow) -> list[Link]:
        if row.kind != IMPORT:
            return []
        key = (parent(source), row.module)
        if key not in self._memo:
            self._memo[key] = self._lookup(*key)
        files = self._memo[key]
        if not files:
            return []
        if row.alias == ".":
            return [Link(files, "*", public=False)]
        alias = row.alias or self._name(files, row.module)
        return [Link(files, "", "" if alias == "_" else alias, public=False)]

    def _name(self, files: tuple[int, ...], path: str) -> str:
        """The name a package is used by: the one in its clause, else the path's last part."""
        name = self.packages.get(files[0])
        return name or _MAJOR.sub("", path).rpartition("/")[2]

    def _owner(self, folder: str) -> Module | None:
        if folder not in self._owners:
            self._owners[folder] = next(
                (self.modules[a] for a in ancestors(folder) if a in self.modules), None
            )
        return self._owners[folder]

    def _lookup(self, folder: str, path: str) -> tuple[int, ...]:
        owner = self._owner(folder)
        for place in self._vendored(folder, owner, path):
            files = self._unit(place)
            if files:
                return files
        if path.startswith("."):
            relative = join(folder, path)
            return self._unit(relative) if relative is not None else ()
        if owner is not None:
            for old, target in sorted(owner.replace.items(), key=lambda i: -len(i[0])):
                if path == old or path.startswith(old + "/"):
                    return self._unit("/".join(filter(None, [target, path[len(old) + 1 :]])))
        return self._in_modules(path) or (self._by_suffix(path) if owner is None else ())

    def _vendored(self, folder: str, owner: Module | None, path: str) -> list[str]:
        """Places of `path` in the vendor folders a file of `folder` can see."""
        top = owner.folder if owner is not None else ""
        return [
            f"{above}/vendor/{path}" if above else f"vendor/{path}"
            for above in ancestors(folder)
            if below(top, above) and self.files.has_folder(f"{above}/vendor" if above else "vendor")
        ]

    def _in_modules(self, path: str) -> tuple[int, ...]:
        """The longest module path that is a prefix wins, and its module must own the folder."""
        for module in self.by_path:
            if not module.path:
                inner = path
            elif path == module.path:
                inner = ""
            elif path.startswith(module.path + "/"):
                inner = path[len(module.path) + 1 :]
            else:
                continue
            place = "/".join(filter(None, [module.folder, inner]))
            if (inner or module.path) and self._owner(place) is module:
                files = self._unit(place)
                if files:
                    return files
        return ()

    def _by_suffix(self, path: str) -> tuple[int, ...]:
        """For trees without go.mod: the path with its host and owner cut off."""
        parts = path.split("/")
        if "." not in parts[0] or self.modules:
            return ()
        for cut in range(1, min(len(parts), 4) + 1):
            files = self._unit("/".join(parts[cut:]))
            if files:
                return files
        return ()

    def _unit(self, folder: str) -> tuple[int, ...]:
        """The importable files of a folder: no tests, one package."""
        if folder not in self._units:
            named: dict[str, list[int]] = {}
            for name in sorted(self.files.names_in(folder)):
                if name.endswith(".go") and not name.endswith("_test.go"):
                    fid = self.files.ids[f"{folder}/{name}" if folder else name]
                    named.setdefault(self.packages.get(fid, ""), []).append(fid)
            last = folder.rpartition("/")[2]
            # A folder's generator programs (`package main`, never built with it) are not meant.
            best = max(
                named,
                key=lambda n: (n not in ("main", "documentation"), len(named[n]), n == last),
                default=None,
            )
            self._units[folder] = tuple(named[best]) if best is not None else ()
        return self._units[folder]
