"""Makes the graph of a snapshot, or brings one up to date for what changed.

How a reference is judged: what an import makes certain comes first (`bindings.py`); a package or
namespace is one scope; in the C family everything included, directly or not, is visible, and a
declaration leads to the file that defines the name; members link through what is imported. A name
that more than three files define links only where the scope leaves one of them. The joins run in
`_native/refgraph.pyx` without the GIL.
"""

from __future__ import annotations

import os
import time
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from taskx._native import refgraph
from taskx.workspace.graph import storage
from taskx.workspace.graph.bindings import Imports
from taskx.workspace.graph.columns import Tree
from taskx.workspace.graph.families import INCLUDES, C, family_of
from taskx.workspace.graph.graph import Graph, ints
from taskx.workspace.graph.resolvers.base import disk_reader
from taskx.workspace.graph.resolvers.c import ROOT_FOLDERS, SYSTEM
from taskx.workspace.index.snapshot import Snapshot

# Files that steer how imports resolve: when one changes, everything is resolved again.
STEERING = frozenset(
    [
        "tsconfig.json",
        "jsconfig.json",
        "package.json",
        "go.mod",
        "go.work",
        "Cargo.toml",
        "pyproject.toml",
        "setup.cfg",
        "setup.py",
        "pytest.ini",
        "tox.ini",
    ]
)
# Beyond these an update costs as much as a new build.
MAX_CHANGED = 2000
MAX_AFFECTED_SHARE = 0.5
MAX_SYMBOLS = 50  # names given per edge; protocol v1, `graph/file`
THREADS = min(8, os.cpu_count() or 1)

IMPORT_ONCE = 1 | 1 << 1  # an import edge of weight 1, as `what` has it


def build(
    snapshot: Snapshot, previous: Graph | None = None, changed: Iterable[int] | None = None
) -> Graph:
    """The graph of `snapshot`. Slow work runs without the GIL; call it in a worker thread.

    previous: the graph of an earlier snapshot of the same tree; what did not change is kept.
    changed: ignored, the two snapshots say it themselves.
    """
    start = time.perf_counter()
    if previous is not None and previous.snapshot is snapshot:
        return previous
    graph = None
    if previous is not None and isinstance(previous.maker, Maker):
        graph = previous.maker.updated(snapshot, previous)
    if graph is None:
        graph = Maker(snapshot).prepare().whole()
    graph.build_ms = int((time.perf_counter() - start) * 1000)
    return graph


def restore(data: bytes | memoryview, snapshot: Snapshot) -> Graph | None:
    """A graph that was stored for the same files; None for other or damaged data.

    What only an update or the names of an edge need is made when it is asked for.
    """
    tree = Tree(snapshot)
    edges = storage.load(data, tree)
    if edges is None:
        return None
    return Graph(tree, tree.languages(), *edges, None, lambda: Maker(snapshot, tree).prepare())


