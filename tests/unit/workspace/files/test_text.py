"""Decoding, and reading a file below a root at a moment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from taskx.workspace.files.text import MAX_FILE_BYTES, decode, open_below, read_below

from .trees import make

DECODED = [
    (b"", ("", "utf-8")),
    (b"a\r\nb\n", ("a\r\nb\n", "utf-8")),
    ("\ufeffé\n".encode(), ("é\n", "utf-8")),
    (b"caf\xe9\n", ("café\n", "latin-1")),
    (b"\xff\xfe" + "é\n".encode("utf-16-le"), ("é\n", "utf-16-le")),
    (b"\xfe\xff" + "é\n".encode("utf-16-be"), ("é\n", "utf-16-be")),
    (b"\xff\xfe" + b"\x00\xd8a\x00", ("\ufffda", "utf-16-le")),
    (b'x = "\0"\n', ('x = " "\n', "utf-8")),
    (b"\0" * 100, None),
    (b"\x01\x02\x03\x04" * 40, None),
    (b"\xff\xfe\0\0a\0\0\0", None),
    (b"\x1b[31mred\x1b[0m\n" * 40, ("\x1b[31mred\x1b[0m\n" * 40, "utf-8")),
]


@pytest.mark.parametrize(("data", "expected"), DECODED)
def test_bytes_are_decoded_by_the_rules_of_the_index(
    data: bytes, expected: tuple[str, str] | None
) -> None:
    # The four-byte mark is no UTF-16: its NUL bytes make it binary.
    assert decode(data, code=not data.startswith(b"\xff\xfe\0\0")) == expected


def test_a_nul_makes_plain_text_binary() -> None:
    assert decode(b"a\0b" + b"c" * 500, code=False) is None
    assert decode(b"a\0b" + b"c" * 500, code=True) == ("a b" + "c" * 500, "utf-8")


def test_a_file_is_read_with_the_stat_of_its_bytes(tmp_path: Path) -> None:
    make(tmp_path, {"sub/a.py": "x = 1\n", b"caf\xe9.py": b"y"})
    os.utime(tmp_path / "sub/a.py", ns=(5, 1_000_000_007))
    found = read_below(os.fsencode(tmp_path), b"sub/a.py")
    assert found is not None
    assert (found.text, found.encoding, found.size, found.mtime_ns) == (
        "x = 1\n",
        "utf-8",
        6,
        1_000_000_007,
    )
    odd = read_below(os.fsencode(tmp_path), b"caf\xe9.py")
    assert odd is not None
    assert odd.text == "y"


def test_only_regular_files_below_the_root_are_read(tmp_path: Path) -> None:
    root = make(tmp_path / "root", {"a.py": "a", "sub/b.py": "b"})
    make(tmp_path, {"out/secret": "s"})
    (root / "link.py").symlink_to("a.py")
    (root / "folder").symlink_to("sub")
    (root / "out").symlink_to("../out")
    os.mkfifo(root / "fifo.py")
    refused = [
        b"link.py",
        b"folder/b.py",
        b"out/secret",
        b"../out/secret",
        b"sub/../a.py",
        b"/etc/passwd",
        b"fifo.py",
        b"sub",
        b"gone",
        b"a.py/b",
        b"",
        b"a\0b",
    ]
    assert [path for path in refused if open_below(os.fsencode(root), path) is not None] == []
    assert open_below(os.fsencode(tmp_path / "gone"), b"a.py") is None


def test_too_large_and_binary_files_have_no_text(tmp_path: Path) -> None:
    make(tmp_path, {"big": b"a" * (MAX_FILE_BYTES + 1), "limit": b"a" * MAX_FILE_BYTES})
    make(tmp_path, {"bin": b"\0" * 50})
    root = os.fsencode(tmp_path)
    assert read_below(root, b"big") is None
    assert read_below(root, b"bin") is None
    limit = read_below(root, b"limit")
    assert limit is not None
    assert limit.size == MAX_FILE_BYTES


def test_a_file_that_changes_while_it_is_read_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, {"a.log": "1"})
    reads = []
    real = os.read

    def read_and_append(fd: int, n: int) -> bytes:
        data = real(fd, n)
        if data:
            reads.append(data)
            with open(tmp_path / "a.log", "ab") as log:
                log.write(b"more")
        return data

    monkeypatch.setattr("taskx.workspace.files.text.os.read", read_and_append)
    assert read_below(os.fsencode(tmp_path), b"a.log") is None
    assert len(reads) >= 2
