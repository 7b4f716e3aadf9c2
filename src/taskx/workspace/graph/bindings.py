"""What imports make certain: which file each imported name is defined in.

Names are followed through re-exports to the file that defines them, so these references need no
guess and no limit on the number of definers.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable

from taskx._native.refgraph import Linker, hash_name
from taskx.workspace.graph import families
from taskx.workspace.graph.columns import Tree
from taskx.workspace.graph.resolvers import buildtags
from taskx.workspace.graph.resolvers.base import (
    EXPORT_LOCAL,
    IMPORT,
    MODULE,
    PACKAGE,
    ImportRow,
    Link,
    PathIndex,
    Read,
    Resolver,
    parent,
)
from taskx.workspace.graph.resolvers.golang import GoResolver
from taskx.workspace.graph.resolvers.namespaces import ModuleResolver, NamespaceResolver
from taskx.workspace.graph.resolvers.python import PythonResolver
from taskx.workspace.graph.resolvers.rust import RustResolver
from taskx.workspace.graph.resolvers.scripts import LoadPathResolver
from taskx.workspace.graph.resolvers.typescript import TypeScriptResolver

TOP, MEMBER, DECL = 1, 2, 4
USE, BOUND, TYPE = 1, 16, 32
MAX_STEPS = 40
BUILT, UNBUILT, TEST = range(3)
NOWHERE = -1  # target of a name that must not be linked as a member

DEFAULT = hash_name(b"default")
CRATE, SUPER, SELF = hash_name(b"crate"), hash_name(b"super"), hash_name(b"self")


class Bound:
    """What one file imports.

    edges: target node -> imported names. names: hash of a bound name -> (files, name hash or 0).
    foreign: bound names of what is not in the tree.
    stars: files all of whose names are visible. used: packages whose files count when used.
    """

    __slots__ = ("edges", "foreign", "names", "stars", "used")

    def __init__(self) -> None:
        self.edges: dict[int, set[str]] = {}
        self.names: dict[int, list[tuple[tuple[int, ...], int]]] = {}
        self.foreign: set[int] = set()
        self.stars: list[tuple[int, ...]] = []
        self.used: list[tuple[int, ...]] = []


class Imports:
    """Resolved imports of every file but those of the C family, and lookups through them."""

    def __init__(self, tree: Tree, linker: Linker, numbers: bytes, read: Read) -> None:
        self.tree = tree
        self.linker = linker
        self.numbers = numbers
        self._read = read
        self.bound: dict[int, Bound] = {}
        self.units: dict[int, tuple[int, ...]] = {}
        self.unit_of: dict[int, int] = {}
        self.unbuilt: set[int] = set()
        self.base_of: dict[int, int] = {}  # Go: a file of the package that a test belongs to
        self.own_scope: dict[int, list[tuple[int, ...]]] = defaultdict(list)
        self._hashes: dict[str, int] = {}
        self._found: dict[tuple[int, int], tuple[int, ...]] = {}
        self._builtin = {
            number: [self.hash(name) for name in names]
            for number, names in families.BUILTIN_MEMBERS.items()
        }
        self._resolvers = self._make(read)

    def hash(self, name: str) -> int:
        known = self._hashes.get(name)
        if known is None:
            known = self._hashes[name] = hash_name(name.encode("utf-8", "surrogateescape"))
        return known

    def spelled(self, node: int, name: int) -> str:
        """The text of a name that a file imports, by its hash."""
        for row in self.tree.rows(node):
            if row.name and self.hash(row.name) == name:
                return row.name
        return ""

    def moved(self, tree: Tree, linker: Linker) -> Imports:
        """The same imports seen from a later snapshot of the same paths."""
        moved: Imports = object.__new__(Imports)
        moved.__dict__.update(self.__dict__)
        moved.tree, moved.linker = tree, linker
        moved.bound = dict(self.bound)
        moved._found = {}
        return moved

    def renew(self, nodes: Iterable[int]) -> set[int]:
        """Resolve some files again; returns the names whose meaning in them changed."""
        changed: set[int] = set()
        for node in nodes:
            old = self.bound.pop(node, None)
            new = self.of(node)
            if old is None or new is None:
                continue
            for name in old.names.keys() | new.names.keys():
                if old.names.get(name) != new.names.get(name):
                    changed.add(name)
        return changed

    # Resolvers

    def _make(self, read: Read) -> dict[int, Resolver]:
        tree = self.tree
        present: dict[int, list[int]] = defaultdict(list)
        for node, number in enumerate(self.numbers):
            if tree.fids[node] >= 0:
                present[number].append(node)
        self.present = present
        files = PathIndex(tree.ids)
        found: dict[int, Resolver] = {}
        if families.PYTHON in present:
            found[families.PYTHON] = PythonResolver(files, read)
        if families.SCRIPT in present:
            found[families.SCRIPT] = TypeScriptResolver(files, read)
        if families.GO in present:
            found[families.GO] = GoResolver(files, read, self._go_packages(present[families.GO]))
        if families.RUST in present:
            rows = {node: list(tree.rows(node)) for node in present[families.RUST]}
            self.rust = RustResolver(files, read, rows)
            found[families.RUST] = self.rust
        for number, separator in (
            (families.JVM, "."), (families.CSHARP, "."), (families.PHP, "\\")
        ):  # fmt: skip
            if number in present:
                clauses = self._clauses(present[number])
                found[number] = NamespaceResolver(files, clauses, self._defines, separator)
                self._namespace_scopes(clauses, separator if number == families.CSHARP else "")
        for number in (families.ELIXIR, families.HASKELL):
            if number in present:
                found[number] = ModuleResolver(self._modules(present[number]))
        if families.RUBY in present:
            found[families.RUBY] = LoadPathResolver(files, ("", ".rb"), roots=("lib", "app"))
        if families.LUA in present:
            found[families.LUA] = LoadPathResolver(
                files, (".lua", "/init.lua"), separator=".", roots=("lua", "src", "lib"), binds=True
            )
        if families.SHELL in present:
            found[families.SHELL] = LoadPathResolver(files, ("", ".sh", ".bash"))
        if families.ZIG in present:
            found[families.ZIG] = LoadPathResolver(files, ("",), binds=True)
        return found

    def _go_packages(self, nodes: list[int]) -> dict[int, str]:
        """Package clause per file; a unit per package."""
        packages = {}
        units: dict[tuple[str, str, int], list[int]] = defaultdict(list)
        for node in nodes:
            path = self.tree.paths[node]
            if not path.endswith(".go"):
                continue
            name = next((r.module or r.name for r in self.tree.rows(node) if r.kind == PACKAGE), "")
            packages[node] = name
            built = buildtags.is_built(path, self._read(path))
            if not built:
                self.unbuilt.add(node)
            part = UNBUILT if not built else TEST if path.endswith("_test.go") else BUILT
            units[parent(path), name, part].append(node)
        for number, ((folder, name, part), members) in enumerate(units.items(), self.tree.n_nodes):
            own = tuple(members)
            self.units[number] = own
            base = tuple(units.get((folder, name, BUILT), ()))
            whole = own if part == BUILT else base + own
            for node in members:
                self.unit_of[node] = number
                self.own_scope[node].append(whole)
                if part != BUILT and base:
                    self.base_of[node] = base[0]
        return packages

    def _clauses(self, nodes: list[int]) -> dict[int, list[str]]:
        found = {}
        for node in nodes:
            names = [r.module or r.name for r in self.tree.rows(node) if r.kind == PACKAGE]
            found[node] = [name.strip().strip("\\") for name in names] or [""]
        return found

    def _modules(self, nodes: list[int]) -> dict[int, list[str]]:
        """Modules by clause, else by the symbols that are modules."""
        found: dict[int, list[str]] = {}
        for node in nodes:
            names = [r.module or r.name for r in self.tree.rows(node) if r.kind == PACKAGE]
            if not names:
                segment, local = self.tree.locate(node)
                names = [
                    segment.text(segment.sym_name_off[row], segment.sym_name_len[row])
                    for row in range(segment.sym_off[local], segment.sym_off[local + 1])
                    if segment.sym_kind[row] == 2
                ]
            found[node] = names
        return found

    def _namespace_scopes(self, clauses: dict[int, list[str]], outer: str) -> None:
        """Files of one namespace see each other; `outer`: and those of the namespaces around."""
        members: dict[str, list[int]] = defaultdict(list)
        for node, names in clauses.items():
            for name in dict.fromkeys(names):
                members[name].append(node)
        scopes = {name: tuple(nodes) for name, nodes in members.items()}
        for node, names in clauses.items():
            for name in dict.fromkeys(names):
                self.own_scope[node].append(scopes[name])
                while outer and outer in name:
                    name = name.rpartition(outer)[0]
                    if name in scopes:
                        self.own_scope[node].append(scopes[name])

    def _defines(self, node: int, name: str) -> bool:
        return bool(self.linker.defines(node, self.hash(name)))

    # Resolution

    def of(self, node: int) -> Bound | None:
        """The imports of a file; None for a language without rules of its own."""
        known = self.bound.get(node)
        if known is not None:
            return known
        resolver = self._resolvers.get(self.numbers[node])
        if resolver is None or self.tree.fids[node] < 0:
            return None
        bound = self.bound[node] = Bound()
        source = self.tree.paths[node]
        for row in self.tree.rows(node):
            if row.kind == PACKAGE:
                continue
            if row.kind == EXPORT_LOCAL:
                if row.alias and row.alias != row.name:
                    self._bind(bound, row.alias, ((node,), self.hash(row.name)))
                continue
            links = resolver.resolve(source, row)
            for link in links:
                self._add(node, bound, row, link)
            if not links:
                bound.foreign.add(self.hash(_bound_name(row)))
        return bound

    def links(self, node: int, row: ImportRow) -> list[Link]:
        """Where one import row of a file leads."""
        resolver = self._resolvers.get(self.numbers[node])
        return resolver.resolve(self.tree.paths[node], row) if resolver is not None else []

    def _add(self, node: int, bound: Bound, row: ImportRow, link: Link) -> None:
        if link.used:
            bound.used.append(link.files)
        elif link.edge:
            for target in link.files:
                if target != node:
                    names = bound.edges.setdefault(target, set())
                    if link.name not in ("", "*"):
                        names.add(link.name)
                    elif row.kind in (IMPORT, MODULE) or row.name:
                        names.add(row.name or link.alias or row.module)
        if link.used:
            return
        if link.name == "*":
            bound.stars.append(link.files)
        elif link.alias:
            name = self.hash(link.name) if link.name else 0
            self._bind(bound, link.alias, (link.files, name))

    def _bind(self, bound: Bound, alias: str, value: tuple[tuple[int, ...], int]) -> None:
        entries = bound.names.setdefault(self.hash(alias), [])
        if value not in entries:
            entries.append(value)

    def find(self, node: int, name: int, steps: int = 0) -> tuple[int, ...]:
        """The files that define a name as seen from a module: its own, or one it passes on."""
        key = (node, name)
        known = self._found.get(key)
        if known is not None:
            return known
        if self.linker.defines(node, name) & TOP:
            self._found[key] = (node,)
            return (node,)
        if steps > MAX_STEPS:
            return ()
        self._found[key] = ()  # ends a circle of re-exports
        found: list[int] = []
        bound = self.of(node)
        if bound is not None:
            for files, inner in bound.names.get(name, ()):
                if inner:
                    found += self.find_in(files, inner, steps + 1)
            if not found and name != DEFAULT:
                for files in bound.stars:
                    found += self.find_in(files, name, steps + 1)
                    if found:
                        break
        self._found[key] = result = tuple(dict.fromkeys(found))
        return result

    def find_in(self, files: tuple[int, ...], name: int, steps: int = 0) -> list[int]:
        if len(files) == 1:
            return list(self.find(files[0], name, steps))
        wanted = set(files)
        found = [
            file
            for file, cls in self.linker.definers(name)
            if file in wanted and cls & TOP and not cls & DECL
        ]
        if len(found) > 1 and self.unbuilt:
            found = [file for file in found if file not in self.unbuilt] or found
        return found

    # References

    def exact(self, node: int) -> set[tuple[int, int]]:
        """(defining file, name hash) of every reference that imports make certain."""
        bound = self.of(node)
        found: set[tuple[int, int]] = set()
        if bound is None:
            return found
        for entries in bound.names.values():
            for files, name in entries:
                if name:
                    self._named(node, files, name, found)
        number = self.numbers[node]
        if number == families.RUST:
            self._rust_paths(node, bound, found)
        found.update((NOWHERE, name) for name in self._builtin.get(number, ()))
        if bound.names or bound.foreign:
            for owner, member in self.tree.quals(node):
                if owner in bound.foreign:
                    found.add((NOWHERE, member))
                for files, name in bound.names.get(owner, ()):
                    if not name:
                        found.add((NOWHERE, member))
                        found.update((t, member) for t in self.find_in(files, member))
                    else:
                        for target in self.find_in(files, name):
                            if self.linker.defines(target, member) & MEMBER:
                                found.add((target, member))
        if bound.stars and number in (families.PYTHON, families.SCRIPT, families.RUST):
            for name, flags in self.tree.uses(node):
                if flags & (USE | TYPE) and not flags & BOUND and name not in bound.names:
                    if self.linker.defines(node, name) & TOP:
                        continue
                    for files in bound.stars:
                        found.update((t, name) for t in self.find_in(files, name))
        return found

    def _named(
        self, node: int, files: tuple[int, ...], name: int, found: set[tuple[int, int]]
    ) -> None:
        targets = self.find_in(files, name)
        if not targets and len(files) == 1 and name != DEFAULT and self._may_hide(files[0]):
            targets = list(files)
        found.update((target, name) for target in targets if target != node)

    def _may_hide(self, file: int) -> bool:
        """Whether a name that is not found in a file can still be made there."""
        bound = self.of(file)
        return bound is not None and not bound.stars

    def _rust_paths(self, node: int, bound: Bound, found: set[tuple[int, int]]) -> None:
        for owner, member in self.tree.quals(node):
            if owner in (CRATE, SUPER, SELF):
                for target in self.rust_roots(node, owner):
                    for place in self.find(target, member):
                        found.add((place, member))

    def rust_roots(self, node: int, owner: int) -> list[int]:
        if owner == CRATE:
            return [self.rust.crate.get(node, node)]
        if owner == SELF:
            return []
        from taskx.workspace.graph.resolvers.rust import Scope

        above = self.rust.above.get(Scope(node))
        return [above.file] if above is not None else []

    # Scopes and neighbours

    def scopes(self, node: int) -> list[tuple[tuple[int, ...], bool]]:
        """(files, whether a hit is an import) of the scopes whose plain names a file sees."""
        bound = self.of(node)
        found = [(files, False) for files in self.own_scope.get(node, ())]
        if bound is not None:
            found += [(files, True) for files in bound.used]
            if self.numbers[node] not in (families.PYTHON, families.SCRIPT, families.RUST):
                found += [(files, False) for files in bound.stars]
        return found

    def near(self, node: int, exact: Iterable[tuple[int, int]]) -> set[int]:
        """Units whose members a file may use: what it imports and where that is defined."""
        bound = self.of(node)
        unit_of = self.unit_of
        found = {unit_of.get(target, target) for target, _ in exact if target >= 0}
        if bound is not None:
            edges = bound.edges
            if self.unbuilt and node not in self.unbuilt:
                edges = {t: names for t, names in edges.items() if t not in self.unbuilt}
            found.update(unit_of.get(target, target) for target in edges)
            if node in self.base_of:
                found.add(unit_of[self.base_of[node]])
            if self.numbers[node] == families.RUST:
                self._rust_near(node, found)
        found.discard(unit_of.get(node, node))
        return found

    def _rust_near(self, node: int, found: set[int]) -> None:
        """Modules that written paths go through."""
        for owner, member in self.tree.quals(node):
            if owner in (CRATE, SUPER):
                for target in self.rust_roots(node, owner):
                    bound = self.of(target)
                    for files, name in bound.names.get(member, ()) if bound else ():
                        if not name:
                            found.update(files)
                    found.add(target)

    def units_array(self) -> array[int]:
        units = array("i", range(self.tree.n_nodes))
        for node, unit in self.unit_of.items():
            units[node] = unit
        return units


def _bound_name(row: ImportRow) -> str:
    """The name by which a file knows what an import row names."""
    if row.alias or row.name:
        return row.alias or row.name
    parts = [part for part in re.split(r"[/.:\\]+", row.module) if part]
    if len(parts) > 1 and re.fullmatch(r"v\d+", parts[-1]):
        parts.pop()
    first = row.kind == IMPORT and "/" not in row.module and "." in row.module
    return parts[0 if first else -1] if parts else ""
