"""Columns of analysed files. Indexes are local to a batch; lines are 1-based and inclusive."""

from collections.abc import Callable

from typing_extensions import disjoint_base

from taskx._native.cancel import CancelFlag
from taskx._native.extract import GrammarTable

__all__ = ["Analyzer", "Batch", "LexTable", "hash_names", "language_abi", "node_types"]

def language_abi(capsule: object) -> int: ...
def node_types(capsule: object) -> list[tuple[str, bool]]: ...
def hash_names(names: list[bytes]) -> bytes: ...

@disjoint_base
class LexTable:
    def __new__(cls, lang: int, traits: int, keywords: dict[bytes, int]) -> LexTable: ...

@disjoint_base
class Batch:
    n_files: int
    n_symbols: int
    n_imports: int
    cancelled: bool
    """Ended early: rows only for the files before the cancel."""

    # Files.
    status: memoryview
    """uint8: 0 parsed, 1 text only, 2 binary, 3 too large, 4 minified, 5 unreadable, 6 vanished,
    7 budget: not parsed, but with identifiers, imports and terms."""
    encoding: memoryview
    """uint8: 0 UTF-8, 1 Latin-1, 2 UTF-16 little-endian, 3 UTF-16 big-endian."""
    size: memoryview
    """int64, bytes."""
    mtime_ns: memoryview
    """int64, of the opened file."""
    content_hash: memoryview
    """uint64 of the file's bytes; 0 when they were not read."""
    n_lines: memoryview
    """int32."""

    # Symbols, sorted by file, then where they start; an outer one before what it holds.
    sym_file: memoryview
    """int32."""
    sym_name_off: memoryview
    """uint32 into `blob`."""
    sym_name_len: memoryview
    """uint16."""
    sym_name_hash: memoryview
    """uint64, as `hash_names`."""
    sym_kind: memoryview
    """uint8: SymbolKind of the Language Server Protocol; typeParameter stands for type aliases,
    object for blocks that add to a type (`impl`, `extension`, `instance`)."""
    sym_start: memoryview
    """int32: first line, decorators and `export` included."""
    sym_end: memoryview
    """int32: last line."""
    sym_line: memoryview
    """int32: line of the name."""
    sym_parent: memoryview
    """int32: symbol that holds this one, or -1."""
    sym_flags: memoryview
    """uint8: 1 public, 2 has a body, 4 inside a function, 8 a type, 16 declares only (prototype,
    `impl` block, extension): no definition of its name."""

    # Imports: one row for each imported name.
    imp_file: memoryview
    """int32."""
    imp_kind: memoryview
    """uint8: 1 module, 2 name from a module, 3 wildcard, 4 re-export of a name, 5 re-export of
    all, 6 `mod x`, 7 include "", 8 include <>, 9 package or namespace of this file, 10 require or
    import(), 11 type only, 12 export of a local name."""
    imp_line: memoryview
    """int32."""
    imp_level: memoryview
    """uint8: leading dots (Python); 1 for relative to this file (require_relative, __DIR__)."""
    imp_flags: memoryview
    """uint8: 1 inside a function, 2 conditional, 4 public."""
    imp_module_off: memoryview
    """uint32 into `blob`, like the three below; their lengths are uint16."""
    imp_module_len: memoryview
    imp_name_off: memoryview
    imp_name_len: memoryview
    imp_alias_off: memoryview
    imp_alias_len: memoryview
    imp_attr_off: memoryview
    """Rust: inline modules around the row joined by `::`, then `=` and the value of #[path]."""
    imp_attr_len: memoryview

    # Identifiers of file i: rows idt_off[i] up to idt_off[i + 1], sorted by hash.
    idt_off: memoryview
    """uint32[n_files + 1]."""
    idt_hash: memoryview
    """uint64."""
    idt_flags: memoryview
    """uint8: 1 plain use, 2 after `.` or `->`, 4 after `::`, 8 called, 16 bound here, 32 in a
    type's place."""

    # Pairs `a.b` and `a::b` whose chain starts with the plain name a (not in C).
    q_off: memoryview
    """uint32[n_files + 1]."""
    q_hash: memoryview
    """uint64 of a."""
    m_hash: memoryview
    """uint64 of b."""

    term_off: memoryview
    """uint32[n_files + 1]."""
    term_hash: memoryview
    """uint64: `hash_names` of each distinct term of the file, in any order."""
    term_tf: memoryview
    """uint8: how often the file has it, at most 255."""
    blob: memoryview
    """Bytes: names and strings."""

@disjoint_base
class Analyzer:
    budget_ns: int
    whole: bool
    def __new__(
        cls,
        load: Callable[[int], tuple[LexTable, GrammarTable | None, int]],
        budget_ns: int = ...,
        whole: bool = ...,
    ) -> Analyzer: ...
    def analyze(
        self,
        root: bytes,
        paths: bytes,
        path_off: object,
        languages: object,
        cancel: CancelFlag | None = None,
        at: object = None,
    ) -> Batch: ...
    def analyze_text(self, data: bytes, language: int) -> Batch: ...

def content_hash(data: bytes | memoryview) -> int: ...
