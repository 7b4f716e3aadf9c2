"""Import and reference edges against compilers, language servers and their like.

    python bench/accuracy/edges.py TREES [NAME...] [--oracles DIR] [--tools DIR] [--show N] [--json]

TREES holds one folder per source tree (the table below names them); Go's own library and Debian's
regex-syntax are read where their packages put them. Oracle edges are made on first use and kept in
--oracles. --tools is a folder with `node_modules` (typescript, @sourcegraph/scip-python and
scip-typescript); grimp and libclang must be importable, `go` and `rustc` on the path.

An edge counts when the oracle opened both its files: what an oracle never saw (a package without
`__init__.py` for grimp, another crate for rustc) it cannot judge. Specifiers that the TypeScript
oracle lists as unresolved are left out for the same reason. `plain` is precision and recall with
every edge counted from files in which the oracle has any.
"""

from __future__ import annotations

import argparse
import array
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from taskx.workspace.files.languages import detect
from taskx.workspace.graph.build import build
from taskx.workspace.graph.graph import IMPORT, REFERENCE, Graph
from taskx.workspace.index.segment import Segment
from taskx.workspace.index.snapshot import Snapshot
from taskx.workspace.index.symbols import analyzer

HERE = Path(__file__).resolve().parent / "oracles"
GO_STD = Path("/usr/share/go-1.19/src")
CRATES = Path("/usr/share/cargo/registry")
Edge = tuple[str, str]


class Case(NamedTuple):
    """One comparison. bars: precision and recall to reach. inner: folder of the tree it covers."""

    tree: str
    kind: str
    tool: str
    bars: tuple[float, float]
    arguments: tuple[str, ...] = ()
    inner: str = ""


AXUM = ("axum", "axum-core", "axum-extra")
RIPGREP = ("cli", "globset", "ignore", "matcher", "printer", "regex", "searcher")
CASES = (
    Case("django", "import", "python", (0.99, 0.99), ("django",)),
    Case("pydantic-sdist", "import", "python", (0.99, 0.99), ("pydantic",)),
    Case("flask", "import", "python", (0.99, 0.99), ("flask", "--source-dir", "src")),
    Case("click", "import", "python", (0.99, 0.99), ("click", "--source-dir", "src")),
    Case("httpx", "import", "python", (0.99, 0.99), ("httpx",)),
    Case("zod", "import", "typescript", (0.99, 0.98)),
    Case("trpc", "import", "typescript", (0.99, 0.98)),
    Case("vitest", "import", "typescript", (0.99, 0.98)),
    Case("gin", "import", "go", (1.0, 1.0)),
    Case("go-std", "import", "go", (1.0, 1.0), ("-std",)),
    *(Case("axum", "import", "rust", (0.98, 0.97), ("src/lib.rs",), crate) for crate in AXUM),
    Case("ripgrep", "import", "rust", (0.98, 0.97), ("main.rs",), "crates/core"),
    *(
        Case("ripgrep", "import", "rust", (0.98, 0.97), ("src/lib.rs",), f"crates/{crate}")
        for crate in RIPGREP
    ),
    Case("regex-syntax", "import", "rust", (0.98, 0.97), ("src/lib.rs",)),
    Case("django", "reference", "scip-python", (0.90, 0.88)),
    Case("flask", "reference", "scip-python", (0.90, 0.88)),
    Case("zod", "reference", "scip-typescript", (0.88, 0.75)),
    Case("trpc", "reference", "scip-typescript", (0.88, 0.75)),
    Case("gin", "reference", "go", (0.90, 0.88)),
    Case("go-std", "reference", "go", (0.90, 0.88), ("-std",)),
    *(Case("axum", "reference", "rust", (0.88, 0.80), ("src/lib.rs",), crate) for crate in AXUM),
    Case("lua", "reference", "c", (0.88, 0.85), ("--exclude", "onelua.c")),
)


def tree_of(case: Case, trees: Path) -> Path:
    if case.tree == "go-std":
        return GO_STD
    if case.tree == "regex-syntax":
        return next(iter(sorted(CRATES.glob("regex-syntax-*"))), CRATES / "regex-syntax")
    return trees / case.tree


