"""Branch, head and dirtiness, compared with what git says."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from taskx.protocol.project import Git
from taskx.workspace.files.gitstate import git_state
from taskx.workspace.files.scan import ScanOptions, scan

from .trees import environ, git, make


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make(tmp_path / "home", {".keep": ""})


@pytest.fixture
def repo(tmp_path: Path, home: Path) -> Path:
    root = make(tmp_path / "root", {"a.py": "a\n", "sub/b.py": "b\n", "c.py": "c\n"})
    git(home, root, "init", "-q")
    git(home, root, "add", ".")
    git(home, root, "commit", "-qm", "first")
    return root


def state(root: Path, home: Path) -> Git | None:
    """With a scan and without one: both must agree."""
    found = scan(os.fsencode(root), ScanOptions((), environ(home)))
    with_scan = git_state(os.fsencode(root), found, environ(home))
    assert git_state(os.fsencode(root), None, environ(home)) == with_scan
    return with_scan


def expected(root: Path, home: Path) -> Git:
    """What git says: tracked files alone."""
    changed = git(home, root, "status", "--porcelain", "-uno", "--ignore-submodules")
    head = git(home, root, "rev-parse", "HEAD").decode().strip()
    branch = git(home, root, "rev-parse", "--abbrev-ref", "HEAD").decode().strip()
    return Git(branch=None if branch == "HEAD" else branch, head=head, dirty=bool(changed))


def rewritten(root: Path, home: Path) -> None:
    make(root, {"a.py": "z\n"})


def deleted(root: Path, home: Path) -> None:
    (root / "sub/b.py").unlink()


def touched(root: Path, home: Path) -> None:
    os.utime(root / "a.py", ns=(1, 1))


def untracked(root: Path, home: Path) -> None:
    make(root, {"new.py": ""})


def staged(root: Path, home: Path) -> None:
    make(root, {"new.py": ""})
    git(home, root, "add", "new.py")


def staged_then_committed(root: Path, home: Path) -> None:
    staged(root, home)
    git(home, root, "commit", "-qm", "second")


def soft_reset(root: Path, home: Path) -> None:
    staged_then_committed(root, home)
    git(home, root, "reset", "-q", "--soft", "HEAD~1")


def detached(root: Path, home: Path) -> None:
    git(home, root, "checkout", "-q", "--detach")


def packed(root: Path, home: Path) -> None:
    staged_then_committed(root, home)
    git(home, root, "gc", "-q")


def packed_and_soft_reset(root: Path, home: Path) -> None:
    soft_reset(root, home)
    git(home, root, "gc", "-q")


def branch_with_a_slash(root: Path, home: Path) -> None:
    git(home, root, "checkout", "-qb", "feature/one")


def intended(root: Path, home: Path) -> None:
    make(root, {"new.py": ""})
    git(home, root, "add", "-N", "new.py")


def linked(root: Path, home: Path) -> None:
    (root / "link").symlink_to("a.py")
    git(home, root, "add", "link")
    git(home, root, "commit", "-qm", "link")


CHANGES: list[Callable[[Path, Path], None]] = [
    rewritten,
    deleted,
    touched,
    untracked,
    staged,
    staged_then_committed,
    soft_reset,
    detached,
    packed,
    packed_and_soft_reset,
    branch_with_a_slash,
    intended,
    linked,
]


@pytest.mark.parametrize("change", CHANGES)
def test_W01_the_state_is_what_git_says(
    change: Callable[[Path, Path], None], repo: Path, home: Path
) -> None:
    change(repo, home)
    # Read first: `git status` refreshes the index.
    found = state(repo, home)
    assert found == expected(repo, home)


def test_a_merge_conflict_is_dirty(repo: Path, home: Path) -> None:
    git(home, repo, "checkout", "-qb", "other")
    make(repo, {"a.py": "other\n"})
    git(home, repo, "commit", "-qam", "other")
    git(home, repo, "checkout", "-q", "main")
    make(repo, {"a.py": "main\n"})
    git(home, repo, "commit", "-qam", "main")
    with pytest.raises(AssertionError):
        git(home, repo, "merge", "-q", "other")
    assert state(repo, home) == expected(repo, home)


def test_no_repository_and_no_commit(tmp_path: Path, home: Path) -> None:
    root = make(tmp_path / "plain", {"a.py": ""})
    assert state(root, home) is None
    git(home, root, "init", "-q")
    assert state(root, home) == Git(branch="main", head=None, dirty=False)
    git(home, root, "add", ".")
    assert state(root, home) == Git(branch="main", head=None, dirty=True)


def test_no_program_of_the_repository_is_run(repo: Path, home: Path) -> None:
    mark = home / "ran"
    make(repo, {".gitattributes": "*.py filter=x\n"})
    git(home, repo, "config", "filter.x.clean", f"touch {mark}; cat")
    git(home, repo, "config", "core.fsmonitor", f"touch {mark}")
    touched(repo, home)
    rewritten(repo, home)
    state(repo, home)
    assert not mark.exists()


def test_time_out_is_not_known(repo: Path, home: Path) -> None:
    touched(repo, home)
    found = git_state(os.fsencode(repo), None, environ(home), budget_ms=-1)
    assert found is not None
    assert found.dirty is None
