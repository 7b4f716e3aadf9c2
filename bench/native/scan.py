"""Times the scan of a tree beside `find` on it, turn by turn, in one run.

    python bench/native/scan.py DIR [--rounds N] [--threads N]

Prints JSON: median and spread of the wall time of `find DIR -type f -printf '%s %T@ %p'`, of a
scan, and of comparing the scan with itself (what a warm open adds); CPU seconds and peak memory of
a process that does nothing but scan.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from taskx.workspace.files.columns import diff
from taskx.workspace.files.scan import Scanner, ScanOptions


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def summary(times_ms: list[float]) -> dict[str, float]:
    return {
        "median_ms": round(statistics.median(times_ms), 2),
        "min_ms": round(min(times_ms), 2),
        "max_ms": round(max(times_ms), 2),
    }


def run(folder: str, rounds: int, threads: int) -> dict[str, Any]:
    scanner = Scanner(os.fsencode(folder), ScanOptions((), dict(os.environ), threads))
    seen = scanner.scan()
    find = ["find", folder, "-type", "f", "-printf", "%s %T@ %p\\n"]
    times: dict[str, list[float]] = {"find": [], "scan": [], "diff": []}
    for _ in range(rounds):
        times["find"].append(
            timed(lambda: subprocess.run(find, stdout=subprocess.DEVNULL, check=True))
        )
        times["scan"].append(timed(scanner.scan))
        times["diff"].append(timed(lambda: diff(seen, seen, 2**62)))
    found = {name: summary(values) for name, values in times.items()}
    ratio = found["scan"]["median_ms"] / found["find"]["median_ms"]
    return {
        "folder": folder,
        "files": seen.n_files,
        "threads": threads,
        "rounds": rounds,
        **found,
        "scan_to_find": round(ratio, 3),
        "alone": alone(folder, threads),
    }


_ALONE = """
import os, resource, sys
from taskx.workspace.files.scan import Scanner, ScanOptions
def used():
    r = resource.getrusage(resource.RUSAGE_SELF)
    return r.ru_utime + r.ru_stime, r.ru_maxrss
before = used()
scan = Scanner(os.fsencode(sys.argv[1]), ScanOptions((), {}, int(sys.argv[2]))).scan()
after = used()
print(round(after[0] - before[0], 3), before[1], after[1])
"""


def alone(folder: str, threads: int) -> dict[str, float]:
    """CPU and memory of one scan in a process of its own, and the CPU of `find`."""
    command = [sys.executable, "-c", _ALONE, folder, str(threads)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    cpu, before, after = ran.stdout.split()
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        ["find", folder, "-type", "f", "-printf", "%s %T@ %p\\n"],
        stdout=subprocess.DEVNULL,
        check=True,
    )
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    find_cpu = end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime
    return {
        "cpu_s": float(cpu),
        "find_cpu_s": round(find_cpu, 3),
        "rss_before_kib": int(before),
        "rss_after_kib": int(after),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    print(json.dumps(run(given.folder, given.rounds, given.threads), indent=2))


if __name__ == "__main__":
    main()
