"""Small trees written to disk, analysed and built into a graph."""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping
from pathlib import Path

from taskx.workspace.files.languages import detect
from taskx.workspace.graph.build import build
from taskx.workspace.graph.graph import KIND_NAMES, Graph
from taskx.workspace.index.segment import Segment
from taskx.workspace.index.snapshot import Snapshot
from taskx.workspace.index.symbols import analyzer


def write(root: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def segment(root: Path, paths: list[bytes]) -> Segment:
    paths = sorted(paths)
    languages = array("h", (detect(path) for path in paths))
    offsets = array("I", [0])
    for path in paths:
        offsets.append(offsets[-1] + len(path))
    batch = analyzer().analyze(os.fsencode(root), b"".join(paths), offsets, languages)
    return Segment.from_batches([(paths, languages, batch)])


def snapshot(root: Path) -> Snapshot:
    paths = [
        os.fsencode(place.relative_to(root))
        for place in root.rglob("*")
        if place.is_file() and not place.is_symlink()
    ]
    return Snapshot(os.fsencode(root), [segment(root, paths)])


def graph_of(root: Path, files: Mapping[str, str]) -> Graph:
    write(root, files)
    return build(snapshot(root))


def edges(graph: Graph, kind: str) -> set[tuple[str, str]]:
    """(from, to) of all edges of one kind."""
    return {
        (graph.path_of(node), graph.path_of(target))
        for node in range(graph.n_nodes)
        for target, what in graph.outgoing(node)
        if KIND_NAMES[what & 1] == kind
    }


def pairs(text: str) -> set[tuple[str, str]]:
    """`a -> b, c` lines as edges."""
    found = set()
    for line in text.strip().splitlines():
        source, _, targets = line.partition("->")
        found |= {(source.strip(), target.strip()) for target in targets.split(",")}
    return found
