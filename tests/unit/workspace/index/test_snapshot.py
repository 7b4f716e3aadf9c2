"""Segments and snapshots against what can be said about the same texts without any index."""

from __future__ import annotations

import math
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from taskx._native.terms import text_terms
from taskx.workspace.index.segment import Segment
from taskx.workspace.index.snapshot import Snapshot
from tests.reference.batches import DEFINITION, WORD, hash64, make_parts, terms_of

FILES = {
    b"app/a.py": b"import os\nclass Alpha:\n    def run(self):\n        return os.getcwd()\n",
    b"app/b.py": b"from app.a import Alpha\ndef main():\n    Alpha().run()\n",
    b"lib/util.py": b"def run():\n    pass\ndef parse_header(text):\n    return text.strip()\n",
    b"readme": b"run the parse_header of the util\n",
}


def snapshot_of(files: dict[bytes, bytes], size: int = 3) -> Snapshot:
    return Snapshot.from_batches(b"/root", make_parts(files, size))


def names_of(snapshot: Snapshot, files: dict[bytes, bytes]) -> dict[bytes, object]:
    """Everything the snapshot says about each path."""
    return {
        path: (
            [s[:2] + s[3:7] for s in snapshot.symbols_of(fid)],
            [i[1:] for i in snapshot.imports_of(fid)],
        )
        for path in files
        if (fid := snapshot.file_id(path)) is not None
    }


def test_rows_of_a_file() -> None:
    snapshot = snapshot_of(FILES)
    fid = snapshot.file_id("app/a.py")
    assert fid == 0
    assert [(s.name, s.kind_name, s.start_line, s.parent) for s in snapshot.symbols_of(fid)] == [
        ("Alpha", "class", 2, -1),
        ("run", "function", 3, 0),
    ]
    assert [(i.module, i.name) for i in snapshot.imports_of(1)] == [("app.a", "Alpha")]
    assert [snapshot.path(fid) for fid in snapshot.file_ids()] == [p.decode() for p in FILES]
    assert snapshot.file_id("app/none.py") is None


def test_symbols_and_users_by_name() -> None:
    snapshot = snapshot_of(FILES)
    found = snapshot.symbols_named(hash64(b"run"))
    assert [(snapshot.path(s.fid), s.line) for s in found] == [("app/a.py", 3), ("lib/util.py", 1)]
    assert snapshot.symbols_named(hash64(b"nowhere")) == []
    assert [snapshot.path(f) for f in snapshot.files_using(hash64(b"parse_header"))] == [
        "lib/util.py",
        "readme",
    ]


def test_batches_do_not_change_the_result() -> None:
    whole, parts = snapshot_of(FILES, 9), snapshot_of(FILES, 1)
    for name in (
        "names",
        "idt_name",
        "sym_by_hash",
        "text_posts",
        "text_off",
        "head_posts",
    ):
        left, right = getattr(whole.segments[0], name), getattr(parts.segments[0], name)
        assert left.tobytes() == right.tobytes(), name


def test_overlay_hides_and_removes() -> None:
    snapshot = snapshot_of(FILES)
    changed = {b"app/b.py": b"def other():\n    run()\n", b"new.py": b"def run(): pass\n"}
    after = snapshot.with_changes(Segment.from_batches(make_parts(changed)), [b"lib/util.py"])
    assert after.version == snapshot.version + 1
    want = {**FILES, **changed}
    del want[b"lib/util.py"]
    assert sorted(after.path_bytes(f) for f in after.file_ids()) == sorted(want)
    assert after.n_files == len(want)
    assert names_of(after, want) == names_of(snapshot_of(want), want)
    assert after.file_id(b"lib/util.py") is None
    assert {after.path(s.fid) for s in after.symbols_named(hash64(b"run"))} == {
        "app/a.py",
        "new.py",
    }
    assert [after.path(fid) for fid, _ in after.search([("util", 1.0)], 9)] == ["readme"]
    # The snapshot before is as it was.
    assert snapshot.n_files == len(FILES)


word = st.sampled_from(["run", "parse", "Alpha", "flat_map", "x1", "os", "Zeta", "héllo", "a" * 60])
text = st.lists(word, max_size=30).map(lambda words: " ".join(words).encode())
path = st.lists(st.sampled_from(["a", "b", "lib", "Zeta"]), min_size=1, max_size=3).map(
    lambda parts: "/".join(parts).encode()
)


def bm25(files: dict[bytes, bytes], term: bytes) -> dict[bytes, float]:
    """The score as Robertson and Zaragoza write it, over text and over path and names."""
    scores: dict[bytes, float] = {}
    heads = {}
    for name, body in files.items():
        names = [m[3] for m in map(DEFINITION.match, body.split(b"\n")) if m]
        heads[name] = Counter(text_terms(name))
        for defined in names:
            heads[name] += Counter(text_terms(defined))
    for fields, weight in (
        ({name: terms_of(body) for name, body in files.items()}, 1.0),
        (heads, 2.5),
    ):
        total = len(fields)
        mean = sum(sum(c.values()) for c in fields.values()) / total or 1
        df = sum(term in counts for counts in fields.values())
        idf = math.log(1 + (total - df + 0.5) / (df + 0.5))
        for name, counts in fields.items():
            tf = counts[term]
            if tf:
                norm = 1.2 * (0.25 + 0.75 * sum(counts.values()) / mean)
                scores[name] = scores.get(name, 0) + weight * idf * tf * 2.2 / (tf + norm)
    return scores


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(path, text, min_size=1, max_size=12), st.integers(1, 4))
def test_search_scores_as_the_formula(files: dict[bytes, bytes], size: int) -> None:
    snapshot = snapshot_of(files, size)
    for term in (b"run", b"pars", b"flatmap", b"zeta", b"nothing"):
        want = bm25(files, term)
        got = {snapshot.path_bytes(f): score for f, score in snapshot.search([(term, 1.0)], 99)}
        assert got.keys() == want.keys()
        assert all(math.isclose(got[p], want[p], rel_tol=1e-9) for p in want)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(path, text, min_size=1, max_size=12))
def test_users_are_the_files_that_hold_the_word(files: dict[bytes, bytes]) -> None:
    snapshot = snapshot_of(files)
    for name in {w for body in files.values() for w in WORD.findall(body)}:
        want = sorted(p for p, body in files.items() if name in WORD.findall(body))
        assert [snapshot.path_bytes(f) for f in snapshot.files_using(hash64(name))] == want


def test_a_term_in_many_files_keeps_all_of_them() -> None:
    files = {b"%05d" % n: b"common " * (n % 4 + 1) + b"w%d" % (n % 7) for n in range(3000)}
    snapshot = snapshot_of(files, 500)
    hits = snapshot.search([("common", 1.0)], 5000)
    assert len(hits) == 3000
    assert snapshot.doc_freq("common") == 3000
    best = hits[0][1]
    assert [f for f, score in hits if score == best] == sorted(f for f, s in hits if s == best)
    assert snapshot.search([("common", 1.0)], 7) == hits[:7]
