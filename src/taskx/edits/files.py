"""Files as they are on disk, and the single steps that change them.

Every step works from an open folder, reached from the root without following a link, so that a
name swapped for a link meanwhile leads nowhere else. A step verifies what it replaces: when the
file is not the one that was expected, it is left as it is and the step is `stale`.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from taskx.edits.paths import strerror
from taskx.errors import ToolError

SUFFIX = ".task-x~"
_NOREPLACE, _EXCHANGE = 1, 2
SIZE_LIMIT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class State:
    """What is at a path. digest: SHA-256 of the content, or of a link's target; "" for others."""

    kind: Literal["absent", "file", "link", "directory"]
    digest: str = ""
    mode: int = 0

    def same(self, other: State) -> bool:
        """Whether both are the same thing with the same content, modes aside."""
        return self.kind == other.kind and self.digest == other.digest


ABSENT = State("absent")


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@contextlib.contextmanager
def folder(root: Path, rel: str, made: list[str] | None = None) -> Iterator[tuple[int, str]]:
    """The open folder that holds `rel`, and its last name.

    made: when given, missing folders are made, and their names added to it.
    Raises ToolError: `notFound`, or `outsideWorkspace` when a folder has become a link.
    """
    *parents, name = rel.split("/")
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for index, part in enumerate(parents):
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                inner = os.open(part, flags, dir_fd=fd)
            except FileNotFoundError:
                if made is None:
                    raise ToolError("notFound", f"no such folder: {rel}") from None
                os.mkdir(part, dir_fd=fd)
                made.append("/".join(parents[: index + 1]))
                inner = os.open(part, flags, dir_fd=fd)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR):
                    shown = "/".join(parents[: index + 1])
                    raise ToolError("invalidInput", f"{shown} is not a folder") from error
                raise
            os.close(fd)
            fd = inner
        yield fd, name
    except OSError as error:
        raise ToolError("failed", f"{rel}: {strerror(error)}") from error
    finally:
        os.close(fd)


def look(root: Path, rel: str) -> tuple[State, bytes]:
    """What is at `rel` now, with its content or link target. Raises ToolError."""
    if rel == ".":
        return State("directory"), b""
    try:
        with folder(root, rel) as (fd, name):
            return _look(fd, name, rel)
    except ToolError as error:
        if error.kind == "notFound":
            return ABSENT, b""
        raise


def _look(fd: int, name: str, rel: str) -> tuple[State, bytes]:
    try:
        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return ABSENT, b""
    if stat.S_ISLNK(status.st_mode):
        target = os.fsencode(os.readlink(name, dir_fd=fd))
        return State("link", digest_of(target)), target
    if stat.S_ISDIR(status.st_mode):
        return State("directory", "", stat.S_IMODE(status.st_mode)), b""
    if not stat.S_ISREG(status.st_mode):
        raise ToolError("invalidInput", f"{rel} is not a regular file")
    if status.st_size > SIZE_LIMIT_BYTES:
        raise ToolError("tooLarge", f"{rel} has {status.st_size} bytes; edits go up to 64 MiB")
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
    with open(file, "rb") as opened:
        data = opened.read()
    return State("file", digest_of(data), stat.S_IMODE(status.st_mode)), data


def put(
    root: Path, rel: str, before: State, after: State, data: bytes, temp: str, made: list[str]
) -> None:
    """Makes `rel` what `after` says, `data` being its content, if it is still as `before`.

    temp: name beside it that may be used, so that a recovery knows it. made: gets new folders.
    Raises ToolError `stale` when it was not as `before`; it is then untouched.
    """
    with folder(root, rel, made if after.kind != "absent" else None) as (fd, name):
        if after.kind == "directory":
            _make_directory(fd, name, rel)
        elif after.kind == "absent":
            _remove(fd, name, rel, before, temp)
        elif after.kind == "link":
            _expect(fd, name, rel, before)
            if before.kind != "absent":
                os.unlink(name, dir_fd=fd)
            os.symlink(os.fsdecode(data), name, dir_fd=fd)
        elif before.same(after) and before.kind == "file":
            _change_mode(fd, name, rel, before, after.mode)
        else:
            _write(fd, name, rel, before, after, data, temp)
        os.fsync(fd)


def temp_name(rel: str) -> str:
    """A fresh name beside `rel`."""
    name = os.fsencode(rel.rsplit("/", 1)[-1])[:120].decode("utf-8", "ignore")
    return f".{name}.{secrets.token_hex(6)}{SUFFIX}"


def _stale(rel: str) -> ToolError:
    return ToolError("stale", f"{rel} has changed meanwhile: read it again before you edit it")


def _expect(fd: int, name: str, rel: str, before: State) -> None:
    if not _look(fd, name, rel)[0].same(before):
        raise _stale(rel)


def _make_directory(fd: int, name: str, rel: str) -> None:
    try:
        os.mkdir(name, dir_fd=fd)
    except FileExistsError:
        raise _stale(rel) from None


def _change_mode(fd: int, name: str, rel: str, before: State, mode: int) -> None:
    _expect(fd, name, rel, before)
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
    try:
        os.fchmod(file, mode)
    finally:
        os.close(file)