def oracle(case: Case, root: Path, kept: Path, tools: Path) -> dict[str, Any]:
    """The oracle's document, made when it is not kept yet."""
    name = f"{case.tree}{'-' + case.inner.replace('/', '-') if case.inner else ''}.{case.kind}.json"
    place = kept / name
    if not place.is_file():
        documents = RUNNERS[case.tool](case, root / case.inner, tools)
        merged = dict(documents[0])
        merged["edges"] = sorted({tuple(e) for d in documents for e in d["edges"]})
        place.write_text(json.dumps(merged))
    found: dict[str, Any] = json.loads(place.read_text())
    return found


def run(command: list[str], cwd: Path | None = None, **environment: str) -> dict[str, Any]:
    result = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, stdout=subprocess.PIPE, check=True
    )
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def run_python(case: Case, root: Path, _: Path) -> list[dict[str, Any]]:
    return [run([sys.executable, str(HERE / "py_imports.py"), str(root), *case.arguments])]


def run_typescript(case: Case, root: Path, tools: Path) -> list[dict[str, Any]]:
    script = ["node", str(HERE / "ts_imports.mjs"), str(root), "--unresolved"]
    return [run(script, ORACLE_NODE_PATH=str(tools / "x.js"))]


def run_go(case: Case, root: Path, _: Path) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder, "goedges"))
        subprocess.run(["go", "build", "-o", program, "."], cwd=HERE / "go_edges", check=True)
        target = ["-target", "dir"] if case.kind == "import" else []
        return [run([program, "-kind", case.kind, *target, *case.arguments, str(root)])]


def run_rust(case: Case, root: Path, _: Path) -> list[dict[str, Any]]:
    """All features, with and without tests: code removed by one setting is seen by another."""
    manifest = tomllib.loads((root / "Cargo.toml").read_text()) if (root / "src").is_dir() else {}
    features = set(manifest.get("features", {}))
    features |= {
        name
        for name, value in manifest.get("dependencies", {}).items()
        if isinstance(value, dict) and value.get("optional")
    }
    flags = [part for f in sorted(features) for part in ("--cfg", f'feature="{f}"')]
    edition = manifest.get("package", {}).get("edition", "2015") if manifest else "2024"
    edition = edition if isinstance(edition, str) else "2024" if case.tree == "ripgrep" else "2021"
    command = [
        sys.executable, str(HERE / "rust_edges.py"), str(root), case.arguments[0],
        "--kind", case.kind, "--edition", edition,
    ]  # fmt: skip
    return [run([*command, *flags, *more]) for more in ([], ["--cfg", "test"])]


def run_scip(case: Case, root: Path, tools: Path) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        copy, index = Path(folder, "tree"), str(Path(folder, "index.scip"))
        shutil.copytree(root, copy, symlinks=True)
        program = str(tools / "node_modules" / ".bin" / case.tool)
        if case.tool == "scip-python":
            (copy / "pyrightconfig.json").write_text('{"extraPaths": ["src"]}')
            command = [program, "index", ".", "--project-name", "p", "--project-version", "1"]
        else:
            command = [program, "index", "."]
        subprocess.run([*command, "--output", index], cwd=copy, check=True, stdout=sys.stderr)
        return [run([sys.executable, str(HERE / "scip_refs.py"), index])]


def run_c(case: Case, root: Path, _: Path) -> list[dict[str, Any]]:
    script = [sys.executable, str(HERE / "c_refs.py"), str(root), "--define", "LUA_USE_LINUX"]
    return [run([*script, *case.arguments])]


RUNNERS = {
    "python": run_python, "typescript": run_typescript, "go": run_go, "rust": run_rust,
    "scip-python": run_scip, "scip-typescript": run_scip, "c": run_c,
}  # fmt: skip


def graph_of(root: Path) -> Graph:
    """The engine's graph of every regular file below root."""
    paths = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in (".git", "node_modules")]
        paths += [
            os.fsencode(os.path.relpath(os.path.join(folder, name), root))
            for name in names
            if not os.path.islink(os.path.join(folder, name))
        ]
    paths.sort()
    engine, batches = analyzer(), []
    for start in range(0, len(paths), 400):
        part = paths[start : start + 400]
        languages = array.array("h", (detect(path) for path in part))
        offsets = array.array("I", [0, *itertools.accumulate(map(len, part))])
        batch = engine.analyze(os.fsencode(root), b"".join(part), offsets, languages)
        batches.append((part, languages, batch))
    return build(Snapshot(os.fsencode(root), [Segment.from_batches(batches)]))


def edges_of(graph: Graph, kind: int) -> set[Edge]:
    return {
        (graph.tree.paths[node], graph.tree.paths[target])
        for node in range(graph.n_nodes)
        for target, what in graph.outgoing(node)
        if what & 1 == kind
    }


