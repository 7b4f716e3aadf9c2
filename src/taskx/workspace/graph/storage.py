"""The stored form of a graph's edges.

`TXGRAPH` and a format byte, then little-endian: engine version u32, nodes u32, edges u32, CRC-32 of
the paths u32, CRC-32 of the arrays u32; then int32 arrays off[nodes + 1], to[edges], what[edges].
Nodes are counted in the byte order of their paths. Format 1: first.
"""

from __future__ import annotations

import os
import struct
import sys
import zlib
from array import array
from collections.abc import Sequence

from taskx.workspace.graph.columns import Tree

# Version of the graph engine: grows whenever the same tree would give other edges.
# 1: import and reference edges of twenty languages.
ENGINE_VERSION = 1

MAGIC = b"TXGRAPH\x01"
HEADER = struct.Struct("<8sIIIII")

Edges = tuple[bytes, bytes, bytes]


def dump(tree: Tree, off: Sequence[int], to: Sequence[int], what: Sequence[int]) -> bytes:
    """Bytes of the edges of a graph over the files of `tree`."""
    order = _order(tree)
    if order == list(range(len(off) - 1)):
        arrays = [array("i", off), array("i", to), array("i", what)]
    else:
        arrays = _renumbered(order, off, to, what)
    body = b"".join(_little(part).tobytes() for part in arrays)
    counts = len(arrays[0]) - 1, len(arrays[1])
    return HEADER.pack(MAGIC, ENGINE_VERSION, *counts, _paths(tree, order), zlib.crc32(body)) + body


def load(data: bytes | memoryview, tree: Tree) -> Edges | None:
    """(off, to, what) as int32 bytes; None when they are not of these files, or damaged."""
    if len(data) < HEADER.size:
        return None
    magic, version, n, m, paths, check = HEADER.unpack_from(data)
    body = memoryview(data)[HEADER.size :]
    if magic != MAGIC or version != ENGINE_VERSION or len(body) != 4 * (n + 1 + 2 * m):
        return None
    order = _order(tree)
    if len(order) != n or _paths(tree, order) != paths or zlib.crc32(body) != check:
        return None
    off, to, what = (
        _little(array("i", bytes(part)))
        for part in (body[: 4 * (n + 1)], body[4 * (n + 1) :][: 4 * m], body[4 * (n + 1 + m) :])
    )
    if order != list(range(n)):
        back = [0] * n
        for rank, node in enumerate(order):
            back[node] = rank
        off, to, what = _renumbered(back, off, to, what)
    return off.tobytes(), to.tobytes(), what.tobytes()


def _order(tree: Tree) -> list[int]:
    """Nodes in the byte order of their paths, without those that are gone."""
    here = [node for node in range(tree.n_nodes) if tree.fids[node] >= 0]
    return sorted(here, key=lambda node: os.fsencode(tree.paths[node]))


def _paths(tree: Tree, order: list[int]) -> int:
    return zlib.crc32(b"\0".join(os.fsencode(tree.paths[node]) for node in order))


def _renumbered(
    order: list[int], off: Sequence[int], to: Sequence[int], what: Sequence[int]
) -> list[array[int]]:
    """The edges with node `order[k]` called k, sorted anew."""
    number = {node: rank for rank, node in enumerate(order)}
    new_off, new_to, new_what = array("i", [0]), array("i"), array("i")
    for node in order:
        if node + 1 < len(off):
            start, end = off[node], off[node + 1]
            rows = sorted(
                (number[target], kind & 1, kind)
                for target, kind in zip(to[start:end], what[start:end], strict=True)
                if target in number
            )
            new_to.extend(row[0] for row in rows)
            new_what.extend(row[2] for row in rows)
        new_off.append(len(new_to))
    return [new_off, new_to, new_what]


def _little(values: array[int]) -> array[int]:
    if sys.byteorder == "big":
        values = array("i", values)
        values.byteswap()
    return values