def _remove(fd: int, name: str, rel: str, before: State, temp: str) -> None:
    if before.kind == "directory":
        try:
            os.rmdir(name, dir_fd=fd)
        except OSError as error:
            raise ToolError("failed", f"{rel}: {strerror(error)}") from error
        return
    _expect(fd, name, rel, before)
    os.rename(name, temp, src_dir_fd=fd, dst_dir_fd=fd)
    if not _look(fd, temp, rel)[0].same(before):
        rename(fd, temp, fd, name, replace=False)
        raise _stale(rel)
    os.unlink(temp, dir_fd=fd)


def _write(
    fd: int, name: str, rel: str, before: State, after: State, data: bytes, temp: str
) -> None:
    if before.kind == "absent":
        _write_temp(fd, temp, data, after.mode, None)
        try:
            rename(fd, temp, fd, name, replace=False)
        except FileExistsError:
            os.unlink(temp, dir_fd=fd)
            raise _stale(rel) from None
        return
    if before.kind != "file":
        raise ToolError("invalidInput", f"{rel} is a {before.kind}, not a file")
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    source = os.open(name, flags, dir_fd=fd)
    try:
        # Other names of the same file must see the change too: it is written in place.
        in_place = os.fstat(source).st_nlink > 1
        if not in_place:
            try:
                _write_temp(fd, temp, data, after.mode, source)
            except PermissionError:
                in_place = True
    finally:
        os.close(source)
    if in_place:
        _write_in_place(fd, name, rel, before, after, data)
        return
    try:
        if not _exchange(fd, temp, name):
            _expect(fd, name, rel, before)
            os.rename(temp, name, src_dir_fd=fd, dst_dir_fd=fd)
            return
        if not _look(fd, temp, rel)[0].same(before):
            _exchange(fd, temp, name)
            raise _stale(rel)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temp, dir_fd=fd)


def _write_temp(fd: int, temp: str, data: bytes, mode: int, source: int | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(temp, flags, 0o600, dir_fd=fd)
    try:
        with open(file, "wb", closefd=False) as opened:
            opened.write(data)
        if source is not None:
            _copy_ownership(source, file)
        os.fchmod(file, mode)
        os.fsync(file)
    except BaseException:
        os.unlink(temp, dir_fd=fd)
        raise
    finally:
        os.close(file)


def _copy_ownership(source: int, target: int) -> None:
    """Owner and extended attributes, as far as this user may set them."""
    status = os.fstat(source)
    with contextlib.suppress(OSError):
        os.fchown(target, -1, status.st_gid)
    with contextlib.suppress(OSError):
        os.fchown(target, status.st_uid, -1)
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for name in os.listxattr(source):
                with contextlib.suppress(OSError):
                    os.setxattr(target, name, os.getxattr(source, name))


def _write_in_place(fd: int, name: str, rel: str, before: State, after: State, data: bytes) -> None:
    file = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    with open(file, "r+b", buffering=0) as opened:
        if digest_of(opened.readall()) != before.digest:
            raise _stale(rel)
        opened.seek(0)
        view = memoryview(data)
        while view:
            view = view[opened.write(view) :]
        opened.truncate(len(data))
        if after.mode != before.mode:
            os.fchmod(file, after.mode)
        os.fsync(file)


@functools.cache
def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    function.argtypes = [
        ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint,
    ]  # fmt: skip
    function.restype = ctypes.c_int
    return function


def _rename2(from_fd: int, source: str, to_fd: int, target: str, flags: int) -> bool:
    """renameat2; False where the system or the file system has no such flag."""
    call = _renameat2()
    if call is None:
        return False
    if call(from_fd, os.fsencode(source), to_fd, os.fsencode(target), flags) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), target)


def _exchange(fd: int, a: str, b: str) -> bool:
    """Swaps two names in one step; what `b` was can be inspected before it is given up."""
    return _rename2(fd, a, fd, b, _EXCHANGE)


def rename(from_fd: int, source: str, to_fd: int, target: str, replace: bool) -> None:
    """Renames; without `replace`, raises FileExistsError when the target is there."""
    if not replace and _rename2(from_fd, source, to_fd, target, _NOREPLACE):
        return
    if not replace:
        try:
            os.stat(target, dir_fd=to_fd, follow_symlinks=False)
        except FileNotFoundError:
            pass
        else:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    os.rename(source, target, src_dir_fd=from_fd, dst_dir_fd=to_fd)


def move(root: Path, source: str, target: str, made: list[str]) -> None:
    """Renames a file, link or folder. Raises ToolError when the target is there already.

    A target that is the same file under another spelling (a change of case only) is allowed.
    """
    with folder(root, source) as (from_fd, old), folder(root, target, made) as (to_fd, new):
        same = False
        with contextlib.suppress(OSError):
            a = os.stat(old, dir_fd=from_fd, follow_symlinks=False)
            b = os.stat(new, dir_fd=to_fd, follow_symlinks=False)
            same = (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino) and a.st_nlink == 1
        try:
            rename(from_fd, old, to_fd, new, replace=same)
        except FileExistsError:
            raise ToolError("invalidInput", f"{target} exists already") from None
        os.fsync(from_fd)
        os.fsync(to_fd)
