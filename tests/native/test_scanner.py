"""The walk against git on random trees."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taskx.workspace.files.scan import Scanner, ScanOptions
from tests.native.ignore_cases import IGNORE_FILE, NAMES
from tests.unit.workspace.files.trees import environ, git, git_files, make

FOLDERS = [b"", b"a/", b"build/", b"a/b/", b"a/keep/", b"build/keep/", b"A/", b"x y/"]
FILES = st.sets(
    st.builds(lambda folder, name: folder + name, st.sampled_from(FOLDERS), st.sampled_from(NAMES)),
    min_size=1,
    max_size=25,
)
RULES = st.dictionaries(st.sampled_from(FOLDERS), IGNORE_FILE, max_size=4)


def write(root: Path, files: set[bytes]) -> set[bytes]:
    """Writes what can stand together: a file does not hide a folder."""
    folders = {path[:i] for path in files for i in range(len(path)) if path[i : i + 1] == b"/"}
    written = {path for path in files if path not in folders}
    make(root, dict.fromkeys(written, b""))
    return written


@pytest.fixture(scope="module")
def empty_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("empty")
    git(folder, folder, "init", "-q", "--template=")
    return folder / ".git"


# Processes of git on a busy machine are slow, which says nothing about the data.
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(FILES, RULES, IGNORE_FILE, IGNORE_FILE, st.booleans(), st.data())
def test_I3_a_scan_equals_git_ls_files(
    empty_repository: Path,
    files: set[bytes],
    rules: dict[bytes, bytes],
    info: bytes,
    user: bytes,
    fold: bool,
    data: st.DataObject,
) -> None:
    top = Path(tempfile.mkdtemp(prefix="taskx-scan-"))
    try:
        home = make(top / "home", {".config/git/ignore": user})
        root = make(top / "root", {"seed": b""})
        shutil.copytree(empty_repository, root / ".git")
        with open(root / ".git/config", "a") as config:
            config.write(f"[core]\nignorecase = {str(fold).lower()}\n")
        written = sorted(write(root, files))
        # Where case does not count git tracks a path under another spelling of its folder, which
        # this file system would not find: names that differ in case alone do not meet there.
        some = st.lists(st.sampled_from(written), max_size=0 if fold else 4, unique=True)
        tracked = data.draw(some)
        if tracked:
            git(home, root, "--literal-pathspecs", "add", "-f", "--", *tracked)
        for folder, text in rules.items():
            if not any(folder.startswith(path + b"/") for path in written):
                make(root, {folder + b".gitignore": text})
        make(root, {".git/info/exclude": info})
        scanner = Scanner(os.fsencode(root), ScanOptions((), environ(home)))
        found = scanner.scan().path_list()
        assert found == sorted(git_files(home, root))
        # Looking at single paths gives the same verdicts.
        changed = data.draw(st.sets(st.sampled_from(written), min_size=1, max_size=6))
        part = scanner.scan_paths(changed)
        assert part.scan.path_list() == [path for path in found if path in changed]
    finally:
        shutil.rmtree(top)


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    root = make(tmp_path / "r", {f"d{i}/f.py": "" for i in range(30)})
    make(root, {"d1/.git/HEAD": "x", "d2/.git": "gitdir: /nowhere\n"})
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        Scanner(os.fsencode(root), ScanOptions((), environ(tmp_path))).scan()
    assert len(os.listdir("/proc/self/fd")) == before
