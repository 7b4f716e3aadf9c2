"""The index on disk: what is damaged, foreign or half written is never trusted and never fatal."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskx.workspace.index import store as store_module
from taskx.workspace.index.journal import Journal, collect
from taskx.workspace.index.segment import Segment
from taskx.workspace.index.segment_file import Damaged, read_segment, write_segment
from taskx.workspace.index.store import Store, Stored, drop_old
from taskx.workspace.index.tables import COLUMNS
from tests.reference.batches import make_parts

FILES = {
    b"a/%02d.py" % n: b"import os\nclass C%d:\n    def run(self):\n        os.x()\n" % n
    for n in range(30)
}
ROOT = b"/some/root"


def segment_of(files: dict[bytes, bytes] = FILES) -> Segment:
    return Segment.from_batches(make_parts(files))


def columns(segment: Segment) -> dict[str, bytes]:
    return {name: getattr(segment, name).tobytes() for name, _ in COLUMNS}


def never() -> bool:
    return False


def saved(base: Path) -> Store:
    store = Store(base, ROOT)
    segment = segment_of()
    assert store.save(Stored([segment], [None], [7], b"graph bytes"))
    return store


def test_a_segment_survives_the_file(tmp_path: Path) -> None:
    segment = segment_of()
    assert write_segment(segment, tmp_path / "s.bin", never)
    assert columns(read_segment(tmp_path / "s.bin")) == columns(segment)
    assert [p.name for p in tmp_path.iterdir()] == ["s.bin"]
    assert (tmp_path / "s.bin").stat().st_mode & 0o777 == 0o600


def test_an_empty_segment_survives_the_file(tmp_path: Path) -> None:
    segment = segment_of({})
    assert write_segment(segment, tmp_path / "s.bin", never)
    assert columns(read_segment(tmp_path / "s.bin")) == columns(segment)


def test_a_built_segment_moves_to_its_file(tmp_path: Path) -> None:
    store = Store(tmp_path, ROOT)
    segment = segment_of()
    before = columns(segment)
    assert store.save(Stored([segment], [None], [7]))
    store.map_written()
    assert segment.owner is not None
    assert columns(segment) == before


def test_a_store_gives_back_what_it_got(tmp_path: Path) -> None:
    saved(tmp_path)
    loaded = Store(tmp_path, ROOT).load()
    assert loaded is not None
    assert columns(loaded.segments[0]) == columns(segment_of())
    assert (loaded.live, loaded.scanned_ns, loaded.graph) == ([None], [7], b"graph bytes")
    assert Store(tmp_path, b"/other").load() is None


def test_masks_and_overlays_are_kept_and_old_files_swept(tmp_path: Path) -> None:
    store = saved(tmp_path)
    first = store.load()
    assert first is not None
    overlay = segment_of({b"b.py": b"def b(): pass\n"})
    mask = b"\x00" + b"\x01" * 29
    assert store.save(Stored([first.segments[0], overlay], [mask, None], [7, 9]))
    again = Store(tmp_path, ROOT).load()
    assert again is not None
    assert (again.live, again.graph) == ([mask, None], None)
    kinds = sorted(p.name.partition("-")[0] for p in store.folder.iterdir())
    assert kinds == ["current.json", "lock", "segment", "segment"]


def test_rights_are_the_users_alone(tmp_path: Path) -> None:
    store = saved(tmp_path / "deep" / "index")
    assert {p.stat().st_mode & 0o777 for p in store.folder.iterdir()} == {0o600}
    assert store.folder.stat().st_mode & 0o777 == 0o700
    assert store.base.stat().st_mode & 0o777 == 0o700


def damage(data: bytes, seed: int) -> bytes:
    """The data cut short, with flipped bits, or with bytes between."""
    draw = random.Random(seed)
    at = draw.randrange(len(data))
    kind = seed % 3
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]
    return data[:at] + draw.randbytes(draw.randrange(1, 40)) + data[at:]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 2))
def test_any_damage_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, seed: int, what: int
) -> None:
    base = tmp_path_factory.mktemp("damage")
    store = saved(base)
    victim = sorted(store.folder.iterdir())[(0, 1, 3)[what]]
    data = victim.read_bytes()
    victim.write_bytes(damage(data, seed))
    loaded = Store(base, ROOT).load()
    if loaded is not None:
        # Padding between columns may change; the graph may be lost alone.
        assert columns(loaded.segments[0]) == columns(segment_of())
        assert loaded.graph in (b"graph bytes", None)


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    store = saved(tmp_path)
    for victim in sorted(store.folder.iterdir()):
        data = victim.read_bytes()
        if victim.name == "lock":
            continue
        for size in {*range(0, len(data), max(1, len(data) // 150)), len(data) - 1}:
            victim.write_bytes(data[:size])
            loaded = Store(tmp_path, ROOT).load()
            assert loaded is None or (victim.name.startswith("graph") and loaded.graph is None)
        victim.write_bytes(data)
    assert Store(tmp_path, ROOT).load() is not None


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", ".hidden", 7])
def test_a_manifest_leads_nowhere_else(tmp_path: Path, name: object) -> None:
    import json

    from taskx.workspace.index import tables

    store = saved(tmp_path)
    path = store.folder / "current.json"
    manifest = json.loads(path.read_bytes().split(b"\n", 1)[1])
    manifest["segments"][0]["file"] = name
    body = json.dumps(manifest).encode()
    path.write_bytes(b"%016x\n" % tables.checksum(body) + body)
    assert Store(tmp_path, ROOT).load() is None


def test_another_writer_is_not_disturbed(tmp_path: Path) -> None:
    store = saved(tmp_path)
    with store._lock() as held:
        assert held
        assert not Store(tmp_path, ROOT).save(Stored([segment_of()], [None], [8]))
    loaded = Store(tmp_path, ROOT).load()
    assert loaded is not None
    assert loaded.scanned_ns == [7]


def test_a_reader_keeps_what_a_writer_replaces(tmp_path: Path) -> None:
    store = saved(tmp_path)
    loaded = Store(tmp_path, ROOT).load()
    assert loaded is not None
    assert store.save(Stored([segment_of({b"x.py": b"x = 1\n"})], [None], [9]))
    assert columns(loaded.segments[0]) == columns(segment_of())


def test_a_full_disk_leaves_the_old_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = saved(tmp_path)

    def full(descriptor: int, data: bytes, offset: int) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space"):
        store.save(Stored([segment_of({b"x.py": b"x = 1\n"})], [None], [9]))
    monkeypatch.undo()
    loaded = Store(tmp_path, ROOT).load()
    assert loaded is not None
    assert loaded.scanned_ns == [7]
    assert not [p for p in store.folder.iterdir() if p.name.startswith(".")]


WRITER = """
import sys
from pathlib import Path
from tests.unit.workspace.index.test_store import ROOT, segment_of
from taskx.workspace.index.store import Store, Stored
store = Store(Path(sys.argv[1]), ROOT)
segments = [segment_of(), segment_of({b"x.py": b"x = 1"})]
print("go", flush=True)
number = 0
while True:
    number += 1
    store.save(Stored([segments[number % 2]], [None], [number], b"graph" * 1000))
    store._written = []
