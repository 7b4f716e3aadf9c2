"""TypeScript and JavaScript module specifiers, as the compiler and bundlers resolve them.

Order: relative; `#imports`; `paths` and `baseUrl` of the governing config; a package of this tree
by name. Source: TypeScript handbook, "Modules: Reference"; Node.js documentation, "Packages".
"""

from __future__ import annotations

from taskx.workspace.graph.resolvers.base import (
    DYNAMIC,
    EXPORT_LOCAL,
    IMPORT,
    INCLUDE,
    NAME,
    REEXPORT,
    REEXPORT_ALL,
    TYPE_ONLY,
    WILDCARD,
    ImportRow,
    Link,
    PathIndex,
    Read,
    join,
    parent,
)
from taskx.workspace.graph.resolvers.packages import Packages
from taskx.workspace.graph.resolvers.tsconfig import Configs, Options, alias_targets

# What a written extension may stand for: the source it is compiled from comes first.
WRITTEN = {
    ".js": (".ts", ".tsx", ".d.ts"),
    ".jsx": (".tsx", ".ts", ".d.ts"),
    ".mjs": (".mts", ".d.mts"),
    ".cjs": (".cts", ".d.cts"),
}
ADDED = (".ts", ".tsx", ".d.ts", ".js", ".jsx")
LATE = (".mts", ".cts", ".d.mts", ".d.cts", ".mjs", ".cjs", ".json", ".vue", ".svelte", ".astro")


