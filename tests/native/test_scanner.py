"""The walk against git on random trees, and against memory errors in a child process."""

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
        tracked = data.draw(st.lists(st.sampled_from(written), max_size=4, unique=True))
        if tracked:
            git(home, root, "--literal-pathspecs", "add", "-f", "--", *tracked)
        make(root, {folder + b".gitignore": text for folder, text in rules.items()})
        make(root, {".git/info/exclude": info})
        scanner = Scanner(os.fsencode(root), ScanOptions((), environ(home)))
        found = scanner.scan().path_list()
        assert found == sorted(git_files(home, root))
        # Looking at single paths gives the same verdicts.
        some = data.draw(st.lists(st.sampled_from(written), min_size=1, max_size=6))
        wanted = sorted(path for path in set(some) if path in found)
        files_only = [path for path in some if not path.endswith(b".gitignore")]
        part = scanner.scan_paths(files_only)
        assert part.scan.path_list() == [path for path in wanted if path in files_only]
    finally:
        shutil.rmtree(top)


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_I1_memory_goes_back(threads: int, tmp_path: Path) -> None:
    root = make(tmp_path / "r", {f"d{i}/e{j}/f{k}.py": "" for i in range(8) for j in range(8)
                                for k in range(8)})  # fmt: skip
    make(root, {f"d{i}/.gitignore": "*.log\n!a\nb/\n" * 20 for i in range(8)})
    scanner = Scanner(os.fsencode(root), ScanOptions((), environ(tmp_path), threads))
    for _ in range(20):
        scanner.scan()
    before = resident_kib()
    for _ in range(60):
        assert scanner.scan().n_files == 8 * 8 * 8 + 8
    assert resident_kib() - before < 1500


def resident_kib() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    root = make(tmp_path / "r", {f"d{i}/f.py": "" for i in range(30)})
    make(root, {"d1/.git/HEAD": "x", "d2/.git": "gitdir: /nowhere\n"})
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        Scanner(os.fsencode(root), ScanOptions((), environ(tmp_path))).scan()
    assert len(os.listdir("/proc/self/fd")) == before
