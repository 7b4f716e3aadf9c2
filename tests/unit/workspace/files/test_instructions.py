"""Files of instructions: which count, where they apply, how much of them is kept."""

from __future__ import annotations

import os
from pathlib import Path

from taskx.workspace.files import manifests
from taskx.workspace.files.instructions import InstructionFile, find, for_paths
from taskx.workspace.files.scan import ScanOptions, scan

from .trees import environ, make

EVERY = {
    "AGENTS.md": "root agents",
    "CLAUDE.md": "root claude",
    "GEMINI.md": "root gemini",
    ".github/copilot-instructions.md": "copilot",
    ".cursorrules": "cursor",
    ".cursor/rules/a.mdc": "rule a",
    ".cursor/rules/deep/b.mdc": "rule b",
    ".windsurfrules": "windsurf",
    ".clinerules": "cline",
    "src/AGENTS.md": "src agents",
    "src/core/CLAUDE.md": "core claude",
    "src/.cursorrules": "not at the root",
    "other/a.mdc": "no rule",
    "docs/agents.md": "another name",
    "empty/AGENTS.md": "  \n",
}


def found(root: Path, *exclude: str) -> list[InstructionFile]:
    files = scan(os.fsencode(root), ScanOptions(exclude, environ(root)))
    return find(os.fsencode(root), manifests.pick(files.paths, files.path_off))


def test_W14_every_kind_of_file_counts_in_its_place(tmp_path: Path) -> None:
    files = found(make(tmp_path, EVERY))
    assert [(file.source, file.scope, file.dir) for file in files] == [
        (".clinerules", "workspace", ""),
        (".cursor/rules/a.mdc", "workspace", ""),
        (".cursor/rules/deep/b.mdc", "workspace", ""),
        (".cursorrules", "workspace", ""),
        (".github/copilot-instructions.md", "workspace", ""),
        (".windsurfrules", "workspace", ""),
        ("AGENTS.md", "workspace", ""),
        ("CLAUDE.md", "workspace", ""),
        ("GEMINI.md", "workspace", ""),
        ("src/AGENTS.md", "directory", "src"),
        ("src/core/CLAUDE.md", "directory", "src/core"),
    ]
    assert [file.content for file in files if file.dir] == ["src agents", "core claude"]


def test_W14_only_folders_around_the_paths_apply(tmp_path: Path) -> None:
    files = found(make(tmp_path, {name: EVERY[name] for name in EVERY if "AGENTS" in name}))
    make(tmp_path, {"lib/AGENTS.md": "lib"})
    files += [InstructionFile("lib/AGENTS.md", "directory", "lib", False, 3, "lib")]

    def sources(*paths: str) -> list[str]:
        return [file.source for file in for_paths(files, paths)]

    assert sources() == ["AGENTS.md"]
    assert sources("src/core/a.py") == ["AGENTS.md", "src/AGENTS.md"]
    assert sources("src") == ["AGENTS.md", "src/AGENTS.md"]
    assert sources("srcs/a.py", "lib/x") == ["AGENTS.md", "lib/AGENTS.md"]


def test_W14_each_is_cut_at_32_kib_and_all_at_128(tmp_path: Path) -> None:
    root = make(tmp_path, {f"d{i}/AGENTS.md": "é" * 20_000 for i in range(6)})
    files = found(root)
    assert [(file.truncated, file.bytes) for file in files] == [(True, 40_000)] * 6
    assert {len(file.content.encode()) for file in files} == {32 * 1024}
    answers = for_paths(files, [f"d{i}/a" for i in range(6)])
    assert sum(len(answer.content.encode()) for answer in answers) == 128 * 1024
    assert len(answers) == 4


def test_W13_ignored_and_excluded_instructions_do_not_count(tmp_path: Path) -> None:
    root = make(tmp_path, {".gitignore": "gen/\n", "gen/AGENTS.md": "x", "AGENTS.md": "y"})
    make(root, {"skip/CLAUDE.md": "z"})
    (root / "GEMINI.md").symlink_to("AGENTS.md")
    assert [file.source for file in found(root, "skip")] == ["AGENTS.md"]
