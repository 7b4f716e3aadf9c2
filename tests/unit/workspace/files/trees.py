"""Makes small trees on disk, and asks git which of their files count."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

from taskx.workspace.files.scan import Scan, ScanOptions, scan


def make(root: Path, files: Mapping[str | bytes, str | bytes]) -> Path:
    """Writes files below root; a name that ends in a slash is a folder."""
    for name, content in files.items():
        path = os.path.join(os.fsencode(root), os.fsencode(name))
        if path.endswith(b"/"):
            os.makedirs(path, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
    return root


def environ(home: Path) -> dict[str, str]:
    """Where git and the scanner look for the user's own configuration."""
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }


def git(home: Path, cwd: Path, *arguments: str | bytes) -> bytes:
    command = ["git", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"]
    ran = subprocess.run(
        [*command, *arguments],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], **environ(home)},
        capture_output=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout


def git_files(home: Path, root: Path) -> set[bytes]:
    """Regular files that git lists below root: tracked ones, and others it does not ignore."""
    listed = git(home, root, "ls-files", "-z", "-co", "--exclude-standard").split(b"\0")
    base = os.fsencode(root)

    def is_file(path: bytes) -> bool:
        try:
            return stat.S_ISREG(os.lstat(os.path.join(base, path)).st_mode)
        except OSError:
            return False

    return {path for path in listed if path and is_file(path)}


def scanned(root: Path, home: Path, *exclude: str, threads: int = 2) -> Scan:
    found = scan(os.fsencode(root), ScanOptions(exclude, environ(home), threads))
    paths = found.path_list()
    assert paths == sorted(set(paths)), "sorted, each once"
    return found


def paths(root: Path, home: Path, *exclude: str) -> set[bytes]:
    return set(scanned(root, home, *exclude).path_list())
