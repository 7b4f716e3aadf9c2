"""Questions about a graph: the project's picture, one file's links, what a change may break.

Answers are in a fixed order, so that the same tree and question give the same bytes.
"""

from __future__ import annotations

import heapq
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import cast

from msgspec import UNSET, structs

from taskx.errors import InvalidParams
from taskx.protocol.graph import (
    EdgeKind,
    FileLink,
    FileResult,
    GraphEdge,
    GraphNode,
    GraphStats,
    GraphTotal,
    Hub,
    ImpactedFile,
    ImpactResult,
    ProjectParams,
    ProjectResult,
)
from taskx.workspace.files.languages import LANGUAGES
from taskx.workspace.graph.graph import IMPORT, KIND_NAMES, MAX_HUBS, Graph
from taskx.workspace.graph.storage import ENGINE_VERSION

MAX_IMPACT = 500
# A use through an import binds tighter than one by name alone; each step is less likely.
STEP = 0.5


def stats(graph: Graph) -> GraphStats:
    """Figures of the whole graph; kept with it."""
    if graph.stats_memo is not None:
        return structs.replace(graph.stats_memo, build_ms=graph.build_ms)
    shown = graph.shown
    degree, users, paths = graph.degree, graph.users, graph.tree.paths
    folders = {paths[node].rpartition("/")[0] for node in shown}
    best = heapq.nsmallest(
        MAX_HUBS,
        (node for node in shown if users[node]),
        key=lambda node: (-users[node], paths[node]),
    )
    result = GraphStats(
        files=len(shown),
        edges=graph.n_edges,
        import_edges=graph.n_import_edges,
        reference_edges=graph.n_edges - graph.n_import_edges,
        modules=len(folders),
        cycles=len(graph.cycles),
        orphans=sum(1 for node in shown if not degree[node]),
        hubs=[Hub(path=graph.path_of(node), dependents=users[node]) for node in best],
        import_cycles=[[graph.path_of(node) for node in cycle] for cycle in graph.cycles],
        build_ms=graph.build_ms,
        version=ENGINE_VERSION,
    )
    graph.stats_memo = result
    return result


def project(graph: Graph, params: ProjectParams) -> ProjectResult:
    """Nodes and edges at one level. Raises InvalidParams for a focus that is not in the tree."""
    focus, depth, max_nodes = None, params.depth, params.max_nodes
    if params.focus is not UNSET:
        focus = clean_path(graph, params.focus, "focus")
    view = graph.view(params.level, params.imports_only)
    kept = _focused(view, focus, depth) if focus is not None else range(len(view.ids))
    if len(kept) > max_nodes:
        distance = kept if isinstance(kept, dict) else None
        chosen = heapq.nsmallest(
            max_nodes,
            kept,
            key=lambda n: (distance[n] if distance else 0, -view.degree[n], view.ids[n]),
        )
    else:
        chosen = list(kept)
    chosen.sort(key=lambda n: (-view.degree[n], view.ids[n]))
    index = {node: at for at, node in enumerate(chosen)}
    edges = [
        GraphEdge(source=at, target=index[target], weight=what >> 1, kind=_kind(what))
        for at, node in enumerate(chosen)
        for target, what in view.outgoing(node)
        if target in index
    ]
    if focus is None:
        total = len(view.ids), view.n_edges
    else:
        within = set(kept)
        total = len(kept), sum(1 for n in kept for t, _ in view.outgoing(n) if t in within)
    return ProjectResult(
        nodes=[view.node(n) for n in chosen],
        edges=edges,
        total=GraphTotal(nodes=total[0], edges=total[1]),
        stats=stats(graph),
    )


def _kind(what: int) -> EdgeKind:
    return cast(EdgeKind, KIND_NAMES[what & 1])


def clean_path(graph: Graph, path: str, field: str) -> str:
    """A path of the tree as given by a client: relative, or absolute below the root."""
    found = graph.snapshot.tree_path(path)
    if found is None:
        raise InvalidParams(f"{field}: {path!r} lies outside the workspace")
    return found


