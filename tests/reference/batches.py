"""A slow, obvious stand-in for the analyzer: batches of small Python files, by regular expressions.

Good enough to build segments in tests of the index; what real code looks like is the analyzer's.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from taskx._native.terms import text_terms

MASK = (1 << 64) - 1
WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
DEFINITION = re.compile(rb"^(\s*)(def|class)\s+([A-Za-z_][A-Za-z0-9_]*)")
IMPORT = re.compile(rb"^from\s+([\w.]+)\s+import\s+(\w+)|^import\s+([\w.]+)")


def hash64(data: bytes) -> int:
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & MASK
    h ^= h >> 33
    h = h * 0xFF51AFD7ED558CCD & MASK
    h ^= h >> 33
    return h or 1


FORMATS = {
    "status": "B", "encoding": "B", "size": "q", "mtime_ns": "q", "content_hash": "Q",
    "n_lines": "i", "sym_file": "i", "sym_name_off": "I", "sym_name_len": "H",
    "sym_name_hash": "Q", "sym_kind": "B", "sym_start": "i", "sym_end": "i", "sym_line": "i",
    "sym_parent": "i", "sym_flags": "B", "imp_file": "i", "imp_kind": "B", "imp_line": "i",
    "imp_level": "B", "imp_flags": "B", "imp_module_off": "I", "imp_module_len": "H",
    "imp_name_off": "I", "imp_name_len": "H", "imp_alias_off": "I", "imp_alias_len": "H",
    "imp_attr_off": "I", "imp_attr_len": "H", "idt_off": "I", "idt_hash": "Q", "idt_flags": "B",
    "q_off": "I", "q_hash": "Q", "m_hash": "Q", "term_off": "I",
    "term_hash": "Q", "term_tf": "B",
}  # fmt: skip


def terms_of(text: bytes) -> Counter[bytes]:
    """Terms of a text with their counts, at most 8 of each."""
    counts = Counter(text_terms(text))
    return Counter({term: min(n, 8) for term, n in counts.items()})


def make_batch(files: Mapping[bytes, bytes], mtime_ns: int = 1) -> Any:
    """One batch of the texts, in the mapping's order."""
    rows: dict[str, list[int]] = {name: [] for name in FORMATS}
    blob = bytearray()
    rows["idt_off"].append(0)
    rows["q_off"].append(0)
    rows["term_off"].append(0)

    def string(value: bytes) -> tuple[int, int]:
        off = len(blob)
        blob.extend(value)
        return off, len(value)

    for number, text in enumerate(files.values()):
        lines = text.split(b"\n")
        rows["status"].append(0)
        rows["encoding"].append(0)
        rows["size"].append(len(text))
        rows["mtime_ns"].append(mtime_ns)
        rows["content_hash"].append(hash64(text))
        rows["n_lines"].append(len(lines))
        parents: list[tuple[int, int]] = []
        for at, line in enumerate(lines, 1):
            if match := DEFINITION.match(line):
                indent = len(match[1])
                while parents and parents[-1][0] >= indent:
                    parents.pop()
                off, length = string(match[3])
                row = len(rows["sym_kind"])
                for name, value in {
                    "file": number, "name_off": off, "name_len": length,
                    "name_hash": hash64(match[3]), "kind": 5 if match[2] == b"class" else 12,
                    "start": at, "end": at, "line": at,
                    "parent": parents[-1][1] if parents else -1, "flags": 3,
                }.items():  # fmt: skip
                    rows[f"sym_{name}"].append(value)
                parents.append((indent, row))
            if match := IMPORT.match(line):
                parts = {"module": match[1] or match[3], "name": match[2] or b"", "alias": b"",
                         "attr": b""}  # fmt: skip
                for name, value in {
                    "file": number, "kind": 2 if match[2] else 1, "line": at, "level": 0,
                    "flags": 0,
                }.items():  # fmt: skip
                    rows[f"imp_{name}"].append(value)
                for name, value in parts.items():
                    off, length = string(value)
                    rows[f"imp_{name}_off"].append(off)
                    rows[f"imp_{name}_len"].append(length)
        hashes = sorted({hash64(word) for word in WORD.findall(text)})
        rows["idt_hash"].extend(hashes)
        rows["idt_flags"].extend([1] * len(hashes))
        rows["idt_off"].append(len(rows["idt_hash"]))
        pairs = re.findall(rb"(\w+)\.(\w+)", text)
        rows["q_hash"].extend(hash64(a) for a, _ in pairs)
        rows["m_hash"].extend(hash64(b) for _, b in pairs)
        rows["q_off"].append(len(rows["q_hash"]))
        for term, count in terms_of(text).items():
            rows["term_hash"].append(hash64(term))
            rows["term_tf"].append(count)
        rows["term_off"].append(len(rows["term_hash"]))
    columns = {name: memoryview(array(code, rows[name])) for name, code in FORMATS.items()}
    return SimpleNamespace(**columns, blob=bytes(blob))


def make_parts(files: Mapping[bytes, bytes], size: int = 3) -> list[Any]:
    """(paths, language ids, batch) of the files in path order, `size` files to a batch."""
    paths = sorted(files)
    return [
        (group, [1] * len(group), make_batch({path: files[path] for path in group}))
        for group in (paths[at : at + size] for at in range(0, len(paths), size))
    ]
