"""Patches, unified and V4A, applied to bytes."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from taskx.edits import diff, patch
from taskx.errors import ToolError


def v4a(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


@pytest.mark.parametrize(
    ("data", "text", "result"),
    [
        (b"a\nb\nc\n", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n", b"a\nx\nc\n"),
        (b"a\r\nb\r\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n a\n+x\n b\n", b"a\r\nx\r\nb\r\n"),
        (b"a\nb\n", "--- f\n+++ f\n@@ -9,9 +9,9 @@\n a\n-b\n+x\n", b"a\nx\n"),
        (b"a\nb", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+x\n", b"a\nx"),
        (
            b"a\nb",
            "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+b\n",
            b"a\nb\n",
        ),
        (
            b"a\nb\n",
            "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-b\n+b\n\\ No newline at end of file\n",
            b"a\nb",
        ),
        (b"x\nx\nx\n", "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-x\n+y\n", b"x\ny\nx\n"),
        (b"a\n", "--- a/f\n+++ b/f\n@@ -1,0 +2 @@\n+b\n", b"a\nb\n"),
        (b"a \nb\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n", b"a\nc\n"),
        (b"a\n\nb\n", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", b"a\n\nc\n"),
        (b"caf\xe9\nb\n", "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-b\n+c\n", b"caf\xe9\nc\n"),
        (b"a\nb\nc\n", v4a("*** Update File: f", "@@", " a", "-b", "+x", " c"), b"a\nx\nc\n"),
        (b"a\nb\n", v4a("*** Update File: f", "-b", "+x"), b"a\nx\n"),
        (
            b"def f():\n    x\n\ndef g():\n    x\n",
            v4a("*** Update File: f", "@@ def g():", "-    x", "+    y"),
            b"def f():\n    x\n\ndef g():\n    y\n",
        ),
        (
            b"class A:\n  def f():\n    x\nclass B:\n  def f():\n    x\n",
            v4a("*** Update File: f", "@@ class B:", "@@   def f():", "-    x", "+    y"),
            b"class A:\n  def f():\n    x\nclass B:\n  def f():\n    y\n",
        ),
        (
            b"x\na\nx\n",
            v4a("*** Update File: f", "@@", "-x", "+y", "*** End of File"),
            b"x\na\ny\n",
        ),
        (
            b"a\nb\na\nc\n",
            v4a("*** Update File: f", "@@", "-b", "+B", "@@", "-c", "+C"),
            b"a\nB\na\nC\n",
        ),
    ],
)
def test_patch_gives(data: bytes, text: str, result: bytes) -> None:
    [file] = patch.parse(text)
    assert patch.apply(data, file) == result


@pytest.mark.parametrize(
    ("data", "text", "message"),
    [
        (b"x\na\nx\n", v4a("*** Update File: f", "@@", "-x", "+y"), "in 2 places (lines 1, 3)"),
        (b"x\na\nx\n", "--- a/f\n+++ b/f\n@@ -9 +9 @@\n-x\n+y\n", "in 2 places"),
        (b"a\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-q\n+y\n", "not in the file"),
        (b"a\n", v4a("*** Update File: f", "@@", "?a"), "patch line 4"),
        (b"a\n", "*** Begin Patch\n*** Update File: f\n-a\n+b\n", "cut off"),
        (b"a\n", "  \n", "empty"),
        (b"a\n", "hello\n", "names no file"),
        (b"a\n", "@@ -1 +1 @@\n-a\n+b\n", "before the first hunk"),
        (b"a\n", "diff --git a/f b/f\nGIT binary patch\n", "binary"),
    ],
)
def test_patch_is_refused(data: bytes, text: str, message: str) -> None:
    def attempt() -> None:
        [file] = patch.parse(text)
        patch.apply(data, file)

    with pytest.raises(ToolError) as caught:
        attempt()
    assert caught.value.kind == "invalidInput"
    assert message in caught.value.message


def test_patch_names_files() -> None:
    unified = (
        "diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n"
        "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
        "diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\n"
        'diff --git "a/caf\\303\\251" "b/caf\\303\\251"\n'
        '--- "a/caf\\303\\251"\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n'
        "--- /dev/null\n+++ b/made\n@@ -0,0 +1 @@\n+hi\n"
    )
    seen = [(f.kind, f.path, f.move_to, f.mode) for f in patch.parse(unified)]
    assert seen == [
        ("update", "old", "new", None),
        ("update", "run", None, 0o755),
        ("add", "empty", None, 0o644),
        ("delete", "café", None, None),
        ("add", "made", None, None),
    ]
    form = v4a(
        "*** Add File: a", "+x", "*** Delete File: b", "*** Update File: c", "*** Move to: d"
    )
    seen = [(f.kind, f.path, f.move_to, f.mode) for f in patch.parse(form)]
    assert seen == [
        ("add", "a", None, None),
        ("delete", "b", None, None),
        ("update", "c", "d", None),
    ]
    assert patch.added(patch.parse(form)[0]) == "x\n"


def lines_of(rng: random.Random) -> list[str]:
    return [rng.choice("abcdefgh") for _ in range(rng.randrange(25))]


def content(rng: random.Random, lines: list[str]) -> bytes:
    text = "".join(f"{line}\n" for line in lines)
    return (text[:-1] if rng.random() < 0.3 else text).encode()


def test_diffs_agree_with_git_apply_and_apply_back(tmp_path: Path) -> None:
    rng = random.Random(7)
    checked = 0
    for number in range(300):
        base = lines_of(rng)
        other = [line for line in base if rng.random() < 0.8]
        for _ in range(rng.randrange(4)):
            other.insert(rng.randint(0, len(other)), rng.choice("XYZ"))
        old, new = content(rng, base), content(rng, other)
        text = diff.unified("f", "f", old, new)
        if not text:
            assert old == new
            continue
        added, removed = diff.counts(old, new)
        rows = text.split("\n")[2:]
        assert added == sum(row.startswith("+") for row in rows)
        assert removed == sum(row.startswith("-") for row in rows)
        [file] = patch.parse(text)
        assert patch.apply(old, file) == new, text
        if number % 10 == 0 and new and old:
            (tmp_path / "f").write_bytes(old)
            subprocess.run(["git", "apply", "-"], input=text.encode(), cwd=tmp_path, check=True)
            assert (tmp_path / "f").read_bytes() == new
            checked += 1
    assert checked > 15


def test_git_diffs_apply(tmp_path: Path) -> None:
    rng = random.Random(8)
    for _ in range(40):
        base = lines_of(rng)
        other = [line if rng.random() < 0.8 else rng.choice("XYZ") for line in base]
        old, new = content(rng, base), content(rng, other)
        (tmp_path / "old").write_bytes(old)
        (tmp_path / "new").write_bytes(new)
        made = subprocess.run(
            ["git", "diff", "--no-index", "old", "new"], cwd=tmp_path, capture_output=True
        ).stdout.decode()
        if made:
            [file] = patch.parse(made)
            assert patch.apply(old, file) == new


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result"),
    [
        (b"1\n2\n3\n4\n5\n", b"x\n2\n3\n4\n5\n", b"1\n2\n3\n4\ny\n", b"x\n2\n3\n4\ny\n"),
        (b"1\n2\n3\n", b"x\n2\n3\n", b"y\n2\n3\n", None),
        (b"1\n2\n3\n", b"x\n2\n3\n", b"x\n2\n3\n", b"x\n2\n3\n"),
        (b"1\n2\n3\n", b"1\n3\n", b"1\n2\n3\n", b"1\n3\n"),
        (b"1\n2\n3\n", b"1\nx\n3\n", b"1\n2\n3\n4\n", b"1\nx\n3\n4\n"),
        (b"1\n2\n", b"1\nx\n2\n", b"1\ny\n2\n", None),
        (b"1\r\n2\n3\xe9\n", b"0\n1\r\n2\n3\xe9\n", b"1\r\n2\n4\xe9\n", b"0\n1\r\n2\n4\xe9\n"),
        (b"a\0", b"b\0", b"c\0", None),
    ],
)
def test_E8_merge(base: bytes, ours: bytes, theirs: bytes, result: bytes | None) -> None:
    assert diff.merge(base, ours, theirs) == result
    assert diff.merge(base, theirs, ours) == result
