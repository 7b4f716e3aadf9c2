"""The edit log of one workspace: every change goes through it, and can be taken back.

A change is journaled before it is made and after it is done, so that a runtime that is killed in
between leaves something that the next one can complete or take back. Methods block (disk, lock)
and may be called from any thread; they run one at a time.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from taskx.edits import diff, files, recovery
from taskx.edits.files import ABSENT, State
from taskx.edits.operation import (
    Change,
    Edit,
    Operation,
    Status,
    change_from,
    change_record,
    operation_from,
    operation_record,
)
from taskx.edits.store import MemoryStore, Record, Store
from taskx.errors import ToolError

# Protocol v1: beyond this many operations, contents of old settled ones are dropped.
OPERATIONS_KEPT = 500
# Records in the journal, per operation in it, before it is written anew.
REWRITE_FACTOR = 4
REWRITE_MIN = 2000


@dataclass(frozen=True)
class Pending:
    """Net change of one file that is not settled. None for an absent side."""

    path: str
    original: bytes | None
    current: bytes | None
    added: int
    removed: int
    operations: list[int]


@dataclass
class _Step:
    """A group of changes that is made as one: an edit, an undo or a revert."""

    kind: str
    changes: list[Change]
    operation: Operation | None = None
    # (operation id, index, status) that hold once the step is done.
    settles: list[tuple[int, int, Status]] = field(default_factory=list)
    renames: list[tuple[str, str]] = field(default_factory=list)


class EditLog:
    """root: real path of the workspace."""

    def __init__(self, root: Path, store: Store | None = None) -> None:
        self.root = root
        self._store = store or MemoryStore()
        self._lock = threading.RLock()
        self._next_id: int
        self._forget_all()
        with self._exclusive():
            pass

    # --- reading -----------------------------------------------------------------------------

    def operations(self) -> list[Operation]:
        """All entries, oldest first."""
        with self._exclusive():
            return list(self._operations.values())

    def content(self, state: State) -> bytes | None:
        """Kept content of a state; None for an absent one. Raises ToolError `unavailable`."""
        return self._store.get(state.digest) if state.kind in ("file", "link") else None

    def diff(self, operation: Operation, change: Change) -> str:
        """Unified diff of a change; "" when its contents are dropped or it is no file."""
        if operation.dropped or "directory" in (change.before.kind, change.after.kind):
            return ""
        try:
            old, new = self.content(change.before), self.content(change.after)
        except ToolError:
            return ""
        if old == new and change.before.mode != change.after.mode:
            return f"old mode {change.before.mode:o}\nnew mode {change.after.mode:o}\n"
        return diff.unified(change.path, change.path, old, new)

    def pending(self) -> list[Pending]:
        """Net unsettled change of each file, by path. A file back at its original is left out."""
        with self._exclusive():
            found = []
            for path in sorted(self._by_path):
                rows = self._pending_of(path)
                if not rows:
                    continue
                first = rows[0][1].before
                try:
                    current, data = files.look(self.root, path)
                except ToolError:
                    continue
                if current.same(first) and current.mode == first.mode:
                    continue
                if "directory" in (first.kind, current.kind):
                    if {first.kind, current.kind} == {"directory", "absent"}:
                        found.append(Pending(path, None, None, 0, 0, [row[0].id for row in rows]))
                    continue
                original = self.content(first)
                now = data if current.kind != "absent" else None
                added, removed = diff.counts(original or b"", now or b"")
                ids = [operation.id for operation, _ in rows]
                found.append(Pending(path, original, now, added, removed, ids))
            return found

    # --- changing ----------------------------------------------------------------------------

    def apply(
        self,
        edits: Sequence[Edit],
        *,
        tool: str,
        task_id: str = "",
        call_id: str = "",
        renames: Sequence[tuple[str, str]] = (),
    ) -> Operation:
        """Makes all `edits`, or none, as one operation.

        renames: (from, to) pairs that are done by renaming; the edits describe them too.
        Raises ToolError `stale` when a file is not as an edit's `before` says.
        """
        if not edits:
            raise ToolError("invalidInput", "there is nothing to change")
        with self._exclusive():
            targets = dict(renames)
            sources = {to: source for source, to in renames}
            changes = []
            for edit in edits:
                added, removed = _counts(edit)
                moved = targets.get(edit.path) or sources.get(edit.path)
                last = self._last.get(edit.path)
                linked = last is None or last.same(edit.before)
                changes.append(
                    Change(edit.path, edit.before, edit.after, moved, linked, added, removed)
                )
                for state, data in ((edit.before, edit.old), (edit.after, edit.new)):
                    if state.kind in ("file", "link"):
                        self._store.put(data)
            operation = Operation(
                self._next_id, tool, task_id, call_id, round(time.time() * 1000), changes
            )
            contents = {edit.path: edit.new for edit in edits}
            step = _Step("edit", changes, operation, renames=list(renames))
            self._make(step, contents)
            self._trim()
            return operation

    def keep(self, paths: Iterable[str] | None = None) -> list[str]:
        """Settles pending changes (of `paths`, files or folders, else of all); their paths."""
        with self._exclusive():
            chosen = self._chosen(paths)
            settles: list[tuple[int, int, Status]] = []
            for path in chosen:
                settles += [(o.id, o.changes.index(c), "kept") for o, c in self._pending_of(path)]
            if settles:
                self._record({"t": "settle", "settles": settles}, sync=True)
                self._settle(settles)
            self._trim()
            return chosen

    def revert(self, paths: Iterable[str] | None = None) -> tuple[list[str], list[str]]:
        """Takes back all pending changes of `paths` (else all). Returns (reverted, conflicts).

        A file that is not as the log left it is a conflict and stays as it is.
        """
        with self._exclusive():
            reverted, conflicts = [], []
            plan: list[tuple[Change, bytes]] = []
            settles: list[tuple[int, int, Status]] = []
            for path in self._chosen(paths):
                rows = self._pending_of(path)
                first = rows[0][1].before
                current, data = self._look(path)
                broken = any(not change.linked for _, change in rows[1:])
                last = self._last.get(path, rows[-1][1].after)
                if current is None or broken or not current.same(last):
                    if current is None or not current.same(first):
                        conflicts.append(path)
                        continue
                elif not current.same(first) or current.mode != first.mode:
                    change = self._back(path, current, data, first, rows)
                    if change is None:
                        conflicts.append(path)
                        continue
                    plan.append(change)
                reverted.append(path)
                settles += [(o.id, o.changes.index(c), "reverted") for o, c in rows]
            failed = self._make_back("revert", plan, settles)
            return [p for p in reverted if p not in failed], sorted([*conflicts, *failed])

    def undo(self, number: int) -> tuple[list[str], list[str]]:
        """Takes back one operation, beneath later ones where lines allow. (restored, conflicts).

        Raises ToolError `notFound` for an unknown operation, `unavailable` ("too old to undo")
        for one whose contents were dropped, `invalidInput` for one that is taken back already.
        """
        with self._exclusive():
            operation = self._operations.get(number)
            if operation is None:
                raise ToolError("notFound", f"no operation {number}")
            if operation.dropped:
                raise ToolError("unavailable", f"operation {number} is too old to undo")
            if operation.status in ("undone", "reverted"):
                raise ToolError("invalidInput", f"operation {number} is {operation.status} already")
            restored, conflicts = [], []
            plan: list[tuple[Change, bytes]] = []
            settles: list[tuple[int, int, Status]] = []
            for index, change in enumerate(operation.changes):
                if change.status in ("undone", "reverted"):
                    continue
                current, data = self._look(change.path)
                back = None if current is None else self._taken_back(change, current, data)
                if back is None:
                    conflicts.append(change.path)
                    continue
                if back is not _NOTHING:
                    plan.append(back)
                restored.append(change.path)
                settles.append((number, index, "undone"))
            failed = self._make_back("undo", plan, settles)
            return [p for p in restored if p not in failed], sorted([*conflicts, *failed])

    # --- taking back -------------------------------------------------------------------------

    def _look(self, path: str) -> tuple[State | None, bytes]:
        try:
            return files.look(self.root, path)
        except ToolError:
            return None, b""

    def _taken_back(
        self, change: Change, current: State, data: bytes
    ) -> tuple[Change, bytes] | None:
        """What takes `change` back from a file as it is now; None when that is a conflict."""
        before, after = change.before, change.after
        if current.same(before) and (current.mode == before.mode or before.same(after) is False):
            return _NOTHING
        if current.same(after):
            return self._back(change.path, current, data, before, [(None, change)])
        last = self._last.get(change.path)
        kinds = {before.kind, after.kind, current.kind}
        if kinds != {"file"} or last is None or not last.same(current):
            return None
        old, new = self.content(before), self.content(after)
        assert old is not None
        assert new is not None
        merged = diff.merge(new, data, old)
        if merged is None:
            return None
        mode = before.mode if current.mode == after.mode else current.mode
        target = State("file", self._store.put(merged), mode)
        added, removed = diff.counts(data, merged)
        return Change(change.path, current, target, None, True, added, removed), merged

    def _back(
        self,
        path: str,
        current: State,
        data: bytes,
        to: State,
        rows: Sequence[tuple[Operation | None, Change]],
    ) -> tuple[Change, bytes] | None:
        """The change that makes `path` `to`, given that its content is the log's own."""
        try:
            wanted = self.content(to) or b""
        except ToolError:
            return None
        mode = to.mode
        last = rows[-1][1].after
        if current.kind == "file" and to.kind == "file" and current.mode != last.mode:
            mode = current.mode
        target = State(to.kind, to.digest, mode)
        if current.kind in ("file", "link"):
            self._store.put(data)
        added, removed = diff.counts(data, wanted)
        back = Change(path, current, target, None, True, added, removed)
        if to.kind == "absent":
            back.folders = [name for _, change in rows for name in change.folders]
        return back, wanted

    def _make_back(
        self,
        kind: str,
        plan: list[tuple[Change, bytes]],
        settles: list[tuple[int, int, Status]],
    ) -> list[str]:
        """Makes a plan path by path; paths that changed at the last moment are returned."""
        failed = []
        # First what is written, then what is removed, so that nothing is ever in neither place.
        order = sorted(plan, key=lambda row: _order(row[0]))
        for change, data in order:
            own = [row for row in settles if self._path_of(row) == change.path]
            try:
                self._make(_Step(kind, [change], settles=own), {change.path: data})
            except ToolError as error:
                if error.kind not in ("stale", "failed", "notFound", "invalidInput"):
                    raise
                failed.append(change.path)
                continue
            if change.after.kind == "absent":
                self._remove_folders(change.folders)
        made = {change.path for change, _ in plan}
        rest = [row for row in settles if self._path_of(row) not in made]
        if rest:
            self._record({"t": "settle", "settles": rest}, sync=True)
            self._settle(rest)
        return failed

    def _path_of(self, row: tuple[int, int, Status]) -> str:
        return self._operations[row[0]].changes[row[1]].path

    def _remove_folders(self, names: list[str]) -> None:
        for name in sorted(set(names), key=len, reverse=True):
            with contextlib.suppress(OSError):
                os.rmdir(os.path.join(self.root, name))

    # --- making ------------------------------------------------------------------------------

    def _make(self, step: _Step, contents: dict[str, bytes]) -> None:
        """Journals, makes and completes a step; takes it back when it fails half-way."""
        renamed = {path for pair in step.renames for path in pair}
        for change in step.changes:
            if change.path not in renamed and not any(
                change.path.startswith(f"{path}/") for path in renamed
            ):
                change.temp = files.temp_name(change.path)
        self._record(self._begin_record(step), sync=True)
        done: list[Change] = []
        try:
            for source, target in step.renames:
                folders: list[str] = []
                files.move(self.root, source, target, folders)
                for change in step.changes:
                    if change.path == target:
                        change.folders = folders
            for change in sorted((c for c in step.changes if c.temp), key=_order):
                files.put(
                    self.root, change.path, change.before, change.after,
                    contents.get(change.path, b""), change.temp, change.folders,
                )  # fmt: skip
                done.append(change)
        except (ToolError, OSError):
            self._take_back(step, done)
            self._record({"t": "end", "ok": False}, sync=False)
            raise
        folders_made = [change.folders for change in step.changes]
        self._record({"t": "end", "ok": True, "folders": folders_made}, sync=False)
        self._complete(step)

    def _take_back(self, step: _Step, done: list[Change]) -> None:
        for change in reversed(done):
            data = self.content(change.before) or b""
            with contextlib.suppress(ToolError):
                files.put(
                    self.root, change.path, change.after, change.before, data, change.temp, []
                )
            self._remove_folders(change.folders)
        if not done:
            for source, target in reversed(step.renames):
                if not os.path.lexists(os.path.join(self.root, source)):
                    with contextlib.suppress(ToolError):
                        files.move(self.root, target, source, [])

    def _begin_record(self, step: _Step) -> Record:
        record: Record = {
            "t": "begin",
            "kind": step.kind,
            "settles": step.settles,
            "renames": step.renames,
        }
        if step.operation is not None:
            record["operation"] = operation_record(step.operation)
        else:
            record["changes"] = [change_record(change) for change in step.changes]
        return record

    def _complete(self, step: _Step) -> None:
        for change in step.changes:
            self._last[change.path] = change.after
        if step.operation is not None:
            self._add(step.operation)
        self._settle(step.settles)

    def _add(self, operation: Operation) -> None:
        self._operations[operation.id] = operation
        self._next_id = max(self._next_id, operation.id + 1)
        for change in operation.changes:
            self._by_path.setdefault(change.path, []).append((operation.id, change))
            if not operation.dropped:
                self._uses.update(_digests(change))

    def _settle(self, settles: Iterable[Sequence[Any]]) -> None:
        for number, index, status in settles:
            operation = self._operations.get(number)
            if operation is not None:
                operation.changes[index].status = status

    # --- choosing ----------------------------------------------------------------------------

    def _pending_of(self, path: str) -> list[tuple[Operation, Change]]:
        rows = self._by_path.get(path, [])
        return [(self._operations[n], c) for n, c in rows if c.status == "pending"]

    def _chosen(self, paths: Iterable[str] | None) -> list[str]:
        waiting = [path for path in sorted(self._by_path) if self._pending_of(path)]
        if paths is None:
            return waiting
        wanted = [path.rstrip("/") for path in paths]
        chosen = {
            path
            for path in waiting
            if any(w in (path, ".") or path.startswith(f"{w}/") for w in wanted)
        }
        # Both ends of a move go together: taking back one would lose or double the file.
        partners = {
            change.moved
            for path in chosen
            for _, change in self._pending_of(path)
            if change.moved is not None
        }
        return sorted(chosen | (partners & set(waiting)))

    # --- journal -----------------------------------------------------------------------------

    def _forget_all(self) -> None:
        self._operations: dict[int, Operation] = {}
        self._by_path: dict[str, list[tuple[int, Change]]] = {}
        self._last: dict[str, State] = {}
        self._uses: Counter[str] = Counter()
        self._open: Record | None = None
        self._next_id = 1
        self._records = 0
        self._old: list[int] = []
        self._trimmed = 0

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        """One caller at a time, in this process and among all; the log is then up to date."""
        with self._lock, self._store.locked():
            fresh, records = self._store.read_new()
            if fresh:
                self._forget_all()
            for record in records:
                self._replay(record)
            if self._open is not None:
                self._recover(self._open)
            yield

    def _record(self, record: Record, sync: bool) -> None:
        self._store.append(record, sync)
        self._records += 1

    def _replay(self, record: Record) -> None:
        self._records += 1
        kind = record["t"]
        if kind == "begin":
            self._open = record
        elif kind == "end":
            if self._open is not None and record["ok"]:
                step = self._step_of(self._open)
                for change, folders in zip(step.changes, record["folders"], strict=True):
                    change.folders = folders
                self._complete(step)
            self._open = None
        elif kind == "settle":
            self._settle(record["settles"])
        elif kind == "drop":
            for number in record["operations"]:
                self._drop(self._operations[number])
        elif kind == "operation":
            self._add(operation_from(record["operation"]))
        elif kind == "last":
            for path, row in record["states"].items():
                self._last[path] = State(*row)

    def _step_of(self, record: Record) -> _Step:
        operation = None
        if "operation" in record:
            operation = operation_from(record["operation"])
            changes = operation.changes
        else:
            changes = [change_from(change) for change in record["changes"]]
        settles = [(row[0], row[1], row[2]) for row in record["settles"]]
        renames = [(row[0], row[1]) for row in record["renames"]]
        return _Step(record["kind"], changes, operation, settles, renames)

    # --- recovery ----------------------------------------------------------------------------

    def _recover(self, record: Record) -> None:
        """Completes or takes back the step of a runtime that was killed in it."""
        step = self._step_of(record)
        if recovery.recover(self.root, step.changes, self.content):
            folders = [change.folders for change in step.changes]
            self._record({"t": "end", "ok": True, "folders": folders}, sync=True)
            self._complete(step)
        else:
            self._record({"t": "end", "ok": False}, sync=True)
        self._open = None

    # --- bounds ------------------------------------------------------------------------------

    def _trim(self) -> None:
        """Drops contents of old settled operations, and writes a long journal anew."""
        total = len(self._operations)
        if total > OPERATIONS_KEPT:
            numbers = list(self._operations)
            self._old += numbers[self._trimmed : total - OPERATIONS_KEPT]
            self._trimmed = total - OPERATIONS_KEPT
            drop = [n for n in self._old if self._operations[n].settled]
            if drop:
                self._record({"t": "drop", "operations": drop}, sync=False)
                for number in drop:
                    self._drop(self._operations[number])
                self._old = [n for n in self._old if not self._operations[n].dropped]
        if self._records > REWRITE_MIN + REWRITE_FACTOR * total:
            rows = [
                {"t": "operation", "operation": operation_record(operation)}
                for operation in self._operations.values()
            ]
            states = {path: [s.kind, s.digest, s.mode] for path, s in self._last.items()}
            self._store.rewrite([*rows, {"t": "last", "states": states}])
            self._records = len(rows) + 1

    def _drop(self, operation: Operation) -> None:
        if operation.dropped:
            return
        operation.dropped = True
        for change in operation.changes:
            for digest in _digests(change):
                self._uses[digest] -= 1
                if self._uses[digest] <= 0:
                    del self._uses[digest]
                    self._store.forget(digest)


_NOTHING = (Change("", ABSENT, ABSENT), b"")


def _counts(edit: Edit) -> tuple[int, int]:
    if {edit.before.kind, edit.after.kind} & {"link", "directory"}:
        return 0, 0
    return diff.counts(edit.old, edit.new)


def _digests(change: Change) -> list[str]:
    return [state.digest for state in (change.before, change.after) if state.digest]


def _order(change: Change) -> tuple[int, int]:
    """Folders from the outside in, files, removals, folders' removal from the inside out."""
    depth = change.path.count("/")
    if change.after.kind == "directory":
        return 0, depth
    if change.after.kind != "absent":
        return 1, 0
    return (3, -depth) if change.before.kind == "directory" else (2, 0)
