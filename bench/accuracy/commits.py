"""Judges retrieval by history: a commit's subject is the question, the source files it changed are
the answer, and the index is that of its parent.

    python bench/accuracy/commits.py --repo PATH [--repo PATH …] [--commits 100] [--json FILE]

PATH is a repository with its history, bare or not; nothing in it is changed. Repositories whose
name hashes into the lower half are "dev", the others "held". Beside the product: BM25 over the
same index's text alone, and match of path words alone.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from taskx._native.terms import text_terms
from taskx.workspace.files.languages import detect
from taskx.workspace.retrieval.retrieve import retrieve
from taskx.workspace.retrieval.terms import ask
from taskx.workspace.workspace import Workspace

MAX_CHANGED = 8
MIN_WORDS = 4
PROGRAMMING = 20
SYSTEMS = ("taskx", "bm25", "path")
BUDGET_TOKENS = 20_000


class Commit(NamedTuple):
    parent: str
    subject: str
    changed: frozenset[str]


def git(repo: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(repo), *arguments], capture_output=True, check=True, timeout=600
    )
    return done.stdout.decode("utf-8", "replace")


def is_source(path: str) -> bool:
    return 0 < detect(path) <= PROGRAMMING


def commits(repo: Path, wanted: int) -> list[Commit]:
    """Commits of one parent that modify few source files and say so in words, oldest first."""
    log = git(
        repo, "log", "--no-merges", "--no-renames", "--diff-filter=M", "--name-only", "-n", "6000",
        "--format=%x01%P%x02%s",
    )  # fmt: skip
    found = []
    for entry in log.split("\x01")[1:]:
        head, _, names = entry.partition("\n")
        parent, _, subject = head.partition("\x02")
        changed = frozenset(path for path in names.split("\n") if path and is_source(path))
        if parent.count(" ") or not parent or not 1 <= len(changed) <= MAX_CHANGED:
            continue
        if len(subject.split()) >= MIN_WORDS and "bump" not in subject.lower():
            found.append(Commit(parent, subject, changed))
    step = max(len(found) / wanted, 1.0)
    picked = [found[int(i * step)] for i in range(min(wanted, len(found)))]
    return picked[::-1]


def answers(workspace: Workspace, subject: str) -> Iterator[tuple[str, list[str]]]:
    """Each system's files for a subject, best first."""
    snapshot = workspace.snapshot
    result = retrieve(snapshot, subject, BUDGET_TOKENS, [])
    snippets = result.retrieval.snippets
    yield "taskx", list(dict.fromkeys(snippet.path for snippet in snippets))
    terms = [(term, 1.0) for term, _, share in ask(snapshot, subject).terms if share >= 1]
    hits = snapshot.search(terms, 10, 0.0) if terms else []
    yield "bm25", [snapshot.path(fid) for fid, _ in hits]
    wanted = {term for term, _ in terms}
    scored = []
    for fid in snapshot.file_ids():
        path = snapshot.path(fid)
        shared = len(wanted & set(text_terms(path.encode())))
        if shared:
            scored.append((-shared, len(path), path))
    yield "path", [path for *_, path in sorted(scored)[:10]]


def measures(found: list[str], changed: frozenset[str]) -> tuple[float, float, float]:
    """Recall among the first 5 and 10, and the reciprocal of the first right rank."""
    first = next((1 / rank for rank, path in enumerate(found, 1) if path in changed), 0.0)
    return (
        len(changed.intersection(found[:5])) / len(changed),
        len(changed.intersection(found[:10])) / len(changed),
        first,
    )


async def judge(repo: Path, wanted: int) -> dict[str, Any]:
    picked = commits(repo, wanted)
    sums = {system: [0.0, 0.0, 0.0] for system in SYSTEMS}
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / repo.name
        git(repo, "clone", "-q", "--shared", "--no-checkout", str(repo), str(tree))
        workspace = None
        judged = 0
        for commit in picked:
            try:
                git(tree, "checkout", "-q", "-f", "--detach", commit.parent)
            except subprocess.CalledProcessError:
                continue  # a snapshot of a repository may lack its largest files
            judged += 1
            if workspace is None:
                workspace = await Workspace.open(tree, [], cache=False)
            else:
                await workspace.refresh()
            for system, found in answers(workspace, commit.subject):
                for at, value in enumerate(measures(found, commit.changed)):
                    sums[system][at] += value
        if workspace is not None:
            await workspace.close()
    n = max(judged, 1)
    return {
        "repo": repo.name,
        "part": part_of(repo.name),
        "commits": judged,
        **{
            system: dict(zip(("recall5", "recall10", "mrr"), (x / n for x in values), strict=True))
            for system, values in sums.items()
        },
    }


def part_of(name: str) -> str:
    return "dev" if hashlib.sha256(name.encode()).digest()[0] < 128 else "held"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repo", type=Path, action="append", required=True)
    parser.add_argument("--commits", type=int, default=100, help="of each repository")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for repo in arguments.repo:
        row = asyncio.run(judge(repo.absolute(), arguments.commits))
        rows.append(row)
        print(line(row), flush=True)
    for part in ("dev", "held"):
        chosen = [row for row in rows if row["part"] == part]
        if chosen:
            print(line(mean(part, chosen)))
    print(line(mean("all", rows)))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=2) + "\n")


def mean(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Over commits, not repositories."""
    total = sum(row["commits"] for row in rows)
    found: dict[str, Any] = {"repo": name, "part": "", "commits": total}
    for system in SYSTEMS:
        found[system] = {
            key: sum(row[system][key] * row["commits"] for row in rows) / max(total, 1)
            for key in ("recall5", "recall10", "mrr")
        }
    return found


def line(row: dict[str, Any]) -> str:
    figures = "  ".join(
        " ".join([system, *(f"{value:.3f}" for value in row[system].values())])
        for system in SYSTEMS
    )
    return f"{row['repo']:<28}{row['part']:<5}{row['commits']:>5}  {figures}"


if __name__ == "__main__":
    main()
