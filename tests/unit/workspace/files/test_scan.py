"""Scanning: what counts as a file, and which files git's rules leave."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from taskx._native.cancel import CancelFlag
from taskx.errors import RequestCancelled
from taskx.workspace.files.scan import FLAG_EXECUTABLE, FLAG_TRACKED, Scanner, ScanOptions

from . import trees
from .trees import git, git_files, make, paths, scanned


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make(tmp_path / "home", {".keep": ""})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make(tmp_path / "root", {".keep": ""})


@pytest.fixture
def repo(home: Path, root: Path) -> Path:
    git(home, root, "init", "-q")
    return root


# Ignore files and plain files; git says what is left.
IGNORE_CASES = {
    "60 a re-included folder below an ignored one": {
        ".gitignore": "build/\n!build/keep/\n",
        "build/keep/a.c": "",
        "build/b.c": "",
        "src/build/keep/a.c": "",
    },
    "60 all but sources": {".gitignore": "*\n!*.c\n", "a.c": "", "b.h": "", "sub/c.c": ""},
    "60 all folders kept": {".gitignore": "/*\n!/*/\n", "a.c": "", "sub/b.c": "", "sub/x/c.c": ""},
    "60 all but folders and sources": {
        ".gitignore": "*\n!*/\n!*.c\n",
        "a.c": "",
        "b.h": "",
        "sub/deep/c.c": "",
    },
    "61 an escaped space stays": {
        ".gitignore": "name\\    \n",
        "name ": "",
        "name": "",
        "name  ": "",
    },
    "61 spaces after an even number of backslashes go": {
        ".gitignore": "name\\\\  \n",
        "name\\": "",
        "name\\ ": "",
    },
    "63 a byte order mark and CRLF": {
        ".gitignore": "\ufeffa.c\r\nb.c\r\n",
        "a.c": "",
        "b.c": "",
        "c.c": "",
    },
    "63 a file that is a byte order mark": {".gitignore": "\ufeff", "a.c": "", "\ufeff": ""},
    "64 a deeper file re-includes": {
        ".gitignore": "*.log\n",
        "sub/.gitignore": "!keep.log\n",
        "a.log": "",
        "sub/keep.log": "",
        "sub/b.log": "",
        "keep.log": "",
    },
    "68 case counts": {".gitignore": "*.log\n", "z.LOG": "", "z.log": ""},
    "anchored rules in a folder": {
        "sub/.gitignore": "/a\nb/c\n",
        "sub/a": "",
        "sub/x/a": "",
        "sub/b/c": "",
        "sub/x/b/c": "",
        "a": "",
    },
    "rules for folders leave files": {".gitignore": "a/\n", "a": "", "sub/a/b": ""},
    "hidden files and odd names": {
        ".hidden": "",
        ".dir/a": "",
        "new\nline": "",
        "tab\there": "",
        " ": "",
        "*": "",
        ".gitignore": "\\*\n",
    },
}


@pytest.mark.parametrize("name", IGNORE_CASES)
def test_W13_what_is_left_is_what_git_leaves(name: str, home: Path, repo: Path) -> None:
    make(repo, IGNORE_CASES[name])
    found = paths(repo, home)
    assert found == git_files(home, repo)
    # The same rules hold where there is no repository.
    (repo / ".git").rename(home / "moved")
    assert paths(repo, home) == found


def test_W13_row_68_case_is_folded_when_the_repository_says_so(home: Path, repo: Path) -> None:
    make(repo, {".gitignore": "*.log\nBuild/\n", "z.LOG": "", "bUILD/a": "", "b.c": ""})
    git(home, repo, "config", "core.ignorecase", "true")
    assert paths(repo, home) == git_files(home, repo) == {b".keep", b".gitignore", b"b.c"}


def test_I3_info_exclude_and_the_users_own_excludes(home: Path, repo: Path) -> None:
    make(repo, {"a.tmp": "", "b.bak": "", "c.c": "", "keep.tmp": "", "d.user": ""})
    make(
        home, {"excludes": "*.bak\n*.tmp\n", ".gitconfig": "[core]\n\texcludesFile = ~/excludes\n"}
    )
    make(repo, {".git/info/exclude": "!keep.tmp\n"})
    assert paths(repo, home) == git_files(home, repo)
    assert b"keep.tmp" in paths(repo, home)
    assert b"a.tmp" not in paths(repo, home)


@pytest.mark.parametrize(
    "config",
    [
        '[core] excludesFile = "~/ex\\u0063ludes"\n',
        "[core]\n  excludesfile = ~/excludes ; a comment\n",
        "[Core]\n  EXCLUDESFILE=~/exc\\\nludes\n",
        "[include]\n  path = more\n",
        '[includeIf "gitdir:root/"]\n  path = ~/more\n',
        '[includeIf "gitdir:elsewhere/"]\n  path = ~/more\n',
        '[includeIf "onbranch:ma*"]\n  path = ./more\n',
        "[core]\n  excludesFile = ~/none\n",
        "[core]\n  excludesFile\n",
    ],
)
def test_I3_configuration_is_read_as_git_reads_it(config: str, home: Path, repo: Path) -> None:
    config = config.replace("\\u0063", "c")
    make(
        home,
        {
            ".gitconfig": config,
            "excludes": "*.bak\n",
            "more": "[core]\nexcludesFile = ~/excludes\n",
            ".config/git/ignore": "*.xdg\n",
        },
    )
    make(repo, {"a.bak": "", "b.xdg": "", "c.c": ""})
    if config.endswith("excludesFile\n"):
        # Git refuses a key without a value here; the scanner goes on.
        assert b"c.c" in paths(repo, home)
    else:
        assert paths(repo, home) == git_files(home, repo)


def test_I3_tracked_files_count_though_ignored(home: Path, repo: Path) -> None:
    make(
        repo,
        {
            ".gitignore": "*.gen\nbuild/\n",
            "a.gen": "",
            "b.gen": "",
            "build/kept/c.c": "",
            "build/d.c": "",
            "build/kept/e.c": "",
        },
    )
    git(home, repo, "add", "-f", "a.gen", "build/kept/c.c")
    found = scanned(repo, home)
    assert set(found.path_list()) == git_files(home, repo)
    flags = {found.path(i): found.flags[i] & FLAG_TRACKED for i in range(found.n_files)}
    assert flags == {
        b".gitignore": 0,
        b".keep": 0,
        b"a.gen": FLAG_TRACKED,
        b"build/kept/c.c": FLAG_TRACKED,
    }


@pytest.mark.parametrize("version", ["2", "3", "4", "split"])
def test_I3_every_version_of_the_index_is_read(version: str, home: Path, repo: Path) -> None:
    make(repo, {".gitignore": "*.gen\n", **{f"dir{i}/f{i}.gen": "" for i in range(40)}})
    git(home, repo, "add", "-f", *(f"dir{i}/f{i}.gen" for i in range(0, 40, 2)))
    if version == "split":
        git(home, repo, "update-index", "--split-index")
        git(home, repo, "rm", "-q", "--cached", "dir0/f0.gen", "dir38/f38.gen")
        git(home, repo, "add", "-f", "dir1/f1.gen")
        make(repo, {"dir2/f2.gen": "changed"})
        git(home, repo, "add", "-f", "dir2/f2.gen")
        assert list((repo / ".git").glob("sharedindex.*"))
    else:
        git(home, repo, "update-index", "--index-version", version)
    if version == "3":
        make(repo, {"new.gen": ""})
        git(home, repo, "add", "-f", "--intent-to-add", "new.gen")
    assert paths(repo, home) == git_files(home, repo)


def test_I3_a_sha256_repository(home: Path, root: Path) -> None:
    git(home, root, "init", "-q", "--object-format=sha256")
    make(root, {".gitignore": "*.gen\n", "a.gen": "", "b.gen": ""})
    git(home, root, "add", "-f", "a.gen")
    assert paths(root, home) == git_files(home, root) == {b".gitignore", b".keep", b"a.gen"}


def test_a_damaged_index_tracks_nothing(home: Path, repo: Path) -> None:
    make(repo, {".gitignore": "*.gen\n", "a.gen": "", "b.c": ""})
    git(home, repo, "add", "-f", ".")
    whole = (repo / ".git/index").read_bytes()
    for cut in (0, 3, 11, 12, 40, 75, len(whole) // 2):
        (repo / ".git/index").write_bytes(whole[:cut])
        assert b"b.c" in paths(repo, home)


def test_W13_row_66_rules_of_the_parents_up_to_the_git_root(home: Path, repo: Path) -> None:
    make(
        repo,
        {
            ".gitignore": "*.log\n/a/b/x\n",
            "a/.gitignore": "*.tmp\n",
            "a/b/x": "",
            "a/b/y.log": "",
            "a/b/z.tmp": "",
            "a/b/keep.c": "",
        },
    )
    make(repo.parent, {".gitignore": "*.c\n"})
    inner = repo / "a" / "b"
    assert paths(inner, home) == git_files(home, inner) == {b"keep.c"}
    # Without a repository around it, the parents have no say.
    (repo / ".git").rename(home / "moved")
    assert paths(inner, home) == {b"keep.c", b"x", b"y.log", b"z.tmp"}


def test_the_opened_folder_is_not_ignored_itself(home: Path, repo: Path) -> None:
    make(repo, {".gitignore": "build/\n*.o\n", "build/a.c": "", "build/b.o": ""})
    assert paths(repo / "build", home) == {b"a.c"}


def test_W13_a_linked_worktree_and_its_own_index(home: Path, repo: Path, tmp_path: Path) -> None:
    make(repo, {".gitignore": "*.gen\n", "a.gen": "", "src/a.c": ""})
    git(home, repo, "add", "-f", ".")
    git(home, repo, "commit", "-qm", "x")
    git(home, repo, "worktree", "add", "-q", str(tmp_path / "tree"))
    make(repo, {".git/info/exclude": "*.bak\n"})
    tree = make(tmp_path / "tree", {"b.gen": "", "c.bak": "", "d.c": ""})
    assert paths(tree, home) == git_files(home, tree)
    assert b"a.gen" in paths(tree, home)
    assert b"c.bak" not in paths(tree, home)


def test_W13_a_submodule_has_its_own_rules_a_stray_repository_is_left_out(
    home: Path, repo: Path, tmp_path: Path
) -> None:
    other = make(tmp_path / "other", {".gitignore": "*.o\n", "lib.c": "", "lib.log": ""})
    git(home, other, "init", "-q")
    git(home, other, "add", "-f", ".")
    git(home, other, "commit", "-qm", "x")
    git(home, repo, "submodule", "--quiet", "add", str(other), "vendor/lib")
    make(repo, {".gitignore": "*.log\nvendor/\n", "a.log": "", "vendor/b.c": ""})
    make(repo, {"vendor/lib/x.o": "", "vendor/lib/x.log": ""})
    git(home, tmp_path, "clone", "-q", str(other), str(repo / "stray"))
    found = scanned(repo, home)
    inside = {b"vendor/lib/" + path for path in git_files(home, repo / "vendor/lib")}
    assert set(found.path_list()) == git_files(home, repo) | inside
    assert inside >= {b"vendor/lib/lib.log", b"vendor/lib/x.log"}
    assert found.nested == [b"stray"]


def test_W13_repositories_below_a_plain_folder_each_have_their_rules(
    home: Path, root: Path
) -> None:
    for name in ("one", "two"):
        make(root / name, {".gitignore": f"*.{name}\n", "a.one": "", "a.two": ""})
        git(home, root / name, "init", "-q")
    make(root, {".gitignore": "*.top\n", "x.top": "", "one/x.top": "", "x.one": ""})
    assert paths(root, home) == {
        b".gitignore",
        b".keep",
        b"x.one",
        b"one/.gitignore",
        b"one/a.two",
        b"one/x.top",
        b"two/.gitignore",
        b"two/a.one",
    }


def test_W13_a_dot_git_that_is_no_repository_changes_nothing(home: Path, repo: Path) -> None:
    make(repo, {".gitignore": "*.o\n", "sub/.git/x": "", "sub/a.o": "", "sub/a.c": ""})
    make(repo, {"file/.git": "gitdir: nowhere\n", "file/a.o": "", "file/a.c": ""})
    assert paths(repo, home) >= {b"sub/a.c", b"file/a.c"}
    assert not paths(repo, home) & {b"sub/a.o", b"sub/.git/x", b"file/.git"}


def test_W13_exclude_and_taskxignore_add_to_the_rules(home: Path, repo: Path) -> None:
    make(
        repo,
        {
            ".gitignore": "*.log\n",
            ".taskxignore": "/gen/\n!*.log\n*.big\n!keep.big\n",
            "sub/.taskxignore": "!small.big\n",
            "a.log": "",
            "gen/a.c": "",
            "sub/gen/a.c": "",
            "a.big": "",
            "keep.big": "",
            "sub/small.big": "",
            "docs/a.md": "",
            "sub/docs/b.md": "",
            "t.big": "",
        },
    )
    git(home, repo, "add", "-f", "t.big", "gen/a.c")
    names = paths(repo, home, "/docs/", "!a.big", "sub/gen")
    assert names == {
        b".keep",
        b".gitignore",
        b".taskxignore",
        b"sub/.taskxignore",
        b"keep.big",
        b"sub/small.big",
        b"sub/docs/b.md",
    }


def test_version_control_folders_are_never_entered(home: Path, root: Path) -> None:
    for name in (".git", ".hg", ".svn", ".bzr", ".jj", "_darcs", ".pijul", ".sl"):
        make(root, {f"{name}/a": "", f"sub/{name}/b": ""})
    make(root, {"sub/.gitkeep": "", ".github/x.yml": ""})
    assert paths(root, home) == {b".keep", b"sub/.gitkeep", b".github/x.yml"}


def test_a_packaging_ignore_file_does_not_hide_a_plain_tree(
    home: Path, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make(root, {".gitignore": "*.o\n/*\n!/debian/\n", "src/a.c": "", "src/a.o": ""})
    found = scanned(root, home)
    assert set(found.path_list()) == {b".gitignore", b".keep", b"src/a.c"}
    assert found.gaps == []
    assert "would hide the whole tree" in caplog.text
    git(home, root, "init", "-q")
    assert paths(root, home) == git_files(home, root) == set()


def test_W13_row_69_special_files_are_never_opened(home: Path, root: Path) -> None:
    for name in ("x.py", "tsconfig.json", ".gitignore", "sub/.gitignore", ".taskxignore"):
        make(root, {"sub/a.c": ""})
        os.mkfifo(root / name)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "s.py"))
        assert paths(root, home) == {b".keep", b"sub/a.c"}


def test_W01_row_70_links_end_and_each_real_file_counts_once(home: Path, root: Path) -> None:
    make(root, {"man/a.1": "", "pkg/b.c": "", ".gitignore": "hidden/\n", "hidden/h.c": ""})
    make(root.parent, {"outside/o.c": ""})
    links = {
        "man/man": ".",
        "pkg/up": "..",
        "one": "two",
        "two": "one",
        "to_file.c": "pkg/b.c",
        "to_folder": "pkg",
        "to_outside": "../outside",
        "to_outside.c": "../outside/o.c",
        "to_slash": "/",
        "to_hidden.c": "hidden/h.c",
        "gone": "nowhere",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    assert paths(root, home) == {b".keep", b".gitignore", b"man/a.1", b"pkg/b.c"}


def test_a_linked_root_is_scanned(home: Path, root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    assert paths(tmp_path / "link", home) == {b".keep"}


def test_git_does_not_follow_a_linked_gitignore_and_neither_do_we(home: Path, repo: Path) -> None:
    make(repo, {"rules": "*.c\n", "a.c": ""})
    (repo / ".gitignore").symlink_to("rules")
    assert paths(repo, home) == git_files(home, repo) == {b".keep", b"a.c", b"rules"}


def test_W01_row_71_an_unreadable_folder_is_a_gap(
    home: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(root, {"a/b.c": "", "locked/c.c": "", "z.c": ""})
    (root / "locked").chmod(0)
    found = as_nobody(root, home)
    (root / "locked").chmod(0o755)
    assert found == ([b".keep", b"a/b.c", b"z.c"], [(b"locked", "permission denied")])


def as_nobody(root: Path, home: Path) -> tuple[list[bytes], list[tuple[bytes, str]]]:
    """A scan by a user whom permissions bind: in a child process when the tests run as root."""
    if os.geteuid() != 0:
        found = scanned(root, home)
        return found.path_list(), found.gaps
    for folder in [root, *root.parents]:
        if folder.stat().st_uid == os.geteuid() and folder != folder.parent:
            folder.chmod(folder.stat().st_mode | 0o055)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgid(65534)
        os.setuid(65534)
        found = scanned(root, home, threads=1)
        os.write(write, repr((found.path_list(), found.gaps)).encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as stream:
        text = stream.read()
    os.waitpid(child, 0)
    result: tuple[list[bytes], list[tuple[bytes, str]]] = eval(text)
    return result


def test_W01_row_75_names_of_any_bytes(home: Path, root: Path) -> None:
    names = {b"caf\xe9.py", b"\xff/\xfe.c", b"new\nline.c", b"a" * 255, "日本/ü.c".encode()}
    make(root, dict.fromkeys(names, b""))
    assert paths(root, home) == names | {b".keep"}


def test_folders_deeper_than_a_path_may_be_long(home: Path, root: Path) -> None:
    name = "d" * 200
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(100):
        os.mkdir(name, dir_fd=here)
        deeper = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(os.open("a.c", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    found = paths(root, home)
    assert found == {b".keep", b"/".join([name.encode()] * 100) + b"/a.c"}


def test_columns_are_what_stat_says(home: Path, root: Path) -> None:
    make(root, {"a": "12345", "run.sh": "#!/bin/sh\n", "b/c": ""})
    (root / "run.sh").chmod(0o755)
    os.utime(root / "a", ns=(1, 1_234_567_890_123_456_789))
    os.utime(root / "b/c", ns=(1, -5_000_000_001))
    found = scanned(root, home)
    rows = zip(found.path_list(), found.size, found.mtime_ns, found.ino, found.flags, strict=True)
    for path, size, mtime_ns, ino, flags in rows:
        stat = os.stat(os.path.join(os.fsencode(root), path))
        assert (size, mtime_ns, ino) == (stat.st_size, stat.st_mtime_ns, stat.st_ino)
        assert flags == (FLAG_EXECUTABLE if path == b"run.sh" else 0)


def test_a_missing_root_and_a_file_as_root_are_os_errors(tmp_path: Path) -> None:
    make(tmp_path, {"file": ""})
    for name in ("missing", "file"):
        with pytest.raises(OSError, match="cannot open the folder"):
            Scanner(os.fsencode(tmp_path / name)).scan()


def test_I1_a_cancelled_scan_ends(home: Path, root: Path) -> None:
    make(root, {f"d{i}/f{j}": "" for i in range(20) for j in range(20)})
    flag = CancelFlag()
    flag.set()
    scanner = Scanner(os.fsencode(root), ScanOptions((), trees.environ(home)))
    with pytest.raises(RequestCancelled):
        scanner.scan(flag)
    assert scanner.scan().n_files == 401
    assert scanner.files_seen == 401


def test_one_thread_and_eight_see_the_same(home: Path, repo: Path) -> None:
    make(repo, {f"d{i}/e{j}/f{k}.c": "" for i in range(9) for j in range(9) for k in range(5)})
    make(repo, {f"d{i}/.gitignore": f"e{i}\n" for i in range(9)})
    assert len(paths(repo, home)) == 9 * 8 * 5 + 9 + 1
    one, eight = scanned(repo, home, threads=1), scanned(repo, home, threads=8)
    assert one == eight


def test_I1_files_of_the_kernel_are_a_gap_not_a_tree(home: Path) -> None:
    found = scanned(Path("/proc"), home)
    assert (found.path_list(), found.gaps) == ([], [(b"", "special file system")])


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_I1_memory_goes_back(threads: int, tmp_path: Path) -> None:
    root = make(tmp_path / "r", {f"d{i}/e{j}/f{k}.py": "" for i in range(8) for j in range(8)
                                for k in range(8)})  # fmt: skip
    make(root, {f"d{i}/.gitignore": "*.log\n!a\nb/\n" * 20 for i in range(8)})
    scanner = Scanner(os.fsencode(root), ScanOptions((), trees.environ(tmp_path), threads))
    for _ in range(20):
        scanner.scan()
    before = resident_kib()
    for _ in range(60):
        assert scanner.scan().n_files == 8 * 8 * 8 + 8
    assert resident_kib() - before < 1500


def resident_kib() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
