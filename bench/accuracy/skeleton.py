"""Symbols of the fast way against those of a full parse, file by file.

    python bench/accuracy/skeleton.py DIR [--language NAME] [--show 20] [--json]

The fast way is a skeleton parse, or reading the tokens where a language has that. A symbol is its
line and name; those nested in functions are left out on both sides, as the skeleton does. Prints
for each language: symbols of the full parse, how many the fast way has too, and how many it has
beyond them.
"""

from __future__ import annotations

import argparse
import array
import itertools
import json
import os
import sys
from pathlib import Path

from taskx.workspace.files.languages import LANGUAGES, detect
from taskx.workspace.index.symbols import KIND_NAMES, Analyzer, analyzer

NESTED = 4
BATCH = 400
Symbol = tuple[str, int, str]


def files(root: Path) -> list[tuple[str, int]]:
    """(path, language id) of the files below root, sorted."""
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink() and (language := detect(str(path))):
                found.append((str(path.relative_to(root)), language))
    return sorted(found)


def symbols(engine: Analyzer, root: Path, chosen: list[tuple[str, int]]) -> dict[Symbol, str]:
    """(path, line, name) -> kind, without what is nested in functions."""
    found: dict[Symbol, str] = {}
    for start in range(0, len(chosen), BATCH):
        part = chosen[start : start + BATCH]
        names = [os.fsencode(path) for path, _ in part]
        offsets = array.array("I", [0, *itertools.accumulate(len(name) for name in names)])
        ids = array.array("h", [language for _, language in part])
        batch = engine.analyze(os.fsencode(root), b"".join(names), offsets, ids)
        blob = bytes(batch.blob)
        for i in range(batch.n_symbols):
            if batch.sym_flags[i] & NESTED:
                continue
            start_ = batch.sym_name_off[i]
            name = blob[start_ : start_ + batch.sym_name_len[i]].decode("utf-8", "replace")
            path = part[batch.sym_file[i]][0]
            found[path, batch.sym_line[i], name] = KIND_NAMES[batch.sym_kind[i]]
    return found


def compare(root: Path, only: str | None) -> dict[str, dict[str, object]]:
    """language -> counts and the differing symbols."""
    fast, whole = analyzer(), analyzer(whole=True, budget_ms=20_000)
    result: dict[str, dict[str, object]] = {}
    by_language = itertools.groupby(sorted(files(root), key=lambda f: (f[1], f[0])), lambda f: f[1])
    for language, group in by_language:
        name = LANGUAGES[language].name
        if only and name != only:
            continue
        chosen = list(group)
        want = symbols(whole, root, chosen)
        got = symbols(fast, root, chosen)
        both = want.keys() & got.keys()
        result[name] = {
            "files": len(chosen),
            "full": len(want),
            "same": len(both),
            "share": round(len(both) / len(want), 5) if want else 1.0,
            "beyond": len(got.keys() - want.keys()),
            "missing": sorted((*key, want[key]) for key in want.keys() - got.keys()),
            "more": sorted((*key, got[key]) for key in got.keys() - want.keys()),
        }
    return result


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("root", type=Path)
    parser.add_argument("--language")
    parser.add_argument("--show", type=int, default=0, help="differences to print")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    result = compare(args.root.resolve(), args.language)
    if args.json:
        json.dump(result, sys.stdout, indent=1)
        return 0
    for name, row in result.items():
        print(f"{name:12} files {row['files']:6}  full {row['full']:8}  same {row['same']:8}"
              f"  share {row['share']:.5f}  beyond {row['beyond']:6}")  # fmt: skip
        for side in ("missing", "more"):
            rows = row[side]
            assert isinstance(rows, list)
            for item in rows[:: max(1, len(rows) // args.show)][: args.show] if args.show else []:
                print("   ", side, *item)
    return 0


if __name__ == "__main__":
    sys.exit(main())