"""


def test_200_kills_while_saving_leave_a_usable_index(tmp_path: Path) -> None:
    draw = random.Random(3)
    kills = 0
    while kills < 200:
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        pids = [writer.pid]
        # Stop and look at many moments of one process before it is killed: each stop is what a
        # kill there would leave behind.
        for _ in range(25):
            time.sleep(draw.random() * 0.004)
            os.kill(pids[0], signal.SIGSTOP)
            loaded = Store(tmp_path, ROOT).load()
            assert loaded is None or loaded.graph == b"graph" * 1000
            kills += 1
            os.kill(pids[0], signal.SIGCONT)
        writer.kill()
        writer.wait()
        writer.stdout.close()
        loaded = Store(tmp_path, ROOT).load()
        assert loaded is None or loaded.segments[0].n_files in (1, 30)
    assert saved(tmp_path).load() is not None


def test_old_and_many_indexes_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stores = []
    for number in range(4):
        store = Store(tmp_path, b"/root/%d" % number)
        assert store.save(Stored([segment_of()], [None], [1]))
        stores.append(store)
    day = 86400
    now = 100 * day
    for store, age in zip(stores, (40, 20, 10, 0), strict=True):
        for path in store.folder.iterdir():
            os.utime(path, (now - age * day, now - age * day))
    drop_old(tmp_path, stores[3].folder, now)
    assert [s.folder.exists() for s in stores] == [False, True, True, True]
    size = sum(p.stat().st_size for p in stores[3].folder.iterdir())
    monkeypatch.setattr(store_module, "MAX_TOTAL_BYTES", int(size * 2.5))
    drop_old(tmp_path, stores[3].folder, now)
    assert [s.folder.exists() for s in stores] == [False, False, True, True]


def test_a_writer_stops_when_told(tmp_path: Path) -> None:
    store = Store(tmp_path, ROOT)
    assert not store.save(Stored([segment_of()], [None], [1]), lambda: True)
    assert store.load() is None


DYING = """
import os, sys
from pathlib import Path
from taskx.workspace.index.journal import Journal
journal = Journal(Path(sys.argv[1]), 2)
slot = journal.slot(1)
journal.begin(1, b"good.py\\0bad.py\\0later.py")
slot[0] = 1
os.abort()
"""


def test_the_file_at_hand_of_a_dead_process_is_remembered(tmp_path: Path) -> None:
    folder, root = tmp_path / "store", tmp_path / "root"
    root.mkdir()
    for name in ("good.py", "bad.py", "later.py"):
        (root / name).write_text("x = 1\n")
    where = os.fsencode(root)
    for strikes in (1, 2):
        subprocess.run([sys.executable, "-c", DYING, str(folder)], check=False)
        assert collect(folder, where) == {b"bad.py": strikes}
        assert not [p for p in folder.iterdir() if p.name.startswith("journal-")]
    assert collect(folder, where) == {b"bad.py": 2}
    (root / "bad.py").write_text("x = 1; y = 2\n")
    assert collect(folder, where) == {}


def test_a_live_journal_is_left_alone(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 1)
    slot = journal.slot(0)
    journal.begin(0, b"a.py")
    slot[0] = 0
    assert collect(tmp_path, b"/") == {}
    assert [p.name[:8] for p in tmp_path.iterdir()] == ["journal-"]
    del slot
    journal.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"zz": [1,2,3,4]}', b'{"61": "x"}', b"\xff"])
def test_a_damaged_list_of_suspects_is_no_list(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "suspects.json").write_bytes(text)
    assert collect(tmp_path, b"/") == {}


def test_what_is_no_segment_is_damaged(tmp_path: Path) -> None:
    for text in (b"", b"x", b"taskx-segment-1\n" + bytes(20000), bytes(100000)):
        (tmp_path / "s").write_bytes(text)
        with pytest.raises(Damaged):
            read_segment(tmp_path / "s")
