"""Changed paths: after each change the scopes and files lead to what a whole scan finds."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from taskx.workspace.files.scan import Scanner, ScanOptions

from .trees import environ, git, make


class Follower:
    """A set of indexed paths that is kept up by `scan_paths` alone."""

    def __init__(self, root: Path, home: Path, *exclude: str) -> None:
        self.scanner = Scanner(os.fsencode(root), ScanOptions(exclude, environ(home)))
        self.paths = set(self.scanner.scan().path_list())

    def change(self, *paths: str | bytes) -> list[bytes]:
        found = self.scanner.scan_paths([os.fsencode(path) for path in paths])
        assert not found.scan.whole or found.scopes == [b""]
        for scope in found.scopes:
            self.paths = {
                path
                for path in self.paths
                if scope and path != scope and not path.startswith(scope + b"/")
            }
        self.paths |= set(found.scan.path_list())
        assert self.paths == set(self.scanner.scan().path_list())
        return found.scopes


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make(tmp_path / "home", {".keep": ""})


@pytest.fixture
def root(tmp_path: Path, home: Path) -> Path:
    root = make(
        tmp_path / "root",
        {
            ".gitignore": "*.log\nbuild/\n",
            "a.py": "",
            "sub/b.py": "",
            "sub/deep/c.py": "",
            "sub/deep/d.log": "",
            "other/e.py": "",
        },
    )
    git(home, root, "init", "-q")
    return root


@pytest.fixture
def follower(root: Path, home: Path) -> Follower:
    return Follower(root, home, "*.skip")


def test_W04_files_come_change_and_go(root: Path, follower: Follower) -> None:
    make(root, {"new.py": "", "sub/new.py": ""})
    assert follower.change("new.py", "sub/new.py") == [b"new.py", b"sub/new.py"]
    make(root, {"sub/x/y/z.py": "", "sub/x/w.py": ""})
    follower.change(root / "sub/x/y/z.py", "sub/x/w.py")
    (root / "a.py").unlink()
    follower.change("a.py")
    shutil.rmtree(root / "sub/x")
    # One path below a folder that is gone tells of the folder.
    assert follower.change("sub/x/y/z.py") == [b"sub/x"]


def test_W04_ignored_and_excluded_files_do_not_come(root: Path, follower: Follower) -> None:
    before = set(follower.paths)
    make(root, {"x.log": "", "build/a.py": "", "sub/build/b.py": "", "c.skip": ""})
    make(root, {"build/.gitignore": "!*\n"})
    follower.change("x.log", "build/a.py", "sub/build/b.py", "c.skip")
    follower.change("build")
    assert follower.paths == before


def test_W04_folders_come_and_go(root: Path, follower: Follower) -> None:
    make(root, {"pkg/a.py": "", "pkg/in/b.py": "", "pkg/c.log": ""})
    assert follower.change("pkg") == [b"pkg"]
    assert follower.paths >= {b"pkg/a.py", b"pkg/in/b.py"}
    (root / "pkg").rename(root / "moved")
    assert follower.change("pkg/", "moved", "moved/in/b.py") == [b"moved", b"pkg"]
    shutil.rmtree(root / "moved")
    make(root, {"moved": "a file now"})
    assert follower.change("moved/a.py") == [b"moved"]
    (root / "moved").unlink()
    make(root, {"moved/x.py": ""})
    follower.change("moved")


def test_W04_an_ignore_file_stands_for_its_folder(root: Path, follower: Follower) -> None:
    make(root, {"sub/.gitignore": "deep/\n"})
    assert follower.change("sub/.gitignore") == [b"sub"]
    make(root, {"sub/.gitignore": "!*.log\n"})
    follower.change("sub/.gitignore")
    assert b"sub/deep/d.log" in follower.paths
    (root / "sub/.gitignore").unlink()
    follower.change("sub/.gitignore")
    make(root, {"other/.taskxignore": "*\n"})
    assert follower.change("other/.taskxignore") == [b"other"]
    (root / ".gitignore").unlink()
    assert follower.change(".gitignore") == [b""]
    make(root, {".git/info/exclude": "*.py\n"})
    assert follower.change(".git/info/exclude") == [b""]


def test_W04_paths_outside_and_odd_ones_do_not_count(
    root: Path, follower: Follower, tmp_path: Path
) -> None:
    make(tmp_path, {"outside.py": ""})
    odd = ["../outside.py", tmp_path / "outside.py", b"a\0b", ".git/index", "/", "../root2/a.py"]
    assert follower.change(*odd) == []
    assert follower.change("sub/../a.py", "./other//e.py") == [b"a.py", b"other/e.py"]
    assert follower.change(".") == [b""]


def test_W04_paths_through_links_mean_their_real_files(
    root: Path, follower: Follower, tmp_path: Path
) -> None:
    (root / "link").symlink_to("sub")
    (root / "link.py").symlink_to("other/e.py")
    (tmp_path / "elsewhere").symlink_to(root)
    make(root, {"sub/new.py": ""})
    assert follower.change("link/new.py") == [b"sub/new.py"]
    assert follower.change("link.py") == [b"link.py", b"other/e.py"]
    make(root, {"sub/newer.py": ""})
    assert follower.change(tmp_path / "elsewhere/sub/newer.py") == [b"sub/newer.py"]


def test_W04_row_75_names_of_any_bytes(root: Path, follower: Follower) -> None:
    make(root, {b"caf\xe9.py": "", b"\xff/a.py": ""})
    follower.change(b"caf\xe9.py", b"\xff/a.py")
    assert follower.paths >= {b"caf\xe9.py", b"\xff/a.py"}


def test_W04_a_nested_repository_comes_with_its_own_rules(
    root: Path, home: Path, follower: Follower, tmp_path: Path
) -> None:
    other = make(tmp_path / "other", {".gitignore": "*.o\n", "lib.c": ""})
    git(home, other, "init", "-q")
    git(home, other, "add", ".")
    git(home, other, "commit", "-qm", "x")
    git(home, root, "submodule", "--quiet", "add", str(other), "vendor/lib")
    follower.change("vendor", ".gitmodules")
    make(root, {"vendor/lib/x.o": "", "vendor/lib/y.log": "", "vendor/lib/z/w.c": ""})
    follower.change("vendor/lib/x.o", "vendor/lib/y.log", "vendor/lib/z/w.c")
    assert {p for p in follower.paths if p.startswith(b"vendor")} == {
        b"vendor/lib/.gitignore",
        b"vendor/lib/lib.c",
        b"vendor/lib/y.log",
        b"vendor/lib/z/w.c",
    }


def test_W04_tracked_files_stay_though_ignored(root: Path, home: Path, follower: Follower) -> None:
    make(root, {"build/kept.py": "", "build/other.py": ""})
    git(home, root, "add", "-f", "build/kept.py")
    follower.change("build/kept.py", "build/other.py")
    assert b"build/kept.py" in follower.paths


def test_W04_a_packaging_tree_is_followed_too(home: Path, tmp_path: Path) -> None:
    root = make(tmp_path / "packaged", {".gitignore": "/*\n*.o\n", "src/a.c": ""})
    follower = Follower(root, home)
    make(root, {"src/b.c": "", "src/b.o": ""})
    follower.change("src/b.c", "src/b.o")
    assert follower.paths == {b".gitignore", b"src/a.c", b"src/b.c"}


def test_a_changed_path_costs_the_same_in_a_large_tree(home: Path, tmp_path: Path) -> None:
    root = make(tmp_path / "large", {f"d{i}/f{j}.py": "" for i in range(40) for j in range(50)})
    scanner = Scanner(os.fsencode(root), ScanOptions((), environ(home)))
    found = scanner.scan_paths([b"d3/f7.py"])
    assert found.scan.path_list() == [b"d3/f7.py"]
    # Only the path was looked at.
    assert scanner.files_seen == 1