class TypeScriptResolver:
    """Import rules over one tree. Memoised per (folder or file, specifier)."""

    def __init__(self, files: PathIndex, read: Read) -> None:
        self.files = files
        self.packages = Packages(files, read)
        self.configs = Configs(files, read, self._package_place)
        self._memo: dict[tuple[str, str], int | None] = {}
        self._options: dict[str, Options | None] = {}

    def resolve(self, source: str, row: ImportRow) -> list[Link]:
        if row.kind == EXPORT_LOCAL:
            return []
        spec = row.module
        if row.kind == INCLUDE and not spec.startswith((".", "/")):
            spec = "./" + spec
        target = self.target(source, spec)
        if target is None:
            return []
        files = (target,)
        if row.kind in (NAME, REEXPORT, TYPE_ONLY, DYNAMIC, IMPORT) and row.name not in ("", "*"):
            return [Link(files, row.name, row.alias or row.name, public=row.kind == REEXPORT)]
        if row.kind == REEXPORT_ALL:
            return [Link(files, "", row.alias)] if row.alias else [Link(files, "*")]
        if row.kind == WILDCARD and not row.alias:
            return [Link(files, "*", public=False)]
        return [Link(files, "", row.alias, public=row.kind == REEXPORT)]

    def target(self, source: str, spec: str) -> int | None:
        """The file a specifier means in `source`."""
        spec = spec.partition("?")[0]
        if not spec:
            return None
        if spec.startswith(("./", "../")) or spec in (".", ".."):
            key = (parent(source), spec)
            if key not in self._memo:
                place = join(key[0], spec)
                self._memo[key] = None if place is None else self._place(place)
                if self._memo[key] is None and place is not None:
                    self._memo[key] = self._behind(place)
            return self._memo[key]
        key = (source, spec)
        if key not in self._memo:
            self._memo[key] = self._bare(source, spec)
        return self._memo[key]

    def _place(self, place: str) -> int | None:
        """A file by a path that may lack its extension, carry the compiled one, or be a folder."""
        ids = self.files.ids
        stem, dot, suffix = place.rpartition(".")
        if dot and "/" not in suffix:
            for other in WRITTEN.get("." + suffix, ()):
                if stem + other in ids:
                    return ids[stem + other]
            if suffix in ("ts", "tsx", "mts", "cts") and place in ids:
                return ids[place]
        for added in ADDED:
            if place + added in ids:
                return ids[place + added]
        if place in ids:
            return ids[place]
        for added in LATE:
            if place + added in ids:
                return ids[place + added]
        return self._folder(place) if self.files.has_folder(place) else None

    def _folder(self, place: str) -> int | None:
        prefix = place + "/" if place else ""
        if prefix + "package.json" in self.files.ids:
            data = self.packages.data(place)
            for key in ("types", "typings", "main"):
                value = data.get(key)
                inner = join(place, value) if isinstance(value, str) else None
                if inner is not None and inner != place:
                    found = self._exact(inner)
                    if found is not None:
                        return found
        return self.files.first(prefix + "index" + added for added in ADDED + LATE)

    def _exact(self, place: str) -> int | None:
        """Like `_place`, but not through another folder's package.json."""
        if self.files.has_folder(place):
            return self.files.first(place + "/index" + added for added in ADDED)
        return self._place(place)

    def _behind(self, place: str) -> int | None:
        """The source behind a built file of the own package (`../dist/x.js`)."""
        folder = self.packages.scope(parent(place))
        if folder is None or not place.startswith(folder):
            return None
        parts = place[len(folder) :].lstrip("/").split("/")
        if len(parts) < 2 or parts[0] not in ("dist", "build", "out"):
            return None
        for mirror in self.packages.mirrors(folder, [place], "/".join(parts[1:])):
            found = self._place(mirror)
            if found is not None:
                return found
        return None

    def _bare(self, source: str, spec: str) -> int | None:
        if source not in self._options:
            self._options[source] = self.configs.governing(source)
        options = self._options[source]
        conditions = options.conditions if options is not None else ()
        if spec.startswith("#"):
            found = self._imports(source, spec, conditions)
            if found is not None:
                return found
        if options is not None:
            for place in alias_targets(options, spec):
                found = self._place(place)
                if found is not None:
                    return found
            if options.base_url is not None and not spec.startswith("/"):
                based = join(options.base_url, spec)
                found = self._place(based) if based else None
                if found is not None:
                    return found
        return self._package(source, spec, conditions)

    def _imports(self, source: str, spec: str, conditions: tuple[str, ...]) -> int | None:
        folder = self.packages.scope(parent(source))
        if folder is None:
            return None
        places = self.packages.import_targets(folder, spec, conditions)
        for place in places:
            if place.startswith(":"):
                found = self._package(source, place[1:], conditions)
            else:
                found = self._place(place)
            if found is not None:
                return found
        own = [place for place in places if not place.startswith(":")]
        return self._mirrored(folder, own, spec[1:]) if own else None

    def _mirrored(self, folder: str, places: list[str], subpath: str) -> int | None:
        for place in self.packages.mirrors(folder, places, subpath):
            found = self._exact(place)
            if found is not None:
                return found
        return None

    def _package(self, source: str, spec: str, conditions: tuple[str, ...]) -> int | None:
        parts = spec.split("/")
        used = 2 if spec.startswith("@") else 1
        name, subpath = "/".join(parts[:used]), "/".join(parts[used:])
        folder = self.packages.folder(source, name)
        if folder is None:
            return None
        key = "./" + subpath if subpath else "."
        targets = self.packages.export_targets(folder, key, conditions)
        if targets is None:
            if subpath:
                targets = [f"{folder}/{subpath}" if folder else subpath]
            else:
                targets = self.packages.mains(folder) or [folder]
        for place in targets:
            found = None if place.startswith(":") else self._exact(place)
            if found is not None:
                return found
        own = [place for place in targets if not place.startswith(":")]
        return self._mirrored(folder, own, subpath) if own or not subpath else None

    def _package_place(self, folder: str, spec: str) -> str | None:
        """Place of a config that `extends` names through a package of the tree."""
        parts = spec.split("/")
        used = 2 if spec.startswith("@") else 1
        own = self.packages.folder(folder + "/x", "/".join(parts[:used]))
        return None if own is None else "/".join(filter(None, [own, *parts[used:]]))
