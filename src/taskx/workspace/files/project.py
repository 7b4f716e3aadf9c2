"""What a workspace is: name, languages, manifests, package managers, frameworks, checks.

All of it comes from what the repository declares. Costs a look at the table of paths and a read
of at most some hundred small files, whatever the size of the tree.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from taskx.protocol.project import Git, LanguageCount, Project

from . import ecosystems, manifests
from .manifests import MAX_MANIFESTS, Reader, folder_of, name_of
from .packages import Findings, Package

# Packages whose manifests are read; the rest are listed alone.
MAX_PACKAGES = 150
# CI files that are read.
MAX_CI_FILES = 30


# What a monorepo's root package is called when nobody cared.
_NO_NAMES = frozenset({"", "root", "monorepo", "workspace"})


def detect(
    root: bytes, picked: Iterable[bytes], languages: Sequence[LanguageCount], git: Git | None
) -> Project:
    """picked: what `manifests.pick` took from the table of paths. Reads files; blocks."""
    paths = manifests.of_packages(picked)
    folders: dict[str, set[str]] = {"": set()}
    for path in paths:
        folders.setdefault(folder_of(path), set()).add(name_of(path))
    reader = Reader(root)
    findings = Findings()
    for folder in list(folders)[:MAX_PACKAGES]:
        ecosystems.read_package(_package(folder, folders, reader, findings))
    top = _package("", folders, reader, findings)
    for path in ecosystems.ci_files(top)[:MAX_CI_FILES]:
        ecosystems.continuous(top, path)
    return Project(
        name=(findings.name if findings.name not in _NO_NAMES else "")
        or os.path.basename(root).decode("utf-8", "replace")
        or "/",
        languages=list(languages),
        manifests=_listed(paths, folders),
        package_managers=list(findings.managers),
        frameworks=sorted(findings.frameworks),
        checks=findings.checks,
        git=git,
    )


def _package(
    folder: str, folders: dict[str, set[str]], reader: Reader, findings: Findings
) -> Package:
    above: set[str] = set()
    higher = folder
    while higher:
        higher = folder_of(higher)
        above |= folders.get(higher, set())
    return Package(folder, frozenset(folders[folder]), frozenset(above), reader, findings)


# Build files that come in hundreds below one of their kind and say nothing of packages.
_PARTS = frozenset({"Makefile", "makefile", "GNUmakefile", "CMakeLists.txt", "meson.build"})


def _listed(paths: list[str], folders: dict[str, set[str]]) -> list[str]:
    """Manifests of the summary: not the parts that only stand below others of their kind."""
    kept: list[str] = []
    for path in paths:
        if not manifests.is_manifest(path):
            continue
        name, folder = name_of(path), folder_of(path)
        if name in _PARTS and folder and len(folders[folder]) == 1:
            higher = folder
            below = False
            while higher and not below:
                higher = folder_of(higher)
                below = name in folders.get(higher, set())
            if below:
                continue
        kept.append(path)
    return kept[:MAX_MANIFESTS]
