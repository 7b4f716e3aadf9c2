from typing import Any

COLUMNS: tuple[tuple[str, str], ...]
INPUTS: tuple[tuple[str, int, str], ...]
SIZES: dict[str, int]

class Column:
    def __buffer__(self, flags: int, /) -> memoryview: ...

class SegmentBuilder:
    n_files: int
    n_symbols: int
    def add(
        self,
        batch: Any,
        paths: Any,
        path_off: Any,
        languages: Any,
        first_file: int = 0,
        first_symbol: int = 0,
    ) -> None: ...
    def finish(self) -> dict[str, Column]: ...

def find_path(blob: Any, off: Any, path: Any) -> int: ...
def find_hash(hashes: Any, hash: int) -> int: ...
def symbols_of_hash(hashes: Any, order: Any, hash: int) -> tuple[int, int]: ...
def files_with_name(idt_off: Any, idt_name: Any, name: int) -> list[int]: ...
def compare_scan(
    new_blob: Any,
    new_off: Any,
    new_size: Any,
    new_mtime: Any,
    old_blob: Any,
    old_off: Any,
    old_size: Any,
    old_mtime: Any,
    live: Any,
    racy_ns: int,
    racy_seconds_ns: int,
    same: Any,
    seen: Any,
) -> None: ...
def checksum(data: Any) -> int: ...
def hash_bytes(data: Any) -> int: ...
def gather(names: Any, ids: Any) -> Column: ...
def invert(hashes: Any, offs: Any, posts: Any, n_files: int) -> tuple[Column, Column, Column]: ...
def tally(
    language: Any, status: Any, size: Any, live: Any
) -> tuple[dict[int, tuple[int, int]], list[int]]: ...
def count_symbols(sym_off: Any, live: Any) -> int: ...
