"""Merged overlays say what one segment of the same files says."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from taskx.workspace.index.merge import merged
from taskx.workspace.index.segment import Segment
from taskx.workspace.index.tables import COLUMNS
from tests.reference.batches import make_parts
from tests.unit.workspace.index.test_snapshot import path, text

line = st.sampled_from(
    [
        b"def f():",
        b"    def g(): f.h()",
        b"class C:",
        b"import os",
        b"from a.b import c",
        b"x = y.z",
    ]
)
source = st.lists(line | text, max_size=8).map(b"\n".join)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.dictionaries(path, source, max_size=6), min_size=1, max_size=4), st.data())
def test_merged_is_the_segment_of_the_newest_texts(
    layers: list[dict[bytes, bytes]], data: st.DataObject
) -> None:
    removed = data.draw(st.sets(st.sampled_from(sorted({p for layer in layers for p in layer}))
                                if any(layers) else st.nothing()))  # fmt: skip
    want: dict[bytes, bytes] = {}
    for layer in layers:
        want |= layer
    parts = []
    for number, layer in enumerate(layers):
        segment = Segment.from_batches(make_parts(layer))
        later = {p for rest in layers[number + 1 :] for p in rest} | removed
        live = bytes(segment.path(i) not in later for i in range(segment.n_files))
        parts.append((segment, live))
    got = merged(parts)
    fresh = Segment.from_batches(make_parts({p: t for p, t in want.items() if p not in removed}))
    different = [
        name
        for name, _ in COLUMNS
        # Where strings stand in `blob`, and hashes in `names`, depends on the order of arrival.
        if name not in {"blob", "names", "idt_name", "qual_name", "qual_member"}
        and not name.endswith(("name_off", "module_off", "alias_off", "attr_off"))
        and getattr(got, name).tobytes() != getattr(fresh, name).tobytes()
    ]
    assert different == []
    rows = range(fresh.n_symbols)
    assert [got.symbol(r, 0) for r in rows] == [fresh.symbol(r, 0) for r in rows]
    rows = range(len(fresh.imp_kind))
    assert [got.import_row(r, 0) for r in rows] == [fresh.import_row(r, 0) for r in rows]
    for ids in ("idt_name", "qual_name", "qual_member"):
        left = [got.names[i] for i in getattr(got, ids)]
        assert left == [fresh.names[i] for i in getattr(fresh, ids)]