class Maker:
    """Everything a build knows, kept with the graph so that an update can start from it."""

    def __init__(self, snapshot: Snapshot, tree: Tree | None = None) -> None:
        self.tree = tree or Tree(snapshot)
        tree = self.tree
        self.languages = tree.languages()
        rules = [family_of(language) for language in range(max(self.languages, default=0) + 1)]
        self.numbers = bytes(rules[language].number for language in self.languages)
        self.modes = bytes(rules[language].mode for language in self.languages)
        self.depths = bytes(rules[language].packed for language in self.languages)
        self.linker = refgraph.Linker(tree.n_nodes, tree.native())
        self.linker.set_files(self.numbers, self.modes, self.depths)
        self.exact: dict[int, list[tuple[int, int]]] = {}
        self.near: dict[int, list[int]] = {}
        self.scopes: dict[tuple[tuple[int, ...], bool], int] = {}
        self.scopes_of: dict[int, list[int]] = {}
        self.include_off = array("i", bytes(4 * (tree.n_nodes + 1)))
        self.include_to: Sequence[int] = array("i")
        self.imports: Imports

    # A whole build

    def prepare(self) -> Maker:
        """Read definitions and resolve imports: all but the joining of names."""
        tree = self.tree
        self.linker.define()
        wanted = bytes(1 if mode & INCLUDES else 0 for mode in self.modes)
        self.include_off, self.include_to = self._resolve_includes(wanted)
        read = disk_reader(os.fsdecode(tree.snapshot.root))
        self.imports = Imports(tree, self.linker, self.numbers, read)
        nodes = [n for n in range(tree.n_nodes) if self.numbers[n] != C and tree.fids[n] >= 0]
        self._resolve(nodes)
        self._give()
        return self

    def whole(self) -> Graph:
        tree = self.tree
        files = array("i", range(tree.n_nodes))
        counts, linked_to, linked = self._link(files)
        import_off, import_to, import_what = self._import_edges(files)
        off, to, what = refgraph.merge_edges(
            ints(refgraph.offsets(ints(counts))), ints(linked_to), ints(linked),
            import_off, import_to, import_what,
        )  # fmt: skip
        return Graph(tree, self.languages, off, to, what, self)

    def _resolve_includes(self, wanted: bytes) -> tuple[array[int], Sequence[int]]:
        roots = [name.encode() for name in sorted(ROOT_FOLDERS)]
        system = [name.encode() for name in sorted(SYSTEM)]
        counts, to = self.linker.resolve_includes(wanted, roots, system)
        return array("i", bytes(refgraph.offsets(ints(counts)))), ints(to)

    def _resolve(self, nodes: Iterable[int]) -> None:
        """Resolve the imports of some files and what follows from them."""
        imports = self.imports
        for node in nodes:
            exact = imports.exact(node)
            self._set(self.exact, node, sorted(exact))
            self._set(self.near, node, sorted(imports.near(node, exact)))
            self._set(
                self.scopes_of,
                node,
                [self.scopes.setdefault(s, len(self.scopes)) for s in imports.scopes(node)],
            )

    @staticmethod
    def _set(table: dict[int, list], node: int, value: list) -> None:  # type: ignore[type-arg]
        if value:
            table[node] = value
        else:
            table.pop(node, None)

    def _give(self) -> None:
        """Hand the linker what was resolved."""
        n = self.tree.n_nodes
        linker = self.linker
        linker.set_includes(self.include_off, _nonempty(self.include_to))
        off = _offsets(n, self.exact)
        to, names = array("i"), array("Q")
        for node in sorted(self.exact):
            for target, name in self.exact[node]:
                to.append(target)
                names.append(name)
        linker.set_exact(off, to, names)
        near_off, near_to = _flat(n, self.near)
        unit_near: dict[int, list[int]] = dict(self.near)
        for unit, members in self.imports.units.items():
            merged: set[int] = set()
            for node in members:
                merged.update(self.near.get(node, ()))
            merged.discard(unit)
            unit_near[unit] = sorted(merged)
        n_units = n + len(self.imports.units)
        linker.set_near(
            self.imports.units_array(), n_units, near_off, near_to, *_flat(n_units, unit_near)
        )
        scopes = list(self.scopes)
        scope_off, scope_to = _flat(len(scopes), {i: list(s[0]) for i, s in enumerate(scopes)})
        linker.set_scopes(
            *_flat(n, self.scopes_of), scope_off, scope_to, bytes(s[1] for s in scopes)
        )

    def _link(self, nodes: array[int]) -> tuple[bytearray, bytearray, bytearray]:
        """Edges of some nodes, in parallel where there are many."""
        parts = THREADS * 4 if len(nodes) > 1000 else 1
        if parts == 1:
            counts, to, what = self.linker.link(nodes)
            return counts, to, what
        step = -(-len(nodes) // parts)
        pieces = [nodes[at : at + step] for at in range(0, len(nodes), step)]
        with ThreadPoolExecutor(THREADS, thread_name_prefix="link") as pool:
            results = list(pool.map(self.linker.link, pieces))
        counts, to, what = bytearray(), bytearray(), bytearray()
        for result in results:
            counts += result[0]
            to += result[1]
            what += result[2]
        return counts, to, what

    def _import_edges(
        self, nodes: Sequence[int]
    ) -> tuple[array[int], Sequence[int], Sequence[int]]:
        """(off over `nodes`, to, what) of what imports and includes say."""
        off, to, what = array("i", [0]), array("i"), array("i")
        bound = self.imports.bound
        include_off, include_to = self.include_off, self.include_to
        for node in nodes:
            known = bound.get(node)
            if known is not None:
                for target, names in sorted(known.edges.items()):
                    to.append(target)
                    what.append(1 | max(1, len(names)) << 1)
            else:
                targets = include_to[include_off[node] : include_off[node + 1]]
                if len(targets):
                    to.extend(targets)
                    what.extend([IMPORT_ONCE] * len(targets))
            off.append(len(to))
        return off, _nonempty(to), _nonempty(what)

    def linked_names(
        self, nodes: list[int], only: int | None = None
    ) -> dict[tuple[int, int, int], list[str]]:
        """(from, to, kind) -> linked names of the edges of some nodes, at most 50 each, sorted."""
        found: dict[tuple[int, int, int], set[str]] = defaultdict(set)
        for node in nodes:
            bound = self.imports.bound.get(node)
            for target, names in bound.edges.items() if bound is not None else ():
                if only is None or target == only:
                    found[node, target, 1] |= names
        counts, to, what, halves = self.linker.link(array("i", nodes), True)
        targets, kinds, words = ints(to), ints(what), memoryview(halves).cast("I")
        spelled: dict[int, Mapping[int, str]] = {}
        at = 0
        for node, count in zip(nodes, ints(counts), strict=True):
            for k in range(at, at + count):
                target = targets[k]
                if only is not None and target != only:
                    continue
                if target not in spelled:
                    spelled[target] = self.tree.symbol_names(target)
                name = spelled[target].get(words[2 * k] | words[2 * k + 1] << 32)
                name = name or self.imports.spelled(node, words[2 * k] | words[2 * k + 1] << 32)
                if name:
                    found[node, target, kinds[k] & 1].add(name)
            at += count
        return {key: sorted(names)[:MAX_SYMBOLS] for key, names in found.items()}

    # An update

    def updated(self, snapshot: Snapshot, graph: Graph) -> Graph | None:
        """The graph after changes; None when a whole build is due."""
        tree = Tree(snapshot, self.tree)
        renewed = tree.renewed
        if tree.added or tree.removed or len(renewed) > MAX_CHANGED:
            return None
        if any(tree.paths[node].rpartition("/")[2] in STEERING for node in renewed):
            return None
        maker = Maker(snapshot, tree)
        return maker.after(self, graph, renewed)

    def after(self, before: Maker, graph: Graph, renewed: list[int]) -> Graph | None:
        """This maker takes over what `before` knew, but for the renewed nodes."""
        tree, linker = self.tree, self.linker
        if self.numbers != before.numbers:
            return None
        marked = bytearray(max(tree.n_nodes, 1))
        for node in renewed:
            marked[node] = 1
        linker.define(before.linker, bytes(marked))
        changed = self._changed_names(before, renewed)
        affected = set(renewed)
        includes = self._includes_after(before, renewed, bytes(marked))
        if includes is None:
            return None
        affected |= includes
        imports = self.imports = before.imports.moved(tree, linker)
        changed |= imports.renew(renewed)
        users = set(linker.users(array("Q", sorted(changed)))) if changed else set()
        if len(users) > MAX_AFFECTED_SHARE * max(1000, tree.n_nodes):
            return None
        affected |= users
        self.exact, self.near = dict(before.exact), dict(before.near)
        self.scopes, self.scopes_of = dict(before.scopes), dict(before.scopes_of)
        old_near = {node: before.near.get(node) for node in affected}
        self._resolve(node for node in sorted(affected) if self.numbers[node] != C)
        moved = {node for node, near in old_near.items() if self.near.get(node) != near}
        if moved:
            affected |= self._importers(graph, moved)
        self._give()
        nodes = array("i", sorted(affected))
        counts, to, what = self._link(nodes)
        import_off, import_to, import_what = self._import_edges(nodes)
        off, to, what = refgraph.merge_edges(
            ints(refgraph.offsets(ints(counts))), ints(to), ints(what),
            import_off, import_to, import_what,
        )  # fmt: skip
        sizes = array("i", (ints(off)[k + 1] - ints(off)[k] for k in range(len(nodes))))
        off, to, what = refgraph.splice(
            graph.off, graph.to, graph.what, nodes, sizes, ints(to), ints(what), tree.n_nodes
        )
        return Graph(tree, self.languages, off, to, what, self)

    def _changed_names(self, before: Maker, renewed: list[int]) -> set[int]:
        """Names whose definition in a renewed file came, went or changed its class."""
        changed: set[int] = set()
        for node in renewed:
            old = _definitions(before, node)
            new = _definitions(self, node)
            changed.update(old.keys() ^ new.keys())
            changed.update(name for name in old.keys() & new.keys() if old[name] != new[name])
        return changed

    def _includes_after(self, before: Maker, renewed: list[int], marked: bytes) -> set[int] | None:
        """Resolve the includes of the renewed files; returns the files that see other headers."""
        self.include_off, self.include_to = before.include_off, before.include_to
        sources = [node for node in renewed if self.modes[node] & INCLUDES]
        if not sources:
            return set()
        off, to = self._resolve_includes(marked)
        same = all(
            list(to[off[n] : off[n + 1]])
            == list(self.include_to[self.include_off[n] : self.include_off[n + 1]])
            for n in sources
        )
        if same:
            return set()
        n = self.tree.n_nodes
        sizes = array("i", (off[k + 1] - off[k] for k in renewed))
        fresh = array("i")
        for node in renewed:
            fresh.extend(to[off[node] : off[node + 1]])
        new_off, new_to, _ = refgraph.splice(
            self.include_off, _nonempty(self.include_to), _nonempty(self.include_to),
            array("i", renewed), sizes, _nonempty(fresh), _nonempty(fresh), n,
        )  # fmt: skip
        old_off, old_to = self.include_off, self.include_to
        self.include_off, self.include_to = array("i", bytes(new_off)), ints(new_to)
        del old_off, old_to
        back_off, back_from, _ = refgraph.reverse(self.include_off, _nonempty(self.include_to))
        return _reachable(ints(back_off), ints(back_from), sources)

    def _importers(self, graph: Graph, nodes: set[int]) -> set[int]:
        back_off, back_from = graph.back()
        found: set[int] = set()
        for node in nodes:
            if node + 1 < len(back_off):
                found.update(back_from[back_off[node] : back_off[node + 1]])
        return found


def _definitions(maker: Maker, node: int) -> dict[int, int]:
    """Name hash -> class bits of what a file defines."""
    segment, local = maker.tree.locate(node)
    names = segment.sym_name_hash[segment.sym_off[local] : segment.sym_off[local + 1]]
    return {name: cls for name in set(names) if (cls := maker.linker.defines(node, name))}


def _reachable(off: Sequence[int], to: Sequence[int], start: Iterable[int]) -> set[int]:
    seen = set(start)
    pending = list(seen)
    while pending:
        node = pending.pop()
        for other in to[off[node] : off[node + 1]]:
            if other not in seen:
                seen.add(other)
                pending.append(other)
    return seen


def _offsets(n: int, table: dict[int, list[tuple[int, int]]]) -> array[int]:
    counts = array("i", bytes(4 * n))
    for node, values in table.items():
        counts[node] = len(values)
    return array("i", bytes(refgraph.offsets(counts)))


def _flat(n: int, table: dict[int, list[int]]) -> tuple[array[int], array[int]]:
    """CSR arrays of a table of lists."""
    counts = array("i", bytes(4 * n))
    to = array("i")
    for node in sorted(table):
        counts[node] = len(table[node])
        to.extend(table[node])
    return array("i", bytes(refgraph.offsets(counts))), to


def _nonempty(values: Sequence[int]) -> Sequence[int]:
    """A buffer of int32 for the native side."""
    return values if isinstance(values, array | memoryview) else array("i", values)
