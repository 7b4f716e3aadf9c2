"""npm packages that live in the tree: names, `exports`, `imports`, and the sources behind them.

A workspace package usually names built files that are not in the tree (`dist/index.mjs`); the
source file behind such a name is found by mirroring the path into the package's sources.
Source: Node.js documentation, "Modules: Packages".
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from taskx.workspace.graph.resolvers import jsonc
from taskx.workspace.graph.resolvers.base import (
    PathIndex,
    Read,
    ancestors,
    join,
    parent,
    star_match,
    text_of,
)

MANIFEST = "package.json"
PNPM = "pnpm-workspace.yaml"
# Items of the list that follows `packages:`.
_PNPM_GLOB = re.compile(r"^\s*-\s*['\"]?([^'\"\s#]+)", re.M)
# Folders that hold what a build made of the sources.
BUILT = frozenset(
    [
        "dist",
        "build",
        "out",
        "lib",
        "es",
        "esm",
        "cjs",
        "umd",
        "types",
        "typings",
        "module",
        "commonjs",
        "output",
        "_esm",
        "_cjs",
    ]
)
SOURCES = ("src", "source", "lib", "")
ENTRIES = ("index", "main", "mod")


class Packages:
    """The package.json files of a tree, each parsed once."""

    def __init__(self, files: PathIndex, read: Read) -> None:
        self.files = files
        self.read = read
        self._data: dict[str, dict[str, Any]] = {}
        self._named: dict[str, list[str]] | None = None
        self._workspaces: dict[str, list[re.Pattern[str]]] = {}

    def data(self, folder: str) -> dict[str, Any]:
        """Contents of a folder's package.json; {} when there is none."""
        if folder not in self._data:
            path = f"{folder}/{MANIFEST}" if folder else MANIFEST
            known = path in self.files.ids
            self._data[folder] = jsonc.load_object(text_of(self.read(path))) if known else {}
        return self._data[folder]

    def scope(self, folder: str) -> str | None:
        """The folder of the package a folder belongs to."""
        for above in ancestors(folder):
            if (f"{above}/{MANIFEST}" if above else MANIFEST) in self.files.ids:
                return above
        return None

    def folder(self, source: str, name: str) -> str | None:
        """Folder of the package called `name`, the nearest to `source` when several are."""
        if self._named is None:
            self._named = defaultdict(list)
            for path in self.files.named(MANIFEST):
                own = self.data(parent(path)).get("name")
                if isinstance(own, str) and own:
                    self._named[own].append(path)
        paths = self._named.get(name, [])
        if len(paths) < 2:
            return parent(paths[0]) if paths else None
        # Of several with one name: the package the file is in, then a member of the workspace,
        # then the one nearest to the root; copies in fixtures lie deeper.
        own = self.scope(parent(source))
        if own is not None and f"{own}/{MANIFEST}" in paths:
            return own
        return parent(min(paths, key=lambda p: (not self._is_member(parent(p)), p.count("/"), p)))

    def _is_member(self, folder: str) -> bool:
        """Whether a workspace declared above a package lists it."""
        for above in ancestors(parent(folder)) if folder else []:
            for pattern in self._members(above):
                if pattern.fullmatch(folder):
                    return True
        return False

    def _members(self, folder: str) -> list[re.Pattern[str]]:
        """Patterns of the packages of a workspace declared in `folder`."""
        if folder not in self._workspaces:
            listed = self.data(folder).get("workspaces")
            listed = listed.get("packages") if isinstance(listed, dict) else listed
            globs = [g for g in listed if isinstance(g, str)] if isinstance(listed, list) else []
            path = f"{folder}/{PNPM}" if folder else PNPM
            if path in self.files.ids:
                globs += _PNPM_GLOB.findall(text_of(self.read(path)).partition("packages:")[2])
            self._workspaces[folder] = [_pattern(folder, g) for g in globs if not g.startswith("!")]
        return self._workspaces[folder]

    def export_targets(
        self, folder: str, subpath: str, conditions: tuple[str, ...]
    ) -> list[str] | None:
        """Places `exports` gives for "." or "./sub", as a resolver would try them.

        None when the package has no `exports`.
        """
        exports = self.data(folder).get("exports")
        if exports is None:
            return None
        if not (isinstance(exports, dict) and any(key.startswith(".") for key in exports)):
            exports = {".": exports}
        return _mapped(folder, exports, subpath, conditions)

    def import_targets(self, folder: str, spec: str, conditions: tuple[str, ...]) -> list[str]:
        """Places `imports` gives for a `#name`; package names in it come with a leading `:`."""
        imports = self.data(folder).get("imports")
        return _mapped(folder, imports, spec, conditions) if isinstance(imports, dict) else []

    def mains(self, folder: str) -> list[str]:
        """Places of the package's entry, sources first."""
        data = self.data(folder)
        keys = ("source", "types", "typings", "module", "main")
        values = [data[key] for key in keys if isinstance(data.get(key), str)]
        places = (join(folder, value) for value in values)
        return [place for place in places if place is not None]

    def mirrors(self, folder: str, places: list[str], subpath: str) -> list[str]:
        """Source places behind built ones: `dist/x.mjs` -> `src/x`, without an extension."""
        found: list[str] = []
        for place in places:
            inner = place[len(folder) :].lstrip("/") if place.startswith(folder) else place
            parts = inner.split("/")
            cut = 0
            while cut < len(parts) - 1 and parts[cut] in BUILT:
                cut += 1
            stem = _stem("/".join(parts[cut:]))
            if cut or stem != inner:
                found += [_join(folder, source, stem) for source in SOURCES]
        wanted = subpath.removeprefix(".").lstrip("/")
        if wanted:
            found += [_join(folder, source, _stem(wanted)) for source in SOURCES]
        else:
            found += [_join(folder, source, name) for source in SOURCES for name in ENTRIES]
        return list(dict.fromkeys(found))


