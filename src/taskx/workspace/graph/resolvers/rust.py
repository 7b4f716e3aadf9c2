"""Rust `mod` and `use`: module trees from the crate roots, paths through re-exports.

Source: The Rust Reference, "Modules" and "Use declarations"; The Cargo Book, "Cargo targets".
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from taskx.workspace.graph.resolvers.base import (
    MODULE,
    REEXPORT,
    REEXPORT_ALL,
    WILDCARD,
    ImportRow,
    Link,
    PathIndex,
    Read,
    ancestors,
    join,
    parent,
    text_of,
)

PUBLIC = 4  # flag of import rows
MAX_STEPS = 24
TARGET_FOLDERS = ("src/bin", "examples", "tests", "benches")


class Scope(NamedTuple):
    """A module: the file it is written in, and its inline path inside that file."""

    file: int
    inline: tuple[str, ...] = ()


class RustResolver:
    """Import rules over one tree.

    rows: file id -> its import rows, asked for once per Rust file.
    """

    def __init__(
        self, files: PathIndex, read: Read, rows: Mapping[int, Iterable[ImportRow]]
    ) -> None:
        self.files = files
        self.read = read
        self.paths = {files.ids[path]: path for path in files.ids if path.endswith(".rs")}
        self.rows = {fid: list(rows.get(fid, ())) for fid in self.paths}
        self.roots: dict[int, str] = {}  # crate root file -> package folder
        self.libraries: dict[str, list[int]] = defaultdict(list)
        self.renamed: dict[str, dict[str, str]] = {}  # package folder -> name in code -> package
        self.editions: dict[str, str] = {}
        self.children: dict[Scope, dict[str, list[Scope]]] = defaultdict(dict)
        self.above: dict[Scope, Scope] = {}
        self.crate: dict[int, int] = {}  # file -> its crate root
        self._uses: dict[Scope, dict[str, list[ImportRow]]] = {}
        self._stars: dict[Scope, list[ImportRow]] = defaultdict(list)
        self._manifests()
        for root in list(self.roots):
            self._grow(root)
        for fid in self.paths:  # files no root reaches stand alone
            if fid not in self.crate:
                self._grow(fid)
        self._bind()

    # Crates

    def _manifests(self) -> None:
        for path in self.files.named("Cargo.toml"):
            try:
                data = tomllib.loads(text_of(self.read(path)))
            except (tomllib.TOMLDecodeError, RecursionError):
                data = {}
            self._package(parent(path), data)
        if not self.roots:
            for name in ("lib.rs", "main.rs"):
                for path in self.files.named(name):
                    self._root(self.files.ids[path], parent(parent(path)))

    def _package(self, folder: str, data: dict[str, Any]) -> None:
        package = data.get("package")
        if not isinstance(package, dict):
            return
        name = str(package.get("name", ""))
        edition = package.get("edition", "2015")
        self.editions[folder] = edition if isinstance(edition, str) else "2021"
        library = data.get("lib") if isinstance(data.get("lib"), dict) else {}
        assert isinstance(library, dict)
        root = self._file(folder, str(library.get("path", "src/lib.rs")))
        if root is not None:
            self._root(root, folder)
            self.libraries[str(library.get("name", name)).replace("-", "_")].append(root)
        targets = ["src/main.rs", str(package.get("build", "build.rs"))]
        for section in ("bin", "example", "test", "bench"):
            entries = data.get(section)
            targets += [
                entry["path"]
                for entry in (entries if isinstance(entries, list) else [])
                if isinstance(entry, dict) and isinstance(entry.get("path"), str)
            ]
        for target in targets:
            found = self._file(folder, target)
            if found is not None:
                self._root(found, folder)
        self._target_folders(folder)
        renames: dict[str, str] = {}
        tables = [data, *(t for t in _tables(data.get("target")))]
        for table in tables:
            for section in ("dependencies", "dev-dependencies", "build-dependencies"):
                for key, value in (table.get(section) or {}).items():
                    if isinstance(value, dict) and isinstance(value.get("package"), str):
                        renames[key.replace("-", "_")] = value["package"].replace("-", "_")
        self.renamed[folder] = renames

    def _target_folders(self, folder: str) -> None:
        for target in TARGET_FOLDERS:
            place = f"{folder}/{target}" if folder else target
            for name in self.files.names_in(place):
                if name.endswith(".rs"):
                    self._root(self.files.ids[f"{place}/{name}"], folder)
            for path in self.files.named("main.rs"):
                if parent(parent(path)) == place:
                    self._root(self.files.ids[path], folder)

    def _root(self, fid: int, folder: str) -> None:
        self.roots.setdefault(fid, folder)

    def _file(self, folder: str, relative: str) -> int | None:
        place = join(folder, relative)
        return self.files.get(place) if place is not None else None

    # The module tree

    def _grow(self, root: int) -> None:
        """Follow `mod` rows from a crate root."""
        self.crate[root] = root
        pending = [(root, True)]
        while pending:
            fid, beside = pending.pop()
            for row in self.rows[fid]:
                if row.kind != MODULE:
                    continue
                inline = _inline_path(row)
                scope = self._inline(fid, inline)
                for child, child_beside in self._module_files(fid, beside, row, inline):
                    target = Scope(child)
                    known = self.children[scope].setdefault(row.name, [])
                    if target not in known:
                        known.append(target)
                    if child not in self.crate:
                        self.crate[child] = root
                        self.above[target] = scope
                        pending.append((child, child_beside))

    def _inline(self, fid: int, inline: tuple[str, ...]) -> Scope:
        """The scope of an inline module, entered in the tree."""
        scope = Scope(fid)
        for used in range(1, len(inline) + 1):
            inner = Scope(fid, inline[:used])
            self.above[inner] = scope
            known = self.children[scope].setdefault(inline[used - 1], [])
            if inner not in known:
                known.append(inner)
            scope = inner
        return scope

    def _module_files(
        self, fid: int, beside: bool, row: ImportRow, inline: tuple[str, ...]
    ) -> list[tuple[int, bool]]:
        """(file, whether its own modules lie beside it) of a `mod` row; `module` is its #[path]."""
        path = self.paths[fid]
        folder = parent(path)
        own = folder if beside else "/".join(filter(None, [folder, _stem(path)]))
        if row.module:
            base = folder if not inline else "/".join(filter(None, [own, *inline]))
            place = join(base, row.module)
            found = self.files.get(place) if place is not None else None
            return [(found, True)] if found in self.paths and found is not None else []
        stem = "/".join(filter(None, [own, *inline, row.name.removeprefix("r#")]))
        for place, child_beside in ((stem + ".rs", False), (stem + "/mod.rs", True)):
            found = self.files.get(place)
            if found is not None and found != fid:
                return [(found, child_beside)]
        return []

    def _bind(self) -> None:
        for fid, rows in self.rows.items():
            for row in rows:
                if row.kind == MODULE or (not row.name and row.kind not in _STARS):
                    continue
                scope = self._inline(fid, _inline_path(row))
                if row.kind in _STARS:
                    self._stars[scope].append(row)
                else:
                    name = row.alias or (_last(row.module) if row.name == "self" else row.name)
                    self._uses.setdefault(scope, {}).setdefault(name, []).append(row)

    # Paths

    def resolve(self, source: str, row: ImportRow) -> list[Link]:
        fid = self.files.ids[source]
        inline = _inline_path(row)
        if row.kind == MODULE:
            targets = self.children.get(Scope(fid, inline), {}).get(row.name, [])
            return [Link((t.file,), "", row.name, public=True) for t in targets if t.file != fid]
        scope = Scope(fid, inline)
        public = row.kind in (REEXPORT, REEXPORT_ALL) or bool(row.flags & PUBLIC)
        segments = _segments(row)
        if row.kind in _STARS:
            found = self._walk(scope, segments, 0)
            return [
                Link((s.file,), "*" if not rest else "", public=public)
                for s, rest in found
                if s.file != fid or rest
            ]
        alias = row.alias or (segments[-1] if segments else "")
        links = []
        for target, rest in self._walk(scope, segments, 0):
            links.append(
                Link((target.file,), rest[0] if rest else "", "" if len(rest) > 1 else alias,
                     public=public)
            )  # fmt: skip
        return links

    def _walk(self, scope: Scope, segments: list[str], steps: int) -> list[tuple[Scope, list[str]]]:
        """(deepest module, names left) for each thing a path may mean from `scope`."""
        if steps > MAX_STEPS or not segments:
            return []
        first, rest = segments[0], segments[1:]
        if first == "":
            return self._crate(scope, rest, steps)
        if first in ("crate", "$crate"):
            root = Scope(self.crate.get(scope.file, scope.file))
            return self._descend(root, rest, steps)
        if first in ("self", "super"):
            here = scope
            for index, segment in enumerate(segments):
                if segment == "super":
                    above = self.above.get(here)
                    if above is None:
                        return []
                    here = above
                elif not (segment == "self" and index == 0):
                    return self._descend(here, segments[index:], steps)
            return [(here, [])]
        if self.editions.get(self._package_of(scope.file)) == "2015":
            root = Scope(self.crate.get(scope.file, scope.file))
            if self._known(root, first):
                return self._descend(root, segments, steps)
        if self._known(scope, first, segments, steps):
            return self._descend(scope, segments, steps)
        return self._crate(scope, segments, steps)

    def _known(
        self, scope: Scope, name: str, segments: list[str] | None = None, steps: int = 0
    ) -> bool:
        """Whether a path may start with `name` in this module itself."""
        if name in self.children.get(scope, ()):
            return True
        for row in self._uses.get(scope, {}).get(name, ()):
            # `use a::b` binds `b`, but the path of that very row starts outside.
            if segments is None or _segments(row) != segments:
                return _segments(row)[:1] != [name]
        return False

    def _crate(
        self, scope: Scope, segments: list[str], steps: int
    ) -> list[tuple[Scope, list[str]]]:
        if not segments:
            return []
        folder = self._package_of(scope.file)
        name = self.renamed.get(folder, {}).get(segments[0], segments[0])
        roots = self.libraries.get(name, [])
        if len(roots) > 1:
            own = [fid for fid in roots if self.roots.get(fid) == folder]
            roots = own or roots[:1]
        return [
            found for root in roots for found in self._descend(Scope(root), segments[1:], steps + 1)
        ]

    def _package_of(self, fid: int) -> str:
        folder = self.roots.get(self.crate.get(fid, fid))
        if folder is not None:
            return folder
        above = ancestors(parent(self.paths.get(fid, "")))
        return next((a for a in above if a in self.editions), "")

    def _descend(
        self, scope: Scope, segments: list[str], steps: int
    ) -> list[tuple[Scope, list[str]]]:
        """Follow names downwards: child modules, then what the module re-exports."""
        if not segments:
            return [(scope, [])]
        name, rest = segments[0], segments[1:]
        if name == "self":
            return self._descend(scope, rest, steps)
        targets = self.children.get(scope, {}).get(name)
        if targets:
            return [f for t in targets for f in self._descend(t, rest, steps + 1)]
        if steps < MAX_STEPS and rest:
            for row in self._uses.get(scope, {}).get(name, ()):
                inner = _segments(row)
                if inner == segments:
                    continue
                found = self._walk(scope, inner, steps + 1)
                modules = [t for t, left in found if not left]
                if modules:
                    return [f for t in modules for f in self._descend(t, rest, steps + 1)]
            for row in self._stars.get(scope, ()):
                for target, left in self._walk(scope, _segments(row), steps + 4):
                    if not left and target != scope and name in self.children.get(target, ()):
                        return self._descend(target, segments, steps + 1)
        return [(scope, segments)]


_STARS = (WILDCARD, REEXPORT_ALL)


def _segments(row: ImportRow) -> list[str]:
    parts = row.module.split("::") if row.module else []
    if row.kind in _STARS:
        return parts
    return parts if row.name == "self" and parts else [*parts, row.name] if row.name else parts


def _inline_path(row: ImportRow) -> tuple[str, ...]:
    """Inline modules around a row."""
    return tuple(filter(None, row.attr.split("::")))


def _last(path: str) -> str:
    return path.rpartition("::")[2]


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".rs")


def _tables(value: Any) -> list[dict[str, Any]]:
    return [t for t in value.values() if isinstance(t, dict)] if isinstance(value, dict) else []
