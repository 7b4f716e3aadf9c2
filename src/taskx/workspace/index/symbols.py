"""Analysed files: the one door to the native lexer, parser and extractor.

`analyzer()` makes one for a worker thread; grammars and tables are loaded on first use of a
language and shared. What the columns of a `Batch` mean is said in `_native/symbols.pyi`.
"""

from __future__ import annotations

import threading

from taskx._native.extract import GrammarTable
from taskx._native.symbols import (
    Analyzer,
    Batch,
    LexTable,
    content_hash,
    hash_names,
    node_types,
)
from taskx.workspace.files.languages import IDS, LANGUAGES, grammar_capsule
from taskx.workspace.index.grammars import KIND_NAMES, generic_rules, rules
from taskx.workspace.index.lexing import MARKUP, lexing

__all__ = ["KIND_NAMES", "Analyzer", "Batch", "analyzer", "content_hash", "hash_names"]

Tables = tuple[LexTable, GrammarTable | None, int]

CODE, PLAIN, SCRIPTS = range(3)
# Grammars whose scanner loops for ever at the end of some broken files, out of reach of any budget:
# their files are text.
_ENDLESS = frozenset({"cobol"})
# Languages whose <script> elements are TypeScript.
_SCRIPTED = ("vue", "svelte")

_tables: dict[int, Tables] = {}
_lock = threading.Lock()


def _load(language_id: int) -> Tables:
    language = LANGUAGES[language_id]
    name = "typescript" if language.name in _SCRIPTED else language.name
    traits, keywords = lexing(name)
    kind = SCRIPTS if language.name in _SCRIPTED else PLAIN if traits & MARKUP else CODE
    # The native lexer and walk go by the ids of the first twenty.
    behaves_as = IDS[name] if IDS[name] <= 20 else 0
    table = LexTable(behaves_as, traits, keywords)
    grammar = None
    try:
        capsule = None if name in _ENDLESS else grammar_capsule(IDS[name])
    except (LookupError, ImportError, OSError):
        capsule = None
    if capsule is not None:
        found = rules(name) or generic_rules(node_types(capsule))
        if found[0]:
            grammar = GrammarTable(capsule, behaves_as, *found)
    return table, grammar, kind


def tables(language_id: int) -> Tables:
    """Tables of a language, made once in the process. Raises IndexError for an unknown id."""
    with _lock:
        if language_id not in _tables:
            _tables[language_id] = _load(language_id)
        return _tables[language_id]


def analyzer(*, budget_ms: int = 2000, whole: bool = False) -> Analyzer:
    """An analyzer for one thread. `whole`: parse files whole, with no skeleton (to compare)."""
    return Analyzer(tables, budget_ms * 1_000_000, whole)
