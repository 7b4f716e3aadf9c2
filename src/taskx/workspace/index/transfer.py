"""An index as one file, to be made on one machine and opened on others.

The file is a tar archive, compressed: `export.json` (format, scans, masks), then the segment files.
On import the segments are checked as those of the store are. Paths are relative to the root, so
another place is no matter; times are, since a checkout has its own. So each file that has its size
is hashed, and takes over its row when the content is the same; only the rest is parsed.
"""

from __future__ import annotations

import base64
import json
import os
import tarfile
import tempfile
import zlib
from io import BytesIO
from pathlib import Path

from taskx._native.cancel import CancelFlag
from taskx.workspace.files.scan import Scan, Scanner, ScanOptions
from taskx.workspace.index import tables
from taskx.workspace.index.segment import Segment, pack
from taskx.workspace.index.segment_file import Damaged, read_segment, write_segment
from taskx.workspace.index.snapshot import Snapshot
from taskx.workspace.index.store import Store, Stored, columns_id
from taskx.workspace.index.symbols import content_hash

FORMAT = 1
COMPRESSION = 1


def export_index(snapshot: Snapshot, file: Path) -> None:
    """Writes the index beside `file` and renames it. Raises OSError."""
    rows = []
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with (
            tempfile.TemporaryDirectory(dir=file.parent) as folder,
            tarfile.open(temporary, "w:gz", compresslevel=COMPRESSION) as archive,
        ):
            for number, segment in enumerate(snapshot.segments):
                path = Path(folder) / f"segment-{number}.bin"
                write_segment(segment, path, lambda: False)
                mask = snapshot.live[number]
                live = base64.b64encode(zlib.compress(mask)).decode() if mask else None
                rows.append({"file": path.name, "live": live})
            head = json.dumps({"format": FORMAT, "columns": columns_id(), "segments": rows})
            entry = tarfile.TarInfo("export.json")
            entry.size = len(head)
            archive.addfile(entry, BytesIO(head.encode()))
            for row in rows:
                archive.add(Path(folder) / str(row["file"]), str(row["file"]))
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)


def import_index(file: Path, root: bytes, scan: Scan, store: Store) -> int:
    """Puts an exported index into the store of a root; the next open reads it from there.

    scan: a fresh one of the root. Returns how many files will not have to be parsed.
    Raises OSError, and Damaged for a file that is no export of this version.
    """
    with tempfile.TemporaryDirectory() as scratch:
        snapshot = _unpack(file, Path(scratch), root)
        stored = Stored()
        kept = 0
        for segment, live in zip(snapshot.segments, snapshot.live, strict=True):
            moved, mask = _with_local_times(segment, live, root, scan)
            kept += mask.count(1)
            stored.segments.append(moved)
            stored.live.append(mask)
            # Equal content was just seen, so no time is too near.
            stored.scanned_ns.append(1 << 62)
        if not store.save(stored):
            raise OSError("another process is writing this index")
    return kept


def import_into_cache(file: Path, root: bytes, options: ScanOptions, cache: Path) -> int:
    """`import_index` for a folder as it is now. Blocks; raises as that does."""
    scan = Scanner(root, options).scan(CancelFlag())
    return import_index(file, root, scan, Store(cache, root))


def _unpack(file: Path, scratch: Path, root: bytes) -> Snapshot:
    try:
        with tarfile.open(file, "r:gz") as archive:
            archive.extractall(scratch, filter="data")
        head = json.loads((scratch / "export.json").read_bytes())
        if head["format"] != FORMAT or head["columns"] != columns_id():
            raise Damaged("it is of another version")
        segments, live = [], []
        for row in head["segments"]:
            segment = read_segment(scratch / os.path.basename(row["file"]))
            mask = zlib.decompress(base64.b64decode(row["live"])) if row["live"] else None
            if mask is not None and len(mask) != segment.n_files:
                raise Damaged("a mask has the wrong length")
            segments.append(segment)
            live.append(mask)
    except (tarfile.TarError, zlib.error, EOFError, ValueError, KeyError, TypeError) as error:
        raise Damaged(f"{file.name} is no exported index") from error
    return Snapshot(root, segments, live)


def _with_local_times(
    segment: Segment, live: bytes | None, root: bytes, scan: Scan
) -> tuple[Segment, bytes]:
    """The segment with the times of the files here, and a mask of those with the same content."""
    times = list(segment.mtime_ns)
    mask = bytearray(segment.n_files)
    for row in range(scan.n_files):
        at = segment.find(scan.path(row))
        if at < 0 or (live is not None and not live[at]) or segment.size[at] != scan.size[row]:
            continue
        try:
            with open(os.path.join(root, scan.path(row)), "rb") as source:
                same = content_hash(source.read()) == segment.content_hash[at]
        except OSError:
            continue
        if same:
            mask[at] = 1
            times[at] = scan.mtime_ns[row]
    columns = {name: getattr(segment, name) for name, _ in tables.COLUMNS if name != "mtime_ns"}
    return Segment({**columns, "mtime_ns": pack("q", times)}), bytes(mask)