def _pattern(folder: str, glob: str) -> re.Pattern[str]:
    """A workspace glob, relative to the folder that declares it."""
    text = re.escape(glob.removeprefix("./").rstrip("/"))
    text = text.replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    return re.compile((re.escape(folder) + "/" if folder else "") + text)


def _mapped(folder: str, table: dict[str, Any], key: str, conditions: tuple[str, ...]) -> list[str]:
    value, star = table.get(key), ""
    if value is None and (found := star_match(key, table)) is not None:
        value, star = table[found[0]], found[1]
    places: list[str] = []
    for target in _leaves(value, conditions):
        text = target.replace("*", star)
        if not text.startswith("."):
            places.append(":" + text)
            continue
        place = join(folder, text)
        if place is not None:
            places.append(place)
    return list(dict.fromkeys(places))


def _leaves(value: Any, conditions: tuple[str, ...]) -> list[str]:
    """Targets in the order in which they should be tried.

    First what the project's own conditions and anything called a source say, then the order of
    the file, `types` last: it names what a build would write.
    """
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [leaf for item in value for leaf in _leaves(item, conditions)]
    if not isinstance(value, dict):
        return []
    first, middle, last = [], [], []
    for condition, target in value.items():
        leaves = _leaves(target, conditions)
        if condition in conditions or "source" in condition or condition in ("src", "development"):
            first += leaves
        elif condition.startswith("types"):
            last += leaves
        else:
            middle += leaves
    return first + middle + last


def _join(folder: str, *parts: str) -> str:
    return "/".join(part for part in (folder, *parts) if part)


def _stem(path: str) -> str:
    """Path without the extension of a script or of its declarations."""
    folder, slash, name = path.rpartition("/")
    for suffix in (".d.ts", ".d.mts", ".d.cts"):
        if name.endswith(suffix):
            return folder + slash + name[: -len(suffix)]
    stem, dot, suffix = name.rpartition(".")
    scripts = ("js", "mjs", "cjs", "jsx", "ts", "tsx", "mts", "cts")
    return folder + slash + (stem if dot and stem and suffix in scripts else name)
