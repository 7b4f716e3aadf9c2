"""What a later git run, hook or editor would execute, and how a command's changes to it are undone.

A sandbox makes these paths read-only where it can. Whatever the sandbox, they are compared after
the command: what changed is put back, what appeared is moved aside, and both are reported.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from taskx.private_files import make_private_folder

INSTRUCTIONS = frozenset({"AGENTS.md", "CLAUDE.md", "GEMINI.md"})
ROOT_INSTRUCTIONS = (
    ".github/copilot-instructions.md",
    ".cursorrules",
    ".cursor/rules",
    ".windsurfrules",
    ".clinerules",
)
# Files outside git that name commands to run.
HOOK_FILES = (
    ".task-x/hooks.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".mcp.json",
)
# Parts of a git directory that decide what git executes, or where it reads that from.
GIT_PARTS = ("hooks", "config", "config.worktree", "commondir", "gitdir")
TODO_LISTS = ("rebase-merge/git-rebase-todo", "rebase-apply/git-rebase-todo")
FILE_LIMIT_BYTES = 1 << 20
TREE_LIMIT = 500

# Settings that run nothing. Any other setting of a repository that a command made is taken out.
_PLAIN_SETTING = re.compile(
    r"(?:core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase"
    r"|precomposeunicode|symlinks|autocrlf|eol|safecrlf|sparsecheckout|sparsecheckoutcone"
    r"|abbrev|quotepath|untrackedcache|preloadindex|compression|longpaths|commentchar)"
    r"|extensions\.(?:objectformat|refstorage|partialclone|worktreeconfig|compatobjectformat"
    r"|preciousobjects|relativeworktrees)"
    r"|remote\..*\.(?:url|pushurl|fetch|push|mirror|tagopt|prune|promisor|partialclonefilter)"
    r"|branch\..*\.(?:remote|merge|rebase|description|pushremote)"
    r"|submodule\..*\.(?:url|active|branch)|submodule\.active"
    r"|user\.(?:name|email)|init\.defaultbranch|pull\.(?:rebase|ff)|push\.default"
    r"|push\.autosetupremote|merge\.(?:ff|conflictstyle)|fetch\.prune|commit\.gpgsign"
    r"|tag\.gpgsign|gc\..*|advice\..*|color\..*|rerere\..*|feature\..*|index\.version)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Entry:
    """One file below a guarded path. data is None for a file too large to keep."""

    mode: int
    data: bytes | None
    link: str | None = None
    size: int = 0
    mtime_ns: int = 0

    def same(self, other: Entry | None) -> bool:
        if other is None or self.link != other.link or self.mode != other.mode:
            return False
        if self.data is None or other.data is None:
            return (self.size, self.mtime_ns) == (other.size, other.mtime_ns)
        return self.data == other.data


Tree = dict[str, Entry]
Identity = tuple[int, int]


@dataclass
class Guarded:
    """trees: guarded path -> what is below it ({} when absent). git_dirs: with identities.

    held: guarded path -> identity of what keeps it in place (its git directory, or itself), for
    those that were there. complete: whether every repository was found.
    """

    root: Path
    trees: dict[str, Tree] = field(default_factory=dict)
    git_dirs: dict[str, Identity] = field(default_factory=dict)
    read_only: list[str] = field(default_factory=list)
    held: dict[str, tuple[str, Identity]] = field(default_factory=dict)
    complete: bool = True

    def existing(self) -> list[str]:
        return sorted(path for path in self.trees if os.path.lexists(path))


def find_command(root: str) -> list[str]:
    """Lists what `collect` looks at: `.git` anywhere, `HEAD` files, instruction files."""
    names: list[str] = []
    for name in ("HEAD", *sorted(INSTRUCTIONS)):
        names += ["-o", "-name", name, "-print0"]
    return ["find", root, "-xdev", "-name", ".git", "-print0", "-prune", *names]


def read_entry(path: str) -> Entry | None:
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return Entry(0, b"", os.readlink(path))
        data = None
        if stat.S_ISREG(status.st_mode) and status.st_size <= FILE_LIMIT_BYTES:
            with open(path, "rb") as file:
                data = file.read()
    except OSError:
        return None
    mode = stat.S_IMODE(status.st_mode) if stat.S_ISREG(status.st_mode) else status.st_mode
    return Entry(mode, data, None, status.st_size, status.st_mtime_ns)


def read_tree(path: str) -> Tree:
    """Files at or below `path`, by relative name; `""` is the path itself when it is a file."""
    if not os.path.isdir(path) or os.path.islink(path):
        entry = read_entry(path)
        return {} if entry is None else {"": entry}
    tree: Tree = {}
    for folder, names, files in os.walk(path):
        links = [name for name in names if os.path.islink(os.path.join(folder, name))]
        for name in (*files, *links):
            whole = os.path.join(folder, name)
            entry = read_entry(whole)
            if entry is not None and not name.endswith(".sample"):
                tree[os.path.relpath(whole, path)] = entry
        if len(tree) > TREE_LIMIT:
            break
    return tree


def collect(
    root: Path, found: Iterable[str] | None, settings: Iterable[tuple[str, str, str]]
) -> Guarded:
    """What to guard in `root`.

    found: paths that `find_command` printed, None when it could not finish. settings: the root
    repository's effective settings as (file they come from, name, value).
    """
    guarded = Guarded(root, complete=found is not None)
    if found is None:
        found = [f"{root}/.git"] if os.path.lexists(f"{root}/.git") else []
    for path in found:
        name = os.path.basename(path)
        if name == ".git":
            _add_repository(guarded, path)
        elif name == "HEAD":
            folder = os.path.dirname(path)
            if os.path.isdir(f"{folder}/objects") and os.path.isdir(f"{folder}/refs"):
                _add_git_dir(guarded, folder)
        elif name in INSTRUCTIONS:
            guarded.read_only.append(path)
    guarded.read_only += [f"{root}/{name}" for name in ROOT_INSTRUCTIONS]
    guarded.read_only = [path for path in guarded.read_only if os.path.exists(path)]
    for name in HOOK_FILES:
        _add_tree(guarded, f"{root}/{name}")
    for origin, name, value in settings:
        if name.lower() == "core.hookspath":
            _add_hooks_path(guarded, os.path.join(root, os.path.expanduser(value)))
        if origin and _inside(root, os.path.join(root, origin)):
            _add_tree(guarded, os.path.normpath(os.path.join(root, origin)))
    return guarded


def _inside(root: Path, path: str) -> bool:
    real = os.path.realpath(path)
    return real.startswith(f"{root}{os.sep}")


def _add_tree(guarded: Guarded, path: str, owner: str | None = None) -> None:
    if path in guarded.trees:
        return
    guarded.trees[path] = read_tree(path)
    identity = _identity(owner or path)
    if identity is not None and os.path.lexists(path):
        guarded.held[path] = (owner or path, identity)


def _identity(path: str) -> Identity | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _add_hooks_path(guarded: Guarded, path: str) -> None:
    if not _inside(guarded.root, path):
        return
    folder = os.path.normpath(path)
    # husky's hooks in `.husky/_` run the files beside that folder.
    if os.path.basename(folder) == "_" and _inside(guarded.root, os.path.dirname(folder)):
        folder = os.path.dirname(folder)
    _add_tree(guarded, folder)


def _add_repository(guarded: Guarded, dot_git: str) -> None:
    if os.path.isdir(dot_git) and not os.path.islink(dot_git):
        _add_git_dir(guarded, dot_git)
        for top, names, files in os.walk(f"{dot_git}/modules"):
            if "HEAD" in files and "objects" in names:
                _add_git_dir(guarded, top)
                names.remove("objects")
        with contextlib.suppress(OSError):
            for name in os.listdir(f"{dot_git}/worktrees"):
                _add_git_dir(guarded, f"{dot_git}/worktrees/{name}")
        return
    _add_tree(guarded, dot_git)
    entry = guarded.trees[dot_git].get("")
    if entry is not None and entry.data and entry.data.startswith(b"gitdir:"):
        target = os.fsdecode(entry.data[7:].strip())
        folder = os.path.normpath(os.path.join(os.path.dirname(dot_git), target))
        if _inside(guarded.root, folder) and os.path.isdir(folder):
            _add_git_dir(guarded, folder)


def _add_git_dir(guarded: Guarded, path: str) -> None:
    if path in guarded.git_dirs:
        return
    try:
        status = os.stat(path)
    except OSError:
        return
    guarded.git_dirs[path] = (status.st_dev, status.st_ino)
    for part in GIT_PARTS:
        _add_tree(guarded, f"{path}/{part}", path)
    for part in TODO_LISTS:
        tree = read_tree(f"{path}/{part}")
        guarded.trees[f"{path}/{part}"] = {k: v for k, v in tree.items() if _runs(v)}
    config = guarded.trees[f"{path}/config"].get("")
    if config is not None and config.data:
        pattern = rb"^\s*hookspath\s*=\s*\"?([^\"\n#;]+)"
        for match in re.finditer(pattern, config.data, re.IGNORECASE | re.MULTILINE):
            value = os.path.expanduser(os.fsdecode(match[1].strip()))
            _add_hooks_path(guarded, os.path.join(os.path.dirname(path), value))


def _runs(entry: Entry) -> bool:
    return entry.data is None or re.search(rb"^\s*(?:exec|x)\s", entry.data, re.M) is not None


def undo(
    before: Guarded, after: Guarded, aside: Path, plain: dict[str, bool], read_only: bool
) -> list[str]:
    """Undoes what a command changed; returns one sentence for each thing undone.

    aside: folder that receives what appeared. plain: for each new git directory, whether all its
    settings are ones that run nothing (`settings_are_plain`). read_only: whether the command could
    not write to what was there; a change of that is then the user's own, and stays.
    """
    notes: list[str] = []
    for path, tree in before.trees.items():
        owner, identity = before.held.get(path, ("", None))
        if read_only and owner and _identity(owner) == identity:
            continue
        now = after.trees.get(path)
        if now is None:
            now = read_tree(path)
        if any(path.endswith(part) for part in TODO_LISTS):
            now = {key: entry for key, entry in now.items() if _runs(entry)}
        for name in sorted(tree.keys() | now.keys()):
            whole = os.path.join(path, name) if name else path
            was, entry = tree.get(name), now.get(name)
            if (was is None and entry is None) or (was is not None and was.same(entry)):
                continue
            _put_back(whole, was, aside, notes, before.root)
    for path, identity in after.git_dirs.items():
        if before.git_dirs.get(path) == identity or not before.complete:
            continue
        for part in ("hooks", *TODO_LISTS):
            now = after.trees.get(f"{path}/{part}", {})
            for name in now:
                whole = f"{path}/{part}/{name}" if name else f"{path}/{part}"
                if os.path.lexists(whole):
                    _put_back(whole, None, aside, notes, before.root)
        if not plain.get(path, False) and os.path.lexists(f"{path}/config"):
            _put_back(f"{path}/config", None, aside, notes, before.root)
    return notes


def _put_back(path: str, was: Entry | None, aside: Path, notes: list[str], root: Path) -> None:
    shown = os.path.relpath(path, root)
    if os.path.lexists(path):
        make_private_folder(aside)
        target = aside / f"{len(list(aside.iterdir()))}-{os.path.basename(path)}"
        shutil.move(path, target)
    if was is None:
        notes.append(f"{shown} was removed: a later git or hook run would have executed it")
        return
    if was.link is None and was.data is None:
        notes.append(f"{shown} was changed and could not be put back")
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if was.link is not None:
        os.symlink(was.link, path)
    else:
        assert was.data is not None
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, was.mode)
        with open(fd, "wb") as file:
            file.write(was.data)
            os.fchmod(fd, was.mode)
    notes.append(f"{shown} was put back as it was: a later git or hook run would have executed it")


def settings_are_plain(listing: bytes) -> bool:
    """Whether settings, as `git config --list -z` prints them, hold nothing that runs commands."""
    for row in listing.split(b"\0"):
        name, _, value = row.partition(b"\n")
        text = name.decode("utf-8", "replace")
        if text and not _PLAIN_SETTING.fullmatch(text):
            return False
        if value.lstrip().startswith((b"!", b"ext::")):
            return False
    return True
