"""The trees that are measured: any folder, or a corpus by name from a package that holds it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

KERNEL_PARTS = ("kernel", "fs", "mm", "drivers/net")


class CorpusMissing(RuntimeError):
    """The text says which package to install."""


def corpus(name: str, scratch: Path) -> Path:
    """The folder of a corpus: a path, or `linux`, `linux-parts`, `go`, `rust`, `django`.

    scratch: where archives are unpacked; kept between runs.
    Raises CorpusMissing naming the package that brings it.
    """
    makers = {
        "linux": linux,
        "linux-parts": linux_parts,
        "go": lambda scratch: first_of("golang-1.19-src", "/usr/share/go-1.*/src"),
        "rust": lambda scratch: first_of("rust-src", "/usr/src/rustc-*"),
        "django": django,
    }
    folder = Path(name)
    if folder.is_dir():
        return folder.resolve()
    if name not in makers:
        raise CorpusMissing(f"{name} is no folder and no corpus; corpora: {', '.join(makers)}")
    return makers[name](scratch)


def first_of(package: str, pattern: str) -> Path:
    root, _, rest = pattern.lstrip("/").partition("/")
    found = sorted(Path("/", root).glob(rest))
    if not found:
        raise CorpusMissing(f"install the Debian package {package} first")
    return found[-1]


def linux(scratch: Path) -> Path:
    """The reference monorepo: the whole tree of Debian's linux-source-6.1."""
    folder = scratch / "linux-source-6.1"
    if not folder.is_dir():
        archive = first_of("linux-source-6.1", "/usr/src/linux-source-6.1.tar.xz")
        scratch.mkdir(parents=True, exist_ok=True)
        subprocess.run(["tar", "xf", str(archive), "-C", str(scratch)], check=True)
    return folder


def linux_parts(scratch: Path) -> Path:
    """kernel/, fs/, mm/ and drivers/net of it: 8,511 files, 181 MB."""
    whole = linux(scratch)
    folder = scratch / "linux-parts"
    for part in KERNEL_PARTS:
        target = folder / part
        if not target.is_dir():
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-r", str(whole / part), str(target)], check=True)
    return folder


def django(scratch: Path) -> Path:
    """Django's source distribution, by name and version through pip."""
    folder = scratch / "django-5.2.19"
    if not folder.is_dir():
        scratch.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run(
            [*pip, "--no-binary=:all:", f"--dest={scratch}", "django==5.2.19"], check=True
        )
        with tarfile.open(scratch / "django-5.2.19.tar.gz") as archive:
            archive.extractall(scratch, filter="data")
    return folder


def describe(folder: Path) -> dict[str, Any]:
    """Files, bytes and a hash over every path and size, so that two reports can be compared."""
    digest = hashlib.sha256()
    files = 0
    size_bytes = 0
    for path, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            full = os.path.join(path, name)
            size = os.lstat(full).st_size
            digest.update(f"{os.path.relpath(full, folder)}\0{size}\n".encode("utf-8", "replace"))
            files += 1
            size_bytes += size
    return {"name": folder.name, "files": files, "bytes": size_bytes, "hash": digest.hexdigest()}
