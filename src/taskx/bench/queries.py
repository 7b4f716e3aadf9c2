"""Queries for the retrieve suite, made from the corpus by seed so that anyone can repeat them."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

SOURCE_SUFFIXES = (".py", ".c", ".h", ".go", ".rs", ".ts", ".tsx", ".js", ".java", ".rb", ".php")
DEFINITION = re.compile(
    rb"^\s*(?:(?:pub|export|static|async|public|private|def|func|fn|class|struct|type|interface"
    rb"|int|void|function)\s+)+([A-Za-z_]\w{3,})",
    re.MULTILINE,
)
SENTENCE = re.compile(rb"(?:\"\"\"|//+|/\*\*?|#|\*)\s*([A-Z][a-z]+(?: [A-Za-z`_-]+){4,12})")
MAX_READ_BYTES = 200_000


def make_queries(root: Path, count: int, seed: int = 1) -> list[str]:
    """A third symbol names, a third sentences of comments, a third words of paths."""
    files = source_files(root)
    if not files:
        return []
    chosen = random.Random(seed)
    queries: list[str] = []
    for turn in range(count * 20):
        if len(queries) == count:
            break
        path = chosen.choice(files)
        query = (from_symbol, from_sentence, from_path)[turn % 3](path, root, chosen)
        if query is not None and query not in queries:
            queries.append(query)
    return queries


def source_files(root: Path) -> list[Path]:
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(folder, name) for name in sorted(names) if name.endswith(SOURCE_SUFFIXES)]
    return found


def from_symbol(path: Path, root: Path, chosen: random.Random) -> str | None:
    names = DEFINITION.findall(path.read_bytes()[:MAX_READ_BYTES])
    return chosen.choice(names).decode() if names else None


def from_sentence(path: Path, root: Path, chosen: random.Random) -> str | None:
    sentences = SENTENCE.findall(path.read_bytes()[:MAX_READ_BYTES])
    return chosen.choice(sentences).decode("utf-8", "replace") if sentences else None


def from_path(path: Path, root: Path, chosen: random.Random) -> str | None:
    words = re.findall(r"[A-Za-z]{3,}", str(path.relative_to(root).with_suffix("")))
    return " ".join(words[-3:]).lower() if len(words) >= 2 else None
