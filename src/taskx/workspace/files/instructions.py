"""Files of instructions for agents: which apply to the workspace, which to a folder.

`AGENTS.md`, `CLAUDE.md` and `GEMINI.md` count in any folder; those of other tools at the root.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from taskx.protocol.project import Instruction, InstructionScope

from .manifests import INSTRUCTIONS, ROOT_INSTRUCTIONS, folder_of, name_of
from .text import read_below

# Decisions on the workspace: each file, and all that go with one answer.
MAX_BYTES_EACH = 32 * 1024
MAX_BYTES_TOGETHER = 128 * 1024
# Files that are read; a generated tree may hold any number.
MAX_FILES = 500


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """source: path relative to the root. bytes: of the whole file. content: at most 32 KiB."""

    source: str
    scope: InstructionScope
    dir: str
    truncated: bool
    bytes: int
    content: str


def find(root: bytes, picked: Iterable[bytes]) -> list[InstructionFile]:
    """The instructions of a tree, the workspace's first. Reads them; blocks.

    picked: what `manifests.pick` took from the table of paths.
    """
    wanted: list[tuple[bool, str, bytes]] = []
    for path in picked:
        text = path.decode("utf-8", "replace")
        if _counts(text):
            wanted.append((_folder(text) != "", text, path))
    found: list[InstructionFile] = []
    for deeper, source, path in sorted(wanted)[:MAX_FILES]:
        file = read_below(root, path, code=False)
        if file is None or not file.text.strip():
            continue
        content = _cut(file.text, MAX_BYTES_EACH)
        found.append(
            InstructionFile(
                source,
                "directory" if deeper else "workspace",
                _folder(source),
                content != file.text,
                file.size,
                content,
            )
        )
    return found


def for_paths(files: Sequence[InstructionFile], paths: Iterable[str]) -> list[Instruction]:
    """The workspace's instructions and those of the folders around the paths, 128 KiB in all.

    paths: files or folders, relative to the root. The outermost folder comes first.
    """
    folders: set[str] = {""}
    for path in paths:
        folder = path.strip("/")
        while folder:
            folders.add(folder)
            folder = folder_of(folder)
    left = MAX_BYTES_TOGETHER
    found: list[Instruction] = []
    for file in files:
        if file.dir not in folders:
            continue
        content = _cut(file.content, left)
        if not content:
            break
        left -= len(content.encode("utf-8", "replace"))
        found.append(
            Instruction(
                source=file.source,
                scope=file.scope,
                dir=file.dir,
                content=content,
                truncated=file.truncated or content != file.content,
            )
        )
    return found


def _counts(path: str) -> bool:
    return (
        name_of(path) in INSTRUCTIONS
        or path in ROOT_INSTRUCTIONS
        or (path.startswith(".cursor/rules/") and path.endswith(".mdc"))
    )


def _folder(path: str) -> str:
    """The folder that a file of instructions speaks of."""
    return folder_of(path) if name_of(path) in INSTRUCTIONS else ""


def _cut(text: str, limit: int) -> str:
    """The longest start of the text that fits in limit bytes of UTF-8."""
    data = text.encode("utf-8", "replace")
    return text if len(data) <= limit else data[:limit].decode("utf-8", "ignore")
