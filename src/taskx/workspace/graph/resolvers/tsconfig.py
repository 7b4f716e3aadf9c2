"""Which options of `tsconfig.json` / `jsconfig.json` govern a file: paths, baseUrl, conditions.

As the TypeScript compiler reads them: `extends` (one or several), `files` / `include` / `exclude`
relative to the file that has them, project references. Source: the TSConfig reference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
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

NAMES = ("tsconfig.json", "jsconfig.json")
TS_SUFFIXES = (".ts", ".tsx", ".mts", ".cts")
JS_SUFFIXES = (".js", ".jsx", ".mjs", ".cjs")
COMPONENT_SUFFIXES = (".vue", ".svelte", ".astro")
MAX_EXTENDS = 16


@dataclass
class Options:
    """What one config file says, inherited values included. Folders are relative to the root."""

    path: str
    base_url: str | None = None
    paths: dict[str, list[str]] = field(default_factory=dict)
    paths_folder: str = ""
    conditions: tuple[str, ...] = ()
    allow_js: bool = False
    out_dir: str | None = None
    files: list[str] | None = None
    include: list[str] | None = None
    exclude: list[str] | None = None
    references: list[str] = field(default_factory=list)
    _include: re.Pattern[str] | None = None
    _exclude: re.Pattern[str] | None = None

    def includes(self, path: str) -> bool:
        """Whether `path` is one of the program's root files."""
        if self.files is not None and path in self.files:
            return True
        if self.include is None and self.files is not None:
            return False
        suffixes = TS_SUFFIXES + (JS_SUFFIXES if self.allow_js else ()) + COMPONENT_SUFFIXES
        if not path.endswith(suffixes):
            return False
        folder = parent(self.path)
        if self._include is None:
            wanted = self.include if self.include is not None else [_in(folder, "**/*")]
            unwanted = self.exclude
            if unwanted is None:
                unwanted = [
                    _in(folder, name)
                    for name in ("node_modules", "bower_components", "jspm_packages")
                ]
                if self.out_dir:
                    unwanted.append(self.out_dir)
            self._include = _globs(wanted, files=True)
            self._exclude = _globs(unwanted, files=False)
        assert self._exclude is not None
        return bool(self._include.match(path)) and not self._exclude.match(path)