def unresolved(graph: Graph, document: dict[str, Any]) -> set[Edge]:
    """Edges that only specifiers make which the TypeScript oracle could not resolve."""
    listed = {(path, spec) for path, spec in document["notes"].get("unresolvedList", ())}
    by_edge: dict[Edge, set[str]] = {}
    if not listed or graph.maker is None:
        return set()
    imports = graph.maker.imports
    for node in imports.bound:
        source = graph.tree.paths[node]
        for row in graph.tree.rows(node):
            for link in imports.links(node, row):
                for target in link.files:
                    by_edge.setdefault((source, graph.tree.paths[target]), set()).add(row.module)
    return {
        edge for edge, specs in by_edge.items() if all((edge[0], spec) in listed for spec in specs)
    }


def score(truth: set[Edge], found: set[Edge]) -> tuple[float, float]:
    right = len(truth & found)
    return (
        right / len(found) if found else 1.0,
        right / len(truth) if truth else 1.0,
    )


def to_folders(edges: set[Edge], sources: set[str]) -> set[Edge]:
    """Go: edges end at packages."""

    def folder(path: str) -> str:
        name = path.rpartition("/")[2]
        return path.rpartition("/")[0] or "." if path in sources or "." in name else path

    return {(a, folder(b)) for a, b in edges}


def compare(case: Case, graph: Graph, document: dict[str, Any]) -> dict[str, Any]:
    """One row of the table, with the edges that differ."""
    prefix = case.inner + "/" if case.inner else ""
    truth = {(prefix + a, prefix + b) for a, b in document["edges"]}
    sources = {a for a, _ in truth}
    found = edges_of(graph, IMPORT if case.kind == "import" else REFERENCE)
    if case.tool == "go" and case.kind == "import":
        truth, found = to_folders(truth, sources), to_folders(found, sources)
    found = {edge for edge in found if edge[0] in sources}
    plain = score(truth, found)
    opened = sources | {b for _, b in truth}
    fair = {edge for edge in found if edge[1] in opened} - (unresolved(graph, document) - truth)
    precision, recall = score(truth, fair)
    return {
        "tree": case.tree, "inner": case.inner, "kind": case.kind, "oracle": len(truth),
        "engine": len(fair), "precision": round(precision, 4), "recall": round(recall, 4),
        "bars": case.bars, "plain": [round(value, 4) for value in plain],
        "reached": round(precision, 4) >= case.bars[0] and round(recall, 4) >= case.bars[1],
        "extra": sorted(fair - truth), "missed": sorted(truth - fair),
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees", type=Path)
    parser.add_argument("names", nargs="*", help="trees to compare (default: all)")
    parser.add_argument("--oracles", type=Path, default=Path("build/oracles"))
    parser.add_argument("--tools", type=Path, default=Path("build/oracle-tools"))
    parser.add_argument("--show", type=int, default=0, help="edges of each difference to print")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    args.oracles.mkdir(parents=True, exist_ok=True)
    graphs: dict[Path, Graph] = {}
    rows = []
    for case in CASES:
        root = tree_of(case, args.trees)
        if (args.names and case.tree not in args.names) or not root.is_dir():
            continue
        document = oracle(case, root, args.oracles.resolve(), args.tools.resolve())
        if root not in graphs:
            graphs = {root: graph_of(root)}
        row = compare(case, graphs[root], document)
        rows.append(row)
        if not args.json:
            print_row(row, args.show)
    if args.json:
        json.dump(rows, sys.stdout, indent=1)
    return 0 if all(row["reached"] for row in rows) else 1


def print_row(row: dict[str, Any], show: int) -> None:
    name = f"{row['tree']}/{row['inner']}".rstrip("/")
    print(
        f"{name:24} {row['kind']:10} {row['oracle']:6} {row['engine']:6}  "
        f"{row['precision']:.4f} {row['recall']:.4f}  bar {row['bars'][0]:.2f} {row['bars'][1]:.2f}"
        f"  plain {row['plain'][0]:.4f} {row['plain'][1]:.4f}{'' if row['reached'] else '  BELOW'}",
        flush=True,
    )
    for title in ("extra", "missed"):
        for source, target in row[title][:show]:
            print(f"    {title:7}{source} -> {target}")


if __name__ == "__main__":
    sys.exit(main())
