"""Ignore rules: against a slow version, and against git itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taskx._native.ignore import Rules
from tests.native.ignore_cases import IGNORE_FILE, LINE, PATH
from tests.reference import ignore as reference

# rules, path, is folder, verdict
CASES = [
    (b"*.log", b"a.log", False, 1),
    (b"*.log", b"deep/a.log", False, 1),
    (b"*.log\n!keep.log", b"keep.log", False, 0),
    (b"/build", b"build", True, 1),
    (b"/build", b"x/build", True, -1),
    (b"build/", b"x/build", True, 1),
    (b"build/", b"x/build", False, -1),
    (b"a/b", b"x/a/b", False, -1),
    (b"a/**", b"a/x/y", False, 1),
    (b"a/**/b", b"a/b", False, 1),
    (b"a/**/b", b"a/x/y/b", False, 1),
    (b"**/b", b"b", False, 1),
    (b"a/*/b", b"a/x/y/b", False, -1),
    (b"name\\ ", b"name ", False, 1),
    (b"name\\   ", b"name ", False, 1),
    (b"name\\\\ ", b"name\\", False, 1),
    (b"name  ", b"name", False, 1),
    (b"\xef\xbb\xbfa\r\nb\r\n", b"a", False, 1),
    (b"\xef\xbb\xbfa\r\nb\r\n", b"b", False, 1),
    (b"\xef\xbb\xbf", b"\xef\xbb\xbf", False, -1),
    (b"# a", b"# a", False, -1),
    (b"\\#a", b"#a", False, 1),
    (b"\\!a", b"!a", False, 1),
    (b"*.log", b"z.LOG", False, -1),
    (b"a\0b", b"a", False, 1),
    (b"", b"a", False, -1),
    (b"/", b"a", True, -1),
    (b"!", b"a", True, -1),
    (b"[[:digit:]]x", b"7x", False, 1),
    (b"a[/]b", b"a/b", False, -1),
    (b"\xff*", b"\xff\xfe", False, 1),
]


@pytest.mark.parametrize(("rules", "path", "is_folder", "verdict"), CASES)
def test_rules_give_the_verdict(rules: bytes, path: bytes, is_folder: bool, verdict: int) -> None:
    assert Rules(rules).match(path, is_folder) == verdict
    assert reference.match(reference.parse(rules), path, is_folder) == verdict


def test_case_is_folded_only_when_asked() -> None:
    rules = b"*.log\nBuild\n[A-C]x\nsrc/*.C\n"
    paths = [b"z.LOG", b"bUILD", b"bx", b"SRC/a.c"]
    assert [Rules(rules).match(path, False) for path in paths] == [-1, -1, -1, -1]
    assert [Rules(rules, True).match(path, False) for path in paths] == [1, 1, 1, 1]


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_rules_equal_the_slow_version(data: st.DataObject) -> None:
    rules = data.draw(IGNORE_FILE)
    ours, slow = Rules(rules), reference.parse(rules)
    for path in data.draw(st.lists(PATH, min_size=1, max_size=12)):
        for is_folder in (False, True):
            assert ours.match(path, is_folder) == reference.match(slow, path, is_folder), path


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=200), st.binary(min_size=1, max_size=60))
def test_any_bytes_are_rules(rules: bytes, path: bytes) -> None:
    path = path.replace(b"\0", b"/")
    verdict = Rules(rules).match(path, False)
    assert verdict == reference.match(reference.parse(rules), path, False)


def test_a_pattern_made_to_explode_does_not() -> None:
    stars = b"*a" * 2000 + b"b\n" + b"**/" * 200 + b"*a*a*a*b\n"
    path = b"/".join([b"a" * 250] * 12)
    assert Rules(stars).match(path, False) == -1


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rules")
    subprocess.run(["git", "init", "-q", folder], check=True, timeout=60)
    return folder


def git_verdicts(repository: Path, paths: list[bytes], fold: bool) -> dict[bytes, bool]:
    """What `git check-ignore` says of paths that do not exist, folders above them included."""
    ran = subprocess.run(
        ["git", "-c", f"core.ignorecase={str(fold).lower()}", "-c", "core.excludesFile=",
         "check-ignore", "-z", "--stdin", "--no-index"],
        cwd=repository, input=b"\0".join(paths), capture_output=True, timeout=60,
    )  # fmt: skip
    assert ran.returncode in (0, 1), ran.stderr
    ignored = set(ran.stdout.split(b"\0"))
    return {path: path in ignored for path in paths}


def ignored(rules: Rules, path: bytes) -> bool:
    parts = path.split(b"/")
    for i in range(1, len(parts)):
        if rules.match(b"/".join(parts[:i]), True) == 1:
            return True
    return rules.match(path, False) == 1


# Processes of git on a busy machine are slow, which says nothing about the data.
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(LINE, max_size=12), st.lists(PATH, min_size=1, max_size=20), st.booleans())
def test_I3_rules_equal_git(
    repository: Path, lines: list[bytes], paths: list[bytes], fold: bool
) -> None:
    data = b"\n".join(lines)
    (repository / ".gitignore").write_bytes(data)
    rules = Rules(data, fold)
    expected = git_verdicts(repository, paths, fold)
    assert {path: ignored(rules, path) for path in paths} == expected