class Configs:
    """The config files of a tree, each parsed once."""

    def __init__(self, files: PathIndex, read: Read, package_folder: Any = None) -> None:
        self.files = files
        self.read = read
        self.package_folder = package_folder
        self._parsed: dict[str, Options | None] = {}
        self._of: dict[str, list[Options]] = {}

    def governing(self, path: str) -> Options | None:
        """The nearest config that includes `path`, or one it references; else the nearest."""
        near = self._near(parent(path))
        for options in near:
            if options.includes(path):
                return options
            for reference in options.references:
                target = self._load(reference, 0)
                if target is not None and target.includes(path):
                    return target
        return near[0] if near else None

    def _near(self, folder: str) -> list[Options]:
        if folder not in self._of:
            found = []
            for above in ancestors(folder):
                for name in NAMES:
                    candidate = _in(above, name)
                    options = self._load(candidate, 0) if candidate in self.files.ids else None
                    if options is not None:
                        found.append(options)
            self._of[folder] = found
        return self._of[folder]

    def _load(self, path: str, depth: int) -> Options | None:
        if path in self._parsed:
            return self._parsed[path]
        self._parsed[path] = None  # a config that extends itself ends here
        raw = self.read(path) if depth < MAX_EXTENDS else None
        if raw is None:
            return None
        data = jsonc.loads(text_of(raw))
        options = self._options(path, data if isinstance(data, dict) else {}, depth)
        self._parsed[path] = options
        return options

    def _options(self, path: str, data: dict[str, Any], depth: int) -> Options:
        options = Options(path, allow_js=path.endswith("jsconfig.json"))
        folder = parent(path)
        extends = data.get("extends")
        for spec in [extends] if isinstance(extends, str) else _strings(extends):
            inherited = self._extended(folder, spec)
            base = self._load(inherited, depth + 1) if inherited else None
            if base is not None:
                _inherit(options, base)
        compiler = data.get("compilerOptions")
        compiler = compiler if isinstance(compiler, dict) else {}
        if isinstance(compiler.get("baseUrl"), str):
            options.base_url = join(folder, compiler["baseUrl"])
        if isinstance(compiler.get("paths"), dict):
            options.paths = {key: _strings(value) for key, value in compiler["paths"].items()}
            options.paths_folder = folder
        if isinstance(compiler.get("customConditions"), list):
            options.conditions = tuple(_strings(compiler["customConditions"]))
        if isinstance(compiler.get("allowJs"), bool):
            options.allow_js = compiler["allowJs"]
        if isinstance(compiler.get("outDir"), str):
            options.out_dir = join(folder, compiler["outDir"])
        for name in ("files", "include", "exclude"):
            if isinstance(data.get(name), list):
                places = (join(folder, item) for item in _strings(data[name]))
                setattr(options, name, [place for place in places if place is not None])
        for reference in data.get("references") or []:
            target = reference.get("path") if isinstance(reference, dict) else None
            place = join(folder, target) if isinstance(target, str) else None
            if place is not None:
                options.references.append(
                    place if place.endswith(".json") else _in(place, "tsconfig.json")
                )
        return options

    def _extended(self, folder: str, spec: str) -> str | None:
        """Path of a config named by `extends`."""
        if spec.startswith("."):
            place = join(folder, spec)
        else:
            place = self.package_folder(folder, spec) if self.package_folder else None
        if place is None:
            return None
        for candidate in (place, place + ".json", _in(place, "tsconfig.json")):
            if candidate in self.files.ids:
                return candidate
        return None


def _inherit(options: Options, base: Options) -> None:
    if base.base_url is not None:
        options.base_url = base.base_url
    if base.paths:
        options.paths, options.paths_folder = base.paths, base.paths_folder
    options.conditions = base.conditions or options.conditions
    options.allow_js = base.allow_js or options.allow_js
    options.out_dir = base.out_dir or options.out_dir
    options.files = base.files if base.files is not None else options.files
    options.include = base.include if base.include is not None else options.include
    options.exclude = base.exclude if base.exclude is not None else options.exclude


def _in(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _strings(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _globs(patterns: list[str], files: bool) -> re.Pattern[str]:
    """One pattern for all; a name without a wildcard or extension means the folder below it."""
    parts = []
    for pattern in patterns:
        last = pattern.rpartition("/")[2]
        plain = not any(c in last for c in "*?")
        text = "".join(_segment(s) for s in pattern.split("/") if s) if pattern else ""
        text = text.removesuffix("/") if last != "**" else text + "[^/]*"
        if files and plain and "." in last:
            parts.append(text)
        elif files and plain:
            parts.append(text + ("/.*" if text else ".*"))
        elif files:
            parts.append(text)
        else:
            parts.append(text + "(?:/.*)?" if text else ".*")
    return re.compile("(?:" + "|".join(parts) + r")\Z" if parts else r"(?!)")


def _segment(segment: str) -> str:
    if segment == "**":
        return "(?:[^/]+/)*"
    return re.escape(segment).replace(r"\*", "[^/]*").replace(r"\?", "[^/]") + "/"


def alias_targets(options: Options, spec: str) -> list[str]:
    """Places that `paths` gives for a specifier, best first, relative to the root."""
    found = (spec, "") if spec in options.paths else star_match(spec, options.paths)
    if found is None:
        return []
    best, star = found
    base = options.base_url if options.base_url is not None else options.paths_folder
    places = (join(base, target.replace("*", star)) for target in options.paths[best])
    return [place for place in places if place is not None]
