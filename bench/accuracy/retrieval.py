"""Judges retrieval by the published benchmark of annotated questions: NDCG@10 by file and by chunk.

    python bench/accuracy/retrieval.py --data DIR [--repo NAME …] [--json FILE] [--at-least 0.88]

DIR holds repos.json, annotations/NAME.json and the trees repos/NAME. Questions go through the real
process over stdio. A target is a path, or lines of one; all weigh the same. By file, a system's
results are its distinct files in order; by chunk, its first ten results, where a target with lines
is met only by a result that overlaps them. A repository's figure is the mean of its questions, the
whole is the mean of the repositories. The exit code is 1 when a figure by file or chunk is lower
than --at-least.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

TOP = 10
BUDGET_TOKENS = 20_000


class Process:
    """A runtime that answers one request at a time."""

    def __init__(self) -> None:
        self.child = subprocess.Popen(
            [sys.executable, "-m", "taskx"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.id = 0
        client = {"name": "accuracy", "version": "1"}
        self.call("initialize", {"protocolVersion": 1, "clientInfo": client})

    def call(self, method: str, params: dict[str, Any]) -> Any:
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.id += 1
        message = {"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.stdin.flush()
        for line in self.child.stdout:
            reply = json.loads(line)
            if reply.get("id") == self.id and "method" not in reply:
                return reply["result"]
        raise SystemExit("the runtime ended")

    def close(self) -> None:
        assert self.child.stdin is not None
        self.child.stdin.close()
        self.child.wait(timeout=30)


def targets_of(entry: dict[str, Any]) -> list[tuple[str, int | None, int | None]]:
    found = []
    for raw in entry.get("relevant", []) + entry.get("secondary", []):
        if isinstance(raw, str):
            found.append((raw, None, None))
        else:
            found.append((raw["path"], raw.get("start_line"), raw.get("end_line")))
    return found


def same_file(found: str, wanted: str) -> bool:
    return found == wanted or found.endswith("/" + wanted) or wanted.endswith("/" + found)


def ndcg(ranks: set[int], n_targets: int) -> float:
    if not n_targets:
        return 0.0
    gain = sum(1 / math.log2(rank + 1) for rank in ranks if rank <= TOP)
    return gain / sum(1 / math.log2(rank + 1) for rank in range(1, min(TOP, n_targets) + 1))


def judge(
    snippets: list[dict[str, Any]], base: str, targets: list[tuple[str, int | None, int | None]]
) -> tuple[float, float]:
    """NDCG by file and by chunk. base: of the index in the repository, "" or ending in a slash."""
    paths = [base + snippet["path"] for snippet in snippets]
    files = list(dict.fromkeys(paths))
    by_file: set[int] = set()
    by_chunk: set[int] = set()
    for wanted, start, end in targets:
        by_file.update([rank for rank, path in enumerate(files, 1) if same_file(path, wanted)][:1])
        for rank, (path, snippet) in enumerate(zip(paths, snippets, strict=True), 1):
            overlaps = start is None or (
                snippet["startLine"] <= (end or start) and start <= snippet["endLine"]
            )
            if same_file(path, wanted) and overlaps:
                by_chunk.add(rank)
                break
    return ndcg(by_file, len(targets)), ndcg(by_chunk, len(targets))


def measure(data: Path, spec: dict[str, Any]) -> dict[str, Any]:
    base = spec.get("benchmark_root") or ""
    root = (data / "repos" / spec["name"] / base).resolve()
    entries = json.loads((data / "annotations" / f"{spec['name']}.json").read_text())
    process = Process()
    started = time.perf_counter()
    process.call("workspace/open", {"root": str(root)})
    opened = time.perf_counter() - started
    scores: dict[str, list[tuple[float, float]]] = defaultdict(list)
    times = []
    for entry in entries:
        started = time.perf_counter()
        params = {"query": entry["query"], "budgetTokens": BUDGET_TOKENS}
        result = process.call("context/retrieve", params)
        times.append(time.perf_counter() - started)
        score = judge(result["retrieval"]["snippets"], base and base + "/", targets_of(entry))
        scores[entry.get("category") or "semantic"].append(score)
    process.close()
    every = [score for group in scores.values() for score in group]
    return {
        "repo": spec["name"],
        "file": mean(every, 0),
        "chunk": mean(every, 1),
        "categories": {name: (mean(v, 0), mean(v, 1)) for name, v in sorted(scores.items())},
        "openMs": opened * 1000,
        "queryMs": statistics.median(times) * 1000,
    }


def mean(scores: list[tuple[float, float]], at: int) -> float:
    return sum(score[at] for score in scores) / max(len(scores), 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repo", action="append", default=[])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--at-least", type=float, default=0.0)
    arguments = parser.parse_args()
    rows = []
    for spec in json.loads((arguments.data / "repos.json").read_text()):
        if arguments.repo and spec["name"] not in arguments.repo:
            continue
        rows.append(measure(arguments.data, spec))
        row = rows[-1]
        print(
            f"{row['repo']:<20}{row['file']:>8.3f}{row['chunk']:>8.3f}"
            f"{row['openMs']:>9.0f} ms open{row['queryMs']:>9.2f} ms a question",
            flush=True,
        )
    whole = [statistics.mean(row[unit] for row in rows) for unit in ("file", "chunk")]
    print(f"{'mean':<20}{whole[0]:>8.3f}{whole[1]:>8.3f}")
    for category in sorted({name for row in rows for name in row["categories"]}):
        pairs = [row["categories"][category] for row in rows if category in row["categories"]]
        figures = "".join(f"{statistics.mean(pair[at] for pair in pairs):>8.3f}" for at in (0, 1))
        print(f"{category:<20}{figures}")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 0 if min(whole) >= arguments.at_least else 1


if __name__ == "__main__":
    sys.exit(main())
