"""A built graph: nodes, edges both ways, degrees, cycles. Questions are in `queries.py`."""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from taskx._native import refgraph
from taskx.protocol.graph import FileResult, GraphStats, ImpactResult, ProjectParams, ProjectResult
from taskx.workspace.graph import storage
from taskx.workspace.graph.columns import Tree
from taskx.workspace.index.snapshot import Snapshot

if TYPE_CHECKING:
    from taskx.workspace.graph.build import Maker

REFERENCE, IMPORT = 0, 1
KIND_NAMES = ("reference", "import")
MAX_HUBS = 10


def ints(data: bytes | bytearray) -> memoryview[int]:
    """int32 view of native results."""
    return memoryview(data).cast("i")


class Graph:
    """Immutable. Nodes are numbers of `tree`; a node whose file is gone has no edges.

    make: makes the maker of a graph that was loaded, when it is first needed.
    off, to, what: CSR of outgoing edges, sorted by (to, kind); what is kind | weight << 1.
    """

    def __init__(
        self,
        tree: Tree,
        languages: Sequence[int],
        off: bytes | bytearray,
        to: bytes | bytearray,
        what: bytes | bytearray,
        maker: Maker | None = None,
        make: Callable[[], Maker] | None = None,
    ) -> None:
        self.tree = tree
        self.snapshot = tree.snapshot
        self.languages = languages
        self.off = ints(off)
        self.to = ints(to)
        self.what = ints(what)
        self.maker = maker
        self._make = make
        self.build_ms = 0
        self.stats_memo: GraphStats | None = None
        self._views: dict[tuple[str, bool], Any] = {}

    @property
    def n_nodes(self) -> int:
        return len(self.off) - 1

    @cached_property
    def _back(self) -> tuple[memoryview[int], memoryview[int], memoryview[int]]:
        off, source, edge = refgraph.reverse(self.off, self.to)
        return ints(off), ints(source), ints(edge)

    def back(self) -> tuple[memoryview[int], memoryview[int]]:
        """Incoming edges: offsets per node, and the nodes they come from."""
        return self._back[0], self._back[1]

    def incoming(self, node: int) -> list[tuple[int, int]]:
        """(from, what) of the edges that end at a node."""
        off, source, edge = self._back
        return [(source[k], self.what[edge[k]]) for k in range(off[node], off[node + 1])]

    def outgoing(self, node: int) -> list[tuple[int, int]]:
        """(to, what) of the edges that start at a node."""
        start, end = self.off[node], self.off[node + 1]
        return list(zip(self.to[start:end], self.what[start:end], strict=True))

    @cached_property
    def _degrees(self) -> tuple[memoryview[int], memoryview[int]]:
        off, source = self.back()
        degree, users = refgraph.degrees(self.off, self.to, off, source)
        return ints(degree), ints(users)

    @property
    def degree(self) -> memoryview[int]:
        """Distinct neighbours of each node, both directions."""
        return self._degrees[0]

    @property
    def users(self) -> memoryview[int]:
        """How many distinct files need each node."""
        return self._degrees[1]

    def dependents(self, fid: int) -> int:
        """How many distinct files need a file of the snapshot; 0 for an unknown one."""
        node = self.node_at(fid)
        return self.users[node] if 0 <= node < self.n_nodes else 0

    def node_at(self, fid: int) -> int:
        """Node of a file of the snapshot, or -1."""
        at = bisect.bisect_right(self.snapshot.bases, fid) - 1
        local: int = fid - self.snapshot.bases[at]
        nodes = self.tree.segment_nodes[at]
        return nodes[local] if local < len(nodes) else -1

    @cached_property
    def n_import_edges(self) -> int:
        return refgraph.count_kind(self.what, IMPORT)

    @property
    def n_edges(self) -> int:
        return len(self.to)

    @cached_property
    def _components(self) -> tuple[memoryview[int], list[list[int]]]:
        component, count = refgraph.components(self.off, self.to, self.what, IMPORT)
        numbers = ints(component)
        sizes = array("i", bytes(4 * max(count, 1)))
        for number in numbers:
            sizes[number] += 1
        cycles: dict[int, list[int]] = {}
        if count != len(numbers):
            for node, number in enumerate(numbers):
                if sizes[number] > 1:
                    cycles.setdefault(number, []).append(node)
        paths = self.tree.paths
        ordered = [sorted(nodes, key=lambda n: paths[n]) for nodes in cycles.values()]
        ordered.sort(key=lambda nodes: (-len(nodes), paths[nodes[0]]))
        return numbers, ordered

    @property
    def cycles(self) -> list[list[int]]:
        """Import cycles: nodes in path order, the largest cycle first."""
        return self._components[1]

    @cached_property
    def in_cycle(self) -> dict[int, list[int]]:
        """Node -> its cycle."""
        return {node: cycle for cycle in self.cycles for node in cycle}

    @cached_property
    def shown(self) -> list[int]:
        """The files that are nodes: of a language with a grammar, or with an edge."""
        fids, languages, degree = self.tree.fids, self.languages, self.degree
        return [
            node
            for node in range(self.n_nodes)
            if fids[node] >= 0 and (languages[node] or degree[node])
        ]

    def view(self, level: str, imports_only: bool) -> Any:
        """The graph at a level, made once."""
        from taskx.workspace.graph.queries import View

        key = (level, imports_only)
        if key not in self._views:
            self._views[key] = View(self, level, imports_only)
        return self._views[key]

    def n_symbols(self, node: int) -> int:
        segment, local = self.tree.locate(node)
        return int(segment.sym_off[local + 1] - segment.sym_off[local])

    def linked_names(
        self, nodes: list[int], only: int | None = None
    ) -> dict[tuple[int, int, int], list[str]]:
        """(from, to, kind) -> linked names of the edges of some nodes, at most 50 each, sorted."""
        if self.maker is None and self._make is not None:
            self.maker = self._make()
        return self.maker.linked_names(nodes, only) if self.maker is not None else {}

    def node_of(self, path: str) -> int | None:
        return self.tree.ids.get(path)

    def path_of(self, node: int) -> str:
        """Path for people and the wire: bytes that are not UTF-8 become replacement characters."""
        return self.tree.paths[node].encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def to_bytes(self) -> bytes:
        """The edges, to be kept beside the index; `from_bytes` reads them."""
        return storage.dump(self.tree, self.off, self.to, self.what)

    @staticmethod
    def from_bytes(data: bytes | memoryview, snapshot: Snapshot) -> Graph | None:
        """A stored graph of the same files; None for other or damaged data."""
        from taskx.workspace.graph.build import restore

        return restore(data, snapshot)

    # Questions. `queries` reads graphs, so it is imported when asked.

    def project(self, params: ProjectParams) -> ProjectResult:
        from taskx.workspace.graph.queries import project

        return project(self, params)

    def file(self, path: str) -> FileResult:
        from taskx.workspace.graph.queries import file_links

        return file_links(self, path)

    def impact(self, paths: list[str], depth: int = 3) -> ImpactResult:
        from taskx.workspace.graph.queries import impact

        return impact(self, paths, depth)

    @property
    def stats(self) -> GraphStats:
        from taskx.workspace.graph.queries import stats

        return stats(self)