class View:
    """The graph at one level: nodes are files, or folders with their files' edges added up."""

    def __init__(self, graph: Graph, level: str, imports_only: bool) -> None:
        self.graph = graph
        self.level = level
        self.imports_only = imports_only
        tree = graph.tree
        if level == "file":
            self.members: list[list[int]] | None = None
            self.nodes = sorted(graph.shown, key=lambda n: tree.paths[n])
            self.at = array("i", [-1]) * max(graph.n_nodes, 1)
            for at, node in enumerate(self.nodes):
                self.at[node] = at
            self.ids = [tree.paths[node] for node in self.nodes]
            self.out: list[list[tuple[int, int]]] | None = None
            self.n_edges = graph.n_import_edges if imports_only else graph.n_edges
            if imports_only:
                self.degree: list[int] | array[int] = self._import_degrees()
            else:
                self.degree = array("i", (graph.degree[node] for node in self.nodes))
        else:
            self._roll_up()

    def _import_degrees(self) -> array[int]:
        near: list[set[int]] = [set() for _ in self.nodes]
        for at, node in enumerate(self.nodes):
            for target, what in self.graph.outgoing(node):
                if what & 1 == IMPORT:
                    near[at].add(self.at[target])
                    near[self.at[target]].add(at)
        return array("i", map(len, near))

    def _roll_up(self) -> None:
        graph = self.graph
        paths = graph.tree.paths
        folders: dict[str, list[int]] = defaultdict(list)
        for node in graph.shown:
            folders[paths[node].rpartition("/")[0] or "."].append(node)
        self.ids = sorted(folders)
        self.members = [folders[folder] for folder in self.ids]
        self.at = array("i", [-1]) * max(graph.n_nodes, 1)
        for at, members in enumerate(self.members):
            for node in members:
                self.at[node] = at
        self.out = []
        near: list[set[int]] = [set() for _ in self.ids]
        self.n_edges = 0
        for at, members in enumerate(self.members):
            weights: dict[int, int] = {}
            for node in members:
                for k in range(graph.off[node], graph.off[node + 1]):
                    what = graph.what[k]
                    target = self.at[graph.to[k]]
                    if target != at and not (self.imports_only and what & 1 != IMPORT):
                        key = target << 1 | what & 1
                        weights[key] = weights.get(key, 0) + (what >> 1)
            rows = [(key >> 1, key & 1 | w << 1) for key, w in sorted(weights.items())]
            for target, _ in rows:
                near[at].add(target)
                near[target].add(at)
            self.n_edges += len(rows)
            self.out.append(rows)
        self.degree = [len(others) for others in near]
        self.near = near

    def outgoing(self, at: int) -> list[tuple[int, int]]:
        """(node of the view, kind | weight << 1), sorted."""
        if self.out is not None:
            return self.out[at]
        rows = [
            (self.at[target], what)
            for target, what in self.graph.outgoing(self.nodes[at])
            if not self.imports_only or what & 1 == IMPORT
        ]
        rows.sort(key=lambda row: (row[0], row[1] & 1))
        return rows

    def around(self, at: int) -> Iterable[int]:
        """Neighbours of a node, in both directions."""
        if self.out is not None:
            return sorted(self.near[at])
        graph, node = self.graph, self.nodes[at]
        pairs = graph.outgoing(node) + graph.incoming(node)
        return sorted(
            {self.at[n] for n, what in pairs if not self.imports_only or what & 1 == IMPORT}
        )

    def node(self, at: int) -> GraphNode:
        graph = self.graph
        if self.members is None:
            node = self.nodes[at]
            return GraphNode(
                id=graph.path_of(node),
                language=LANGUAGES[graph.languages[node]].name,
                symbols=graph.n_symbols(node),
                files=1,
                degree=self.degree[at],
                in_cycle=node in graph.in_cycle,
            )
        members = self.members[at]
        languages = Counter(graph.languages[node] for node in members)
        main = min(languages, key=lambda language: (-languages[language], language))
        folder = self.ids[at].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return GraphNode(
            id=folder,
            language=LANGUAGES[main].name,
            symbols=sum(graph.n_symbols(node) for node in members),
            files=len(members),
            degree=self.degree[at],
            in_cycle=any(node in graph.in_cycle for node in members),
        )


