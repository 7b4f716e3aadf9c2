"""The index of one root on disk: `<base>/<key>/`, the key being a hash of the root's real path.

    current.json    what the index consists of: format, root, segment files, masks, graph file
    segment-*.bin   immutable columns (segment_file.py)
    graph-*.bin     what the graph made of them; bytes with a checksum
    suspects.json   files that killed a process (journal.py)
    lock            held by the process that writes

Everything is written beside and renamed; `current.json` comes last. Readers take no lock: what
they have mapped stays theirs when a writer removes its name. Folders are 0700, files 0600. What
is damaged, of another format or of another root is as good as not there.

FORMAT 1: the first.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import json
import logging
import os
import secrets
import shutil
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from taskx import __version__
from taskx.private_files import make_private_folder, write_atomically
from taskx.workspace.files.languages import TABLE_VERSION
from taskx.workspace.index import tables
from taskx.workspace.index.segment import Segment
from taskx.workspace.index.segment_file import STORED, Damaged, read_segment, write_segment

FORMAT = 1
MAX_AGE_DAYS = 30
MAX_TOTAL_BYTES = 5 << 30

log = logging.getLogger(__name__)


@dataclass
class Stored:
    """What a store holds. scanned_ns: per segment, when the scan behind it began."""

    segments: list[Segment] = field(default_factory=list)
    live: list[bytes | None] = field(default_factory=list)
    scanned_ns: list[int] = field(default_factory=list)
    graph: bytes | None = None


class Store:
    """The folder of one root. Methods may be called from any thread, one at a time."""

    def __init__(self, base: Path, root: bytes) -> None:
        self.base = base
        self.root = root
        self.folder = base / hashlib.sha256(root).hexdigest()[:32]
        # Segments that are on disk, with their files.
        self._written: list[tuple[Segment, str]] = []

    def load(self) -> Stored | None:
        """What was saved last; None when there is nothing that can be trusted."""
        for _ in range(3):
            try:
                manifest = self._manifest()
                return self._open(manifest) if manifest is not None else None
            except FileNotFoundError:
                continue  # A writer was faster: read its work.
            except (OSError, Damaged, ValueError, MemoryError) as error:
                log.warning(
                    "the index cache of %s is not usable: %s", os.fsdecode(self.root), error
                )
                return None
        return None

    def _manifest(self) -> dict[str, Any] | None:
        try:
            text = (self.folder / "current.json").read_bytes()
        except FileNotFoundError:
            return None
        head, _, body = text.partition(b"\n")
        if head != b"%016x" % tables.checksum(body):
            raise Damaged("current.json is damaged")
        manifest = json.loads(body)
        if manifest.get("format") != FORMAT or manifest.get("columns") != columns_id():
            raise Damaged("it is of another version")
        if manifest.get("root") != self.root.hex():
            raise Damaged("it is of another root")
        return dict(manifest)

    def _open(self, manifest: dict[str, Any]) -> Stored:
        stored = Stored()
        written = []
        for row in manifest["segments"]:
            segment = read_segment(self.folder / _plain(row["file"]))
            live = row["live"]
            mask = zlib.decompress(base64.b64decode(live)) if live is not None else None
            if mask is not None and len(mask) != segment.n_files:
                raise Damaged("a mask has the wrong length")
            stored.segments.append(segment)
            stored.live.append(mask)
            stored.scanned_ns.append(int(row["scannedNs"]))
            written.append((segment, row["file"]))
        self._written = written
        if manifest.get("graph") is not None:
            with contextlib.suppress(Damaged):
                stored.graph = read_blob(self.folder / _plain(manifest["graph"]))
        return stored

    def save(self, stored: Stored, cancelled: Callable[[], bool] = lambda: False) -> bool:
        """Writes the segments that are not on disk yet, then makes the whole current.

        False when cancelled or when another process is writing. Raises OSError.
        """
        make_private_folder(self.folder)
        with self._lock() as held:
            if not held:
                return False
            written = []
            for segment in stored.segments:
                name = self._name_of(segment)
                if name is None:
                    name = f"segment-{secrets.token_hex(8)}.bin"
                    if not write_segment(segment, self.folder / name, cancelled):
                        return False
                written.append((segment, name))
            names = [name for _, name in written]
            graph = None
            if stored.graph is not None:
                graph = f"graph-{secrets.token_hex(8)}.bin"
                write_blob(self.folder / graph, stored.graph)
            self._publish(stored, names, graph)
            self._written = written
            self._sweep({*names, graph, "current.json", "lock", "suspects.json"})
        return True

    def map_written(self) -> None:
        """Segments that were built in memory now use the files they were written to."""
        for segment, name in self._written:
            if segment.owner is None:
                with contextlib.suppress(OSError, Damaged):
                    segment.adopt(read_segment(self.folder / name))

    def _name_of(self, segment: Segment) -> str | None:
        for known, name in self._written:
            if known is segment and (self.folder / name).exists():
                return name
        return None

    def _publish(self, stored: Stored, names: list[str], graph: str | None) -> None:
        rows = [
            {
                "file": name,
                "scannedNs": scanned,
                "live": base64.b64encode(zlib.compress(live, 1)).decode() if live else None,
            }
            for name, scanned, live in zip(names, stored.scanned_ns, stored.live, strict=True)
        ]
        manifest = {
            "format": FORMAT,
            "columns": columns_id(),
            "root": self.root.hex(),
            "path": self.root.decode("utf-8", "replace"),
            "segments": rows,
            "graph": graph,
        }
        body = json.dumps(manifest).encode()
        head = b"%016x\n" % tables.checksum(body)
        write_atomically(self.folder / "current.json", head + body, sync=False)

    @contextlib.contextmanager
    def _lock(self) -> Iterator[bool]:
        descriptor = os.open(self.folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True
        finally:
            os.close(descriptor)

    def _sweep(self, keep: set[str | None]) -> None:
        """Removes what no manifest names. Journals belong to live processes."""
        for entry in os.scandir(self.folder):
            if entry.name not in keep and not entry.name.startswith("journal-"):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)

    def drop_old(self, now: float | None = None) -> None:
        """Removes indexes not used for MAX_AGE_DAYS, and the oldest above MAX_TOTAL_BYTES."""
        drop_old(self.base, self.folder, time.time() if now is None else now)

    def mark_used(self) -> None:
        with contextlib.suppress(OSError):
            os.utime(self.folder / "current.json")


def columns_id() -> str:
    """Changes with the columns and with what fills them, so that no other index is read."""
    filled_by = (STORED, TABLE_VERSION, __version__)
    return hashlib.sha256(repr(filled_by).encode()).hexdigest()[:16]


def drop_old(base: Path, current: Path | None, now: float) -> None:
    found = []
    with contextlib.suppress(OSError):
        for folder in sorted(base.iterdir()):
            if folder == current or len(folder.name) != 32 or folder.is_symlink():
                continue
            with contextlib.suppress(OSError):
                entries = [entry.stat() for entry in os.scandir(folder)]
                used = max((e.st_mtime for e in entries), default=folder.stat().st_mtime)
                found.append((used, sum(e.st_size for e in entries), folder))
    found.sort(key=lambda row: row[0])
    total = sum(size for _, size, _ in found)
    if current is not None:
        with contextlib.suppress(OSError):
            total += sum(entry.stat().st_size for entry in os.scandir(current))
    for used, size, folder in found:
        if now - used > MAX_AGE_DAYS * 86400 or total > MAX_TOTAL_BYTES:
            shutil.rmtree(folder, ignore_errors=True)
            total -= size


def _plain(name: Any) -> str:
    """A file name of this folder. Raises Damaged for anything that leads elsewhere."""
    if not isinstance(name, str) or "/" in name or name.startswith("."):
        raise Damaged("a file name leads elsewhere")
    return name


def write_blob(path: Path, data: bytes) -> None:
    checksum = tables.checksum(data).to_bytes(8, "little")
    write_atomically(path, checksum + data, sync=False)


def read_blob(path: Path) -> bytes:
    """Raises OSError, Damaged."""
    data = path.read_bytes()
    if len(data) < 8 or tables.checksum(data[8:]) != int.from_bytes(data[:8], "little"):
        raise Damaged(f"{path.name} is damaged")
    return data[8:]


def cache_base(data_dir: Path | None, environ: Mapping[str, str]) -> Path | None:
    """Where indexes are kept: `dataDir/index`, else `$XDG_CACHE_HOME/task-x/index`."""
    if data_dir is not None:
        return data_dir / "index"
    home = environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(home):
        user = environ.get("HOME", "")
        if not os.path.isabs(user):
            return None
        home = os.path.join(user, ".cache")
    return Path(home) / "task-x" / "index"
