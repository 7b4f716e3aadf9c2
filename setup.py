"""Builds the Cython extensions, with the tree-sitter C core compiled into the one that parses.

The core comes from the pinned source distribution of `tree-sitter`, fetched by name and hash
through pip. TASKX_TREE_SITTER_SRC names an unpacked copy of that distribution for builds without a
network. TASKX_NATIVE_DEBUG=1 builds with bounds checks and without optimisation;
TASKX_NATIVE_SANITIZE=address adds AddressSanitizer.
"""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

TREE_SITTER_VERSION = "0.26.1"
TREE_SITTER_SHA256 = "9919cbaf02d17fa9a4cd0e6da496aecf901b758e6eacf122eee393e3ef08aacd"

HERE = Path(__file__).resolve().parent
DEBUG = os.environ.get("TASKX_NATIVE_DEBUG") == "1"
SANITIZE = os.environ.get("TASKX_NATIVE_SANITIZE", "")

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "cdivision": not DEBUG,
    "initializedcheck": DEBUG,
    "linetrace": DEBUG,
    "embedsignature": False,
    "freethreading_compatible": False,
}

# One row per extension: module, whether it compiles the tree-sitter core.
EXTENSIONS = {
    "cancel": False,
    "extract": True,
    "gitindex": False,
    "ignore": False,
    "imports": False,
    "lexer": False,
    "outline_c": False,
    "outline_keyword": False,
    "outline_python": False,
    "paths": False,
    "postings": False,
    "refgraph": False,
    "scanner": False,
    "skeleton": False,
    "symbols": False,
    "tables": False,
    "terms": False,
    "scoring": False,
    "names": False,
    "termset": False,
}


def tree_sitter_core() -> Path:
    """Folder that holds the core's `include` and `src`. Raises SystemExit naming what to do."""
    given = os.environ.get("TASKX_TREE_SITTER_SRC")
    if given:
        core = Path(given) / "tree_sitter" / "core" / "lib"
        if not (core / "src" / "lib.c").is_file():
            raise SystemExit(
                f"TASKX_TREE_SITTER_SRC={given}: no tree_sitter/core/lib/src/lib.c below it; "
                f"unpack the source distribution of tree-sitter {TREE_SITTER_VERSION} "
                "and name its folder"
            )
        return core
    cache = HERE / "build" / "tree-sitter"
    core = cache / f"tree_sitter-{TREE_SITTER_VERSION}" / "tree_sitter" / "core" / "lib"
    if (core / "src" / "lib.c").is_file():
        return core
    cache.mkdir(parents=True, exist_ok=True)
    requirement = cache / "requirement.txt"
    requirement.write_text(
        f"tree-sitter=={TREE_SITTER_VERSION} --hash=sha256:{TREE_SITTER_SHA256}\n"
    )
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
         "--require-hashes", "--dest", str(cache), "-r", str(requirement)],
        check=True,
    )  # fmt: skip
    with tarfile.open(cache / f"tree_sitter-{TREE_SITTER_VERSION}.tar.gz") as archive:
        archive.extractall(cache, filter="data")
    return core


def extensions() -> list[Extension]:
    flags = ["-O0", "-g"] if DEBUG else ["-O3", "-g0"]
    if SANITIZE:
        flags += [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer", "-g"]
    link = [f"-fsanitize={SANITIZE}"] if SANITIZE else []
    macros = [("CYTHON_TRACE_NOGIL", "1")] if DEBUG else []
    built = []
    for module, with_core in EXTENSIONS.items():
        sources = [f"src/taskx/_native/{module}.pyx"]
        include: list[str] = []
        if with_core:
            core = tree_sitter_core()
            sources.append(os.path.relpath(core / "src" / "lib.c", HERE))
            include += [str(core / "include"), str(core / "src")]
        built.append(
            Extension(
                f"taskx._native.{module}",
                sources,
                include_dirs=include,
                # The core's symbols stay private: another copy in the process is no harm.
                extra_compile_args=[*flags, "-std=c11", "-D_GNU_SOURCE", "-fvisibility=hidden"],
                extra_link_args=link,
                define_macros=macros,
            )
        )
    return built


setup(
    ext_modules=cythonize(
        extensions(), compiler_directives=DIRECTIVES, build_dir="build/cython", annotate=DEBUG
    )
)
