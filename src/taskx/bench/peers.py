"""Peers that a suite is paired with in the same run: command, wall and CPU time, memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from taskx.bench.figures import Figure, PeerRun, percentile


class PeerMissing(RuntimeError):
    """The text says which package to install."""


class Peer(NamedTuple):
    """program and package; arguments with {root} and {out}; the suite whose wall time it judges."""

    program: str
    package: str
    arguments: tuple[str, ...]
    suite: str
    figure: str = "wall"


PEERS = {
    "ctags": Peer("ctags", "universal-ctags", ("-R", "-f", "{out}/tags", "{root}"), "open-cold"),
    "global": Peer("gtags", "global", ("-C", "{root}", "{out}"), "open-cold"),
    "cindex": Peer("cindex", "codesearch", ("-reset", "{root}"), "open-cold"),
    "find": Peer(
        "find", "findutils", ("{root}", "-type", "f", "-printf", "%s %T@ %p\\n"), "open-warm"
    ),
    "ripgrep": Peer(
        "rg", "ripgrep", ("--count", "taskx_bench_no_such", "{root}"), "retrieve", "query p50"
    ),
}


def run_peer(name: str, root: Path, repeat: int, figures: list[Figure]) -> PeerRun:
    """Runs the peer as often as the suite ran; `ratio` is our median over its median.

    Raises PeerMissing when the program is not installed.
    """
    peer = PEERS[name]
    program = shutil.which(peer.program)
    if program is None:
        raise PeerMissing(f"{peer.program} is not installed: install the package {peer.package}")
    walls, cpus, peaks = [], [], []
    command: list[str] = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory(prefix="taskx-peer-") as out:
            places = {"root": str(root), "out": out}
            command = [program, *(part.format(**places) for part in peer.arguments)]
            environment = {**os.environ, "CSEARCHINDEX": os.path.join(out, "index")}
            started = time.perf_counter()
            process = subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            _, _, used = os.wait4(process.pid, 0)
            walls.append(time.perf_counter() - started)
            cpus.append(used.ru_utime + used.ru_stime)
            peaks.append(used.ru_maxrss * 1024)
            process.returncode = 0
    ours = [row for row in figures if row.suite == peer.suite and row.name == peer.figure]
    median_s = percentile(walls, 50)
    return PeerRun(
        peer=name,
        suite=peer.suite,
        command=" ".join(command),
        wall_s=walls,
        cpu_s=cpus,
        peak_rss_bytes=max(peaks),
        ratio=ours[0].value / 1000 / median_s if ours else 0.0,
    )
