"""`graph/project`, `graph/file`, `graph/impact`: which file needs which."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from taskx.protocol.base import UNSET, UnsetType, Wire

DEFAULT_NODES = 250
MAX_NODES = 600
MAX_DEPTH = 4

EdgeKind = Literal["import", "reference"]
Depth = Annotated[int, Meta(ge=1, le=MAX_DEPTH)]


class ProjectParams(Wire, frozen=True, kw_only=True):
    """focus: a file or folder, relative to the root."""

    level: Literal["file", "module"] = "file"
    focus: str | UnsetType = UNSET
    depth: Depth = 1
    max_nodes: Annotated[int, Meta(ge=1, le=MAX_NODES)] = DEFAULT_NODES
    imports_only: bool = False


class GraphNode(Wire, frozen=True, kw_only=True):
    """id: the path of the file, or of the folder (`.` for the root) at module level.

    degree: distinct neighbours in the whole graph. symbols, files: how many it holds.
    """

    id: str
    language: str
    symbols: int
    files: int
    degree: int
    in_cycle: bool


class GraphEdge(Wire, rename={"source": "from", "target": "to"}, frozen=True, kw_only=True):
    """source, target: indexes into `nodes`. weight: distinct linked symbols, at least 1."""

    source: int
    target: int
    weight: int
    kind: EdgeKind


class GraphTotal(Wire, frozen=True, kw_only=True):
    """What there was before the cut to `maxNodes`."""

    nodes: int
    edges: int


class Hub(Wire, frozen=True, kw_only=True):
    path: str
    dependents: int


class GraphStats(Wire, frozen=True, kw_only=True):
    """Of the whole graph. version: of the graph engine."""

    files: int
    edges: int
    import_edges: int
    reference_edges: int
    modules: int
    cycles: int
    orphans: int
    hubs: list[Hub]
    import_cycles: list[list[str]]
    build_ms: int
    version: int


class ProjectResult(Wire, frozen=True, kw_only=True):
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    total: GraphTotal
    stats: GraphStats


class FileParams(Wire, frozen=True, kw_only=True):
    path: str


class FileLink(Wire, frozen=True, kw_only=True):
    """symbols: the linked names, at most 50."""

    path: str
    kind: EdgeKind
    symbols: list[str]


class FileResult(Wire, frozen=True, kw_only=True):
    """import_cycle: the paths of the file's import cycle; empty when it is in none."""

    path: str
    depends_on: list[FileLink]
    used_by: list[FileLink]
    import_cycle: list[str]


class ImpactParams(Wire, frozen=True, kw_only=True):
    """paths: files that change. depth: how many steps to follow their users."""

    paths: Annotated[list[str], Meta(min_length=1, max_length=1000)]
    depth: Depth = 3


class ImpactedFile(Wire, frozen=True, kw_only=True):
    """via: the neighbour through which it is reached. score: 0 to 1, likelier first."""

    path: str
    distance: int
    score: float
    via: str


class ImpactResult(Wire, frozen=True, kw_only=True):
    files: list[ImpactedFile]
