"""Fuzzes what reads files of a foreign tree natively: ignore rules, git's index, path columns.

    pip install atheris
    python bench/fuzz/files.py [libFuzzer options, e.g. -max_total_time=600 -max_len=512]

Ignore rules are compared with the slow version of the tests; the rest must raise ValueError or
give a consistent answer. Coverage is that of the slow version, so the same inputs drive both.
"""

from __future__ import annotations

import sys
from array import array
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

with atheris.instrument_imports(include=["tests.reference.ignore"]):
    from tests.reference import ignore as reference

from taskx._native.gitindex import GitIndex
from taskx._native.ignore import Rules
from taskx._native.paths import LanguageTable, diff

TABLE = LanguageTable({b"c": 7, b"h": 7, b"cpp": 8, b"py": 1}, {b"Makefile": 9}, {b"M": 9}, 7, 8)


def ignore_rules(data: bytes) -> None:
    """The last lines are paths, the rest rules."""
    rules, _, tail = data.rpartition(b"\xfe")
    if rules.count(b"*") > 24:
        return  # the slow version takes exponential time
    slow, ours = reference.parse(rules), Rules(rules)
    for path in tail.split(b"\n"):
        path = path.strip(b"/").replace(b"\0", b"")
        if path:
            for is_folder in (False, True):
                assert ours.match(path, is_folder) == reference.match(slow, path, is_folder)
    Rules(rules, True).match(tail[:200], True)


def git_index(data: bytes) -> None:
    for whole in (data, b"DIRC\0\0\0" + bytes([2 + len(data) % 3]) + data):
        try:
            index = GitIndex(whole)
        except ValueError:
            continue
        entries = index.entries()
        assert len(entries) == len(index)
        for path, _ in entries[:20]:
            index.kind(path)
            index.has_below(path)
        index.suspects(b"", array("I", [0]), array("q"), array("q"), 100)


def columns(data: bytes) -> None:
    half = len(data) // 2
    off = array("I", [0, *data[:half]])
    paths = data[half:]
    n = len(off) - 1
    zeros = array("q", [0] * n)
    try:
        found = diff(paths, off, zeros, zeros, paths, off, zeros, zeros, 1)
        assert len(found[0]) + len(found[2]) + len(found[5]) == 4 * n
        ids = TABLE.detect(paths, off, bytes(n))
        assert len(ids) == 2 * n
        TABLE.find(paths, off)
    except ValueError:
        pass


TARGETS = (ignore_rules, ignore_rules, git_index, columns)


def one(data: bytes) -> None:
    if data:
        TARGETS[data[0] % len(TARGETS)](data[1:])


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