def _focused(view: View, focus: str, depth: int) -> dict[int, int]:
    """Node -> steps from the focus, within `depth`."""
    prefix = focus + "/"
    if view.level == "file":
        start = [
            at for at, path in enumerate(view.ids)
            if path == focus or path.startswith(prefix) or not focus
        ]  # fmt: skip
    else:
        node = view.graph.node_of(focus)
        if node is not None and view.at[node] >= 0:
            start = [view.at[node]]
        else:
            start = [
                at for at, folder in enumerate(view.ids)
                if folder == (focus or ".") or folder.startswith(prefix)
            ]  # fmt: skip
    if not start:
        raise InvalidParams(f"focus: no file or folder {focus!r} in the graph")
    found = dict.fromkeys(start, 0)
    edge = start
    for step in range(1, depth + 1):
        following = []
        for at in edge:
            for other in view.around(at):
                if other not in found:
                    found[other] = step
                    following.append(other)
        edge = following
    return found


def file_links(graph: Graph, path: str) -> FileResult:
    """What one file needs and who needs it. Raises InvalidParams when it is not indexed."""
    node = graph.node_of(clean_path(graph, path, "path"))
    if node is None or node >= graph.n_nodes:
        raise InvalidParams(f"path: {path!r} is not an indexed file")
    names = graph.linked_names([node])
    depends_on = [
        FileLink(
            path=graph.path_of(target),
            kind=_kind(what),
            symbols=names.get((node, target, what & 1), []),
        )
        for target, what in graph.outgoing(node)
    ]
    incoming = graph.incoming(node)
    users = graph.linked_names(sorted({source for source, _ in incoming}), only=node)
    used_by = [
        FileLink(
            path=graph.path_of(source),
            kind=_kind(what),
            symbols=users.get((source, node, what & 1), []),
        )
        for source, what in incoming
    ]
    cycle = graph.in_cycle.get(node, [])
    order = {"import": 0, "reference": 1}
    for links in (depends_on, used_by):
        links.sort(key=lambda link: (link.path, order[link.kind]))
    return FileResult(
        path=graph.path_of(node),
        depends_on=depends_on,
        used_by=used_by,
        import_cycle=[graph.path_of(other) for other in cycle],
    )


def impact(graph: Graph, paths: Iterable[str], depth: int = 3) -> ImpactResult:
    """Files that may break when some files change, likeliest first.

    The score of a user is that of the file it uses times a step factor, more for an import and
    for more linked symbols; the best way counts. Raises InvalidParams for an unknown path.
    """
    start: dict[int, float] = {}
    for path in paths:
        node = graph.node_of(clean_path(graph, path, "paths"))
        if node is None or node >= graph.n_nodes:
            raise InvalidParams(f"paths: {path!r} is not an indexed file")
        start[node] = 1.0
    best: dict[int, tuple[float, int, int]] = {}
    edge = start
    for distance in range(1, depth + 1):
        following: dict[int, float] = {}
        for node in sorted(edge):
            weights: dict[int, int] = defaultdict(int)
            for source, what in graph.incoming(node):
                weights[source] += (what >> 1) * (2 if what & 1 == IMPORT else 1)
            for source, weight in weights.items():
                if source in start:
                    continue
                score = edge[node] * (1 - STEP / (1 + weight))
                score *= 1.0 if distance == 1 else STEP
                known = best.get(source)
                if known is None or (known[1] == distance and known[0] < score):
                    best[source] = (score, distance, node)
                    following[source] = score
        edge = following
    ranked = sorted(best.items(), key=lambda item: (-item[1][0], graph.tree.paths[item[0]]))
    return ImpactResult(
        files=[
            ImpactedFile(
                path=graph.path_of(node),
                distance=distance,
                score=round(score, 4),
                via=graph.path_of(via),
            )
            for node, (score, distance, via) in ranked[:MAX_IMPACT]
        ]
    )
