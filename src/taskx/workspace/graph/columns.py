"""The snapshot as the graph reads it: nodes for paths, columns per segment, import rows."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

from taskx.workspace.graph.resolvers.base import ImportRow
from taskx.workspace.index.segment import Segment
from taskx.workspace.index.snapshot import Snapshot

NATIVE_COLUMNS = [
    "path_blob",
    "path_off",
    "sym_off",
    "sym_file",
    "sym_name_hash",
    "sym_kind",
    "sym_parent",
    "sym_flags",
    "sym_by_hash",
    "imp_off",
    "imp_kind",
    "imp_module_off",
    "imp_module_len",
    "blob",
    "names",
    "idt_off",
    "idt_name",
    "idt_flags",
]


class Tree:
    """Nodes of a snapshot. A node is a path; it keeps its number when the file changes.

    paths: by node, decoded so that no two are equal; "" for a node whose file is gone.
    """

    def __init__(self, snapshot: Snapshot, previous: Tree | None = None) -> None:
        self.snapshot = snapshot
        self.paths: list[str] = [] if previous is None else list(previous.paths)
        self.ids: dict[str, int] = {} if previous is None else dict(previous.ids)
        self.segment_nodes: list[array[int]] = []
        self.where: dict[int, tuple[Segment, int]] | None = None
        self.fids: array[int] = array("i")
        self._number(previous)

    def _number(self, previous: Tree | None) -> None:
        snapshot = self.snapshot
        self.added: list[int] = []
        self.renewed: list[int] = []
        known = {} if previous is None else {
            id(segment): at for at, segment in enumerate(previous.snapshot.segments)
        }  # fmt: skip
        fids = array("i", previous.fids if previous is not None else [])
        seen = bytearray(len(fids))
        for base, segment, mask in zip(
            snapshot.bases, snapshot.segments, snapshot.live, strict=True
        ):
            at = known.get(id(segment))
            if previous is not None and at is not None:
                nodes = previous.segment_nodes[at]
                old_mask = previous.snapshot.live[at]
                if mask is not None and mask != old_mask:
                    nodes = array("i", nodes)
                    for local, alive in enumerate(mask):
                        if not alive:
                            nodes[local] = -1
                self.segment_nodes.append(nodes)
                continue
            nodes = array("i", bytes(4 * segment.n_files))
            for local in range(segment.n_files):
                if mask is not None and not mask[local]:
                    nodes[local] = -1
                    continue
                path = segment.path(local).decode("utf-8", "surrogateescape")
                node = self.ids.get(path)
                if node is None:
                    node = self.ids[path] = len(self.paths)
                    self.paths.append(path)
                    fids.append(base + local)
                    self.added.append(node)
                else:
                    fids[node] = base + local
                    self.renewed.append(node)
                nodes[local] = node
            self.segment_nodes.append(nodes)
        # Bases move when an older segment goes, and a node whose file is gone has no place.
        gone = array("i", bytes(4 * len(self.paths)))
        for base, nodes in zip(snapshot.bases, self.segment_nodes, strict=True):
            for local, node in enumerate(nodes):
                if node >= 0:
                    fids[node] = base + local
                    gone[node] = 1
        self.removed = [node for node, here in enumerate(gone) if not here and self.paths[node]]
        for node in self.removed:
            self.ids.pop(self.paths[node], None)
            self.paths[node] = ""
            fids[node] = -1
        del seen
        self.fids = fids

    @property
    def n_nodes(self) -> int:
        return len(self.paths)

    def locate(self, node: int) -> tuple[Segment, int]:
        return self.snapshot.locate(self.fids[node])

    def languages(self) -> array[int]:
        """Language id per node; 0 for one that is gone."""
        found = array("h", bytes(2 * len(self.paths)))
        for segment, nodes in zip(self.snapshot.segments, self.segment_nodes, strict=True):
            for node, language in zip(nodes, segment.language, strict=True):
                if node >= 0:
                    found[node] = language
        return found

    def native(self) -> list[tuple[array[int], dict[str, Any]]]:
        """What `refgraph.Linker` takes."""
        return [
            (nodes, {name: getattr(segment, name) for name in NATIVE_COLUMNS})
            for segment, nodes in zip(self.snapshot.segments, self.segment_nodes, strict=True)
        ]

    def rows(self, node: int) -> Iterator[ImportRow]:
        """The import rows of one file."""
        segment, local = self.locate(node)
        start, end = segment.imp_off[local], segment.imp_off[local + 1]
        text = segment.text
        for row in range(start, end):
            yield ImportRow(
                segment.imp_kind[row],
                text(segment.imp_module_off[row], segment.imp_module_len[row]),
                text(segment.imp_name_off[row], segment.imp_name_len[row]),
                text(segment.imp_alias_off[row], segment.imp_alias_len[row]),
                text(segment.imp_attr_off[row], segment.imp_attr_len[row]),
                segment.imp_level[row],
                segment.imp_flags[row],
                segment.imp_line[row],
            )

    def quals(self, node: int) -> Iterator[tuple[int, int]]:
        """(owner hash, member hash) pairs of one file."""
        segment, local = self.locate(node)
        start, end = segment.qual_off[local], segment.qual_off[local + 1]
        names = segment.names
        for owner, member in zip(
            segment.qual_name[start:end], segment.qual_member[start:end], strict=True
        ):
            yield names[owner], names[member]

    def uses(self, node: int) -> Iterator[tuple[int, int]]:
        """(name hash, flags) of the identifiers of one file."""
        segment, local = self.locate(node)
        start, end = segment.idt_off[local], segment.idt_off[local + 1]
        names = segment.names
        for name, flags in zip(
            segment.idt_name[start:end], segment.idt_flags[start:end], strict=True
        ):
            yield names[name], flags

    def symbol_names(self, node: int) -> Mapping[int, str]:
        """Hash -> name of the symbols of one file."""
        segment, local = self.locate(node)
        return {
            segment.sym_name_hash[row]: segment.text(
                segment.sym_name_off[row], segment.sym_name_len[row]
            )
            for row in range(segment.sym_off[local], segment.sym_off[local + 1])
        }
