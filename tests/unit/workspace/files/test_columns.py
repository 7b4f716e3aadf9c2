"""What changed between two scans; languages of whole columns."""

from __future__ import annotations

import os
from array import array
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskx.workspace.files.columns import RACY_MARGIN_NS, diff, languages_of
from taskx.workspace.files.languages import LANGUAGES, detect
from taskx.workspace.files.scan import Scanner, ScanOptions

from .trees import environ, make

Stamp = tuple[int, int]


@dataclass
class Table:
    paths: bytes
    path_off: memoryview
    size: memoryview
    mtime_ns: memoryview


def table(files: dict[bytes, Stamp]) -> Table:
    names = sorted(files)
    off = [0]
    for name in names:
        off.append(off[-1] + len(name))
    return Table(
        b"".join(names),
        memoryview(array("I", off)),
        memoryview(array("q", [files[name][0] for name in names])),
        memoryview(array("q", [files[name][1] for name in names])),
    )


def slow_diff(old: dict[bytes, Stamp], new: dict[bytes, Stamp], before_ns: int) -> list[list[int]]:
    row_old, row_new = sorted(old), sorted(new)
    both = sorted(set(old) & set(new))
    same = [p for p in both if old[p] == new[p] and old[p][1] < before_ns]
    other = [p for p in both if p not in same]
    return [
        [row_old.index(p) for p in same],
        [row_new.index(p) for p in same],
        [row_old.index(p) for p in other],
        [row_new.index(p) for p in other],
        [row_new.index(p) for p in row_new if p not in old],
        [row_old.index(p) for p in row_old if p not in new],
    ]


FILES = st.dictionaries(
    st.text("ab/.", min_size=1, max_size=4).map(str.encode),
    st.tuples(st.integers(0, 2), st.integers(0, 3)),
    max_size=12,
)


@given(FILES, FILES, st.integers(0, 4))
def test_diff_equals_the_slow_version(
    old: dict[bytes, Stamp], new: dict[bytes, Stamp], before_ns: int
) -> None:
    found = diff(table(old), table(new), before_ns + RACY_MARGIN_NS)
    columns = [
        found.unchanged_old,
        found.unchanged_new,
        found.changed_old,
        found.changed_new,
        found.added,
        found.removed,
    ]
    assert [column.tolist() for column in columns] == slow_diff(old, new, before_ns)


def test_W03_row_73_a_time_too_near_the_last_scan_counts_as_changed() -> None:
    started = 10_000_000_000
    files = {b"old": (3, started - 3_000_000_000), b"near": (3, started - 1_000)}
    found = diff(table(files), table(files), started)
    assert found.changed_new.tolist() == [0]
    assert found.unchanged_new.tolist() == [1]


def test_columns_that_do_not_fit_are_refused() -> None:
    good = table({b"a": (1, 1), b"b": (1, 1)})
    for off in ([0, 2, 1], [0, 1, 9]):
        bad = Table(good.paths, memoryview(array("I", off)), good.size, good.mtime_ns)
        with pytest.raises(ValueError, match="offsets"):
            diff(bad, good, 0)
    short = Table(good.paths, good.path_off, good.size[:1], good.mtime_ns)
    with pytest.raises(ValueError, match="lengths"):
        diff(good, short, 0)


def languages(root: Path, *changed: bytes) -> dict[bytes, str]:
    scanner = Scanner(os.fsencode(root), ScanOptions((), environ(root)))
    scan = scanner.scan_paths(changed).scan if changed else scanner.scan()
    ids = languages_of(scanner.root, scan)
    rows = range(1, scan.n_files, 2)
    assert languages_of(scanner.root, scan, rows).tolist() == ids.tolist()[1::2]
    return {scan.path(i): LANGUAGES[ids[i]].name for i in range(scan.n_files)}


def test_columns_say_what_detect_says(tmp_path: Path) -> None:
    names = [
        *("a.py", "b.TSX", "c.d.ts", "Makefile", "Dockerfile.dev", "x/Kconfig.cpu", "README"),
        *(".bashrc", "a.unknown", "a.tar.gz", ".hidden", "go.mod", "lib.Rs", "café.rb", "t."),
        "y" * 200 + ".go",
        "z." + "e" * 200,
    ]
    root = make(tmp_path / "root", dict.fromkeys(names, "x"))
    assert languages(root) == {name.encode(): LANGUAGES[detect(name)].name for name in names}


def test_first_lines_are_asked_where_the_name_says_nothing(tmp_path: Path) -> None:
    root = make(
        tmp_path / "root",
        {
            "bin/tool": "#!/usr/bin/env python3\n",
            "bin/run.me": "#!/bin/sh\n",
            "bin/data.me": "#!/bin/sh\n",
            "bin/empty": "",
            "LICENSE": "text",
        },
    )
    (root / "bin/run.me").chmod(0o755)
    assert languages(root) == {
        b"bin/tool": "python",
        b"bin/run.me": "bash",
        b"bin/data.me": "text",
        b"bin/empty": "text",
        b"LICENSE": "text",
    }


def test_headers_go_with_the_sources_around_them(tmp_path: Path) -> None:
    files = {
        "a.h": "",
        "c/a.c": "",
        "c/a.h": "",
        "c/deep/b.h": "",
        "cpp/a.cpp": "",
        "cpp/a.h": "",
        "cpp/include/x/b.h": "",
        "cpp/third/c.c": "",
        "cpp/third/c.h": "",
        "include/y.h": "",
        "more/m.cc": "",
        "more/n.cc": "",
        "zz/only/h.h": "",
    }
    root = make(tmp_path / "root", files)
    found = languages(root)
    assert {path for path, name in found.items() if name == "cpp" and path.endswith(b".h")} == {
        b"a.h",
        b"cpp/a.h",
        b"cpp/include/x/b.h",
        b"include/y.h",
        b"zz/only/h.h",
    }
    # Of a single changed header only its text can tell.
    make(root, {"c/a.h": "namespace x {}\n", "cpp/a.h": "int f(void);\n"})
    assert languages(root, b"c/a.h", b"cpp/a.h") == {b"c/a.h": "cpp", b"cpp/a.h": "c"}
