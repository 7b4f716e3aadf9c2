"""The summary of a workspace: counts, project, instructions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from taskx.protocol.project import InstructionInfo, LanguageCount, Project
from taskx.protocol.workspace import Skipped, Stats, Summary
from taskx.workspace.files import gitstate, instructions, manifests, project
from taskx.workspace.files.instructions import InstructionFile
from taskx.workspace.files.languages import LANGUAGES
from taskx.workspace.files.scan import Scan
from taskx.workspace.index import tables
from taskx.workspace.index.index import Outcome
from taskx.workspace.index.rows import BINARY, MINIFIED, TOO_LARGE, UNREADABLE, VANISHED
from taskx.workspace.index.snapshot import Snapshot

if TYPE_CHECKING:
    from taskx.workspace.graph.graph import Graph


def language_counts(snapshot: Snapshot) -> tuple[list[LanguageCount], list[int]]:
    """Languages by bytes, most first, and files by status."""
    files: dict[int, list[int]] = {}
    statuses = [0] * 8
    for segment, live in zip(snapshot.segments, snapshot.live, strict=True):
        counted, by_status = tables.tally(segment.language, segment.status, segment.size, live)
        for code, (n, size) in counted.items():
            row = files.setdefault(code, [0, 0])
            row[0] += n
            row[1] += size
        statuses = [a + b for a, b in zip(statuses, by_status, strict=True)]
    rows = [
        LanguageCount(language=LANGUAGES[code].name, files=n, bytes=size)
        for code, (n, size) in files.items()
    ]
    return sorted(rows, key=lambda row: (-row.bytes, row.language)), statuses


def stats_of(snapshot: Snapshot, outcome: Outcome, elapsed_ms: int) -> Stats:
    rows, statuses = language_counts(snapshot)
    return Stats(
        files=snapshot.n_files,
        parsed=outcome.parsed,
        symbols=sum(
            tables.count_symbols(segment.sym_off, live)
            for segment, live in zip(snapshot.segments, snapshot.live, strict=True)
        ),
        bytes=sum(row.bytes for row in rows),
        languages={row.language: row.files for row in rows},
        skipped=Skipped(
            binary=statuses[BINARY],
            too_large=statuses[TOO_LARGE],
            unreadable=statuses[UNREADABLE] + statuses[VANISHED] + len(outcome.gaps),
            minified=statuses[MINIFIED],
        ),
        from_cache=outcome.from_cache,
        elapsed_ms=elapsed_ms,
    )


def graph_stats(graph: Graph) -> dict[str, Any]:
    """The `stats` of `graph/project`."""
    from taskx.workspace.graph.queries import stats

    return dict(msgspec.to_builtins(stats(graph)))


def pack_graph(graph: Graph) -> bytes:
    """A graph and its stats, so that a warm open can tell the stats without the graph."""
    stats = msgspec.json.encode(graph_stats(graph))
    return len(stats).to_bytes(4, "little") + stats + graph.to_bytes()


def unpack_graph(data: bytes) -> tuple[dict[str, Any], bytes] | None:
    """The stats and the bytes of `Graph.from_bytes`; None for data of another shape."""
    n = int.from_bytes(data[:4], "little")
    try:
        stats = msgspec.json.decode(data[4 : 4 + n], type=dict[str, Any])
    except msgspec.MsgspecError:
        return None
    return stats, data[4 + n :]


class Overview:
    """Project and instructions of one root, found anew when a path that matters changes."""

    def __init__(self, root: bytes, environ: Mapping[str, str]) -> None:
        self._root = root
        self._environ = environ
        self.project = Project(
            name=os.path.basename(root).decode("utf-8", "replace"),
            languages=[],
            manifests=[],
            package_managers=[],
            frameworks=[],
            checks=[],
            git=None,
        )
        self.instructions: list[InstructionFile] = []

    def renew(self, snapshot: Snapshot, scan: Scan | None = None) -> None:
        """Reads what the repository declares. Slow; for a worker thread.

        scan: a fresh one of the whole tree, which spares git's state a look at each file.
        """
        picked = []
        for segment, live in zip(snapshot.segments, snapshot.live, strict=True):
            rows = manifests.pick(segment.path_blob, segment.path_off)
            if live is None:
                picked.extend(rows)
            else:
                picked.extend(path for path in rows if live[segment.find(path)])
        picked.sort()
        rows_by_language, _ = language_counts(snapshot)
        git = gitstate.git_state(self._root, scan, self._environ)
        self.project = project.detect(self._root, picked, rows_by_language, git)
        self.instructions = instructions.find(self._root, picked)

    def concerned(self, paths: Iterable[bytes]) -> bool:
        """Whether a change of these paths may change project or instructions."""
        base = self._root + b"/"
        return any(
            manifests.matters(path[len(base) :] if path.startswith(base) else path)
            for path in paths
        )

    def summary(self, stats: Stats, excludes: Sequence[str]) -> Summary:
        return Summary(
            root=self._root.decode("utf-8", "replace"),
            project=self.project,
            stats=stats,
            instructions=[
                InstructionInfo(
                    source=item.source,
                    scope=item.scope,
                    dir=item.dir,
                    truncated=item.truncated,
                    bytes=item.bytes,
                )
                for item in self.instructions
            ],
            excludes=list(excludes),
        )
