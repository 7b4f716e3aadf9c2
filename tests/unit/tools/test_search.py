"""search_text finds what ripgrep finds: the same files, lines and texts."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from taskx.edits.log import EditLog
from taskx.errors import ToolError
from taskx.process.launch import Launcher
from taskx.tools import registry, search_text
from taskx.tools.context import ToolContext

Line = tuple[str, int, str]

# Debian package `ripgrep`; the tests' own container has it.
RG = shutil.which("rg") or "rg"


def ours(root: Path, pattern: str, regex: bool, ignore_case: bool, paths: list[str] | None = None
) -> list[Line]:  # fmt: skip
    launcher = Launcher(os.environ)
    context = ToolContext(
        root=root, edits=EditLog(root), launcher=launcher, spill=root.parent / "spill"
    )
    given = {"pattern": pattern, "regex": regex, "ignoreCase": ignore_case, "limit": 2000}
    if paths is not None:
        given["paths"] = paths
    result = asyncio.run(registry.call("search_text", given, context))
    launcher.close()
    return [(row["path"], row["line"], row["text"]) for row in result.data["matches"]]


def theirs(root: Path, pattern: str, regex: bool, ignore_case: bool) -> list[Line]:
    argv = [RG, "--no-config", "--no-heading", "--line-number", "--sort=path", "--hidden"]
    argv += ["--null", "--glob=!.git", "--no-messages", "--no-require-git"]
    argv += [] if regex else ["--fixed-strings"]
    argv += ["--ignore-case"] if ignore_case else []
    done = subprocess.run([*argv, "-e", pattern, "."], cwd=root, capture_output=True, check=False)
    rows = []
    for row in done.stdout.decode("utf-8", "replace").split("\n"):
        if "\0" in row:
            path, _, rest = row.partition("\0")
            number, _, text = rest.partition(":")
            rows.append((path.removeprefix("./"), int(number), text.removesuffix("\r")))
    return rows


def by_path(rows: list[Line]) -> list[Line]:
    return sorted(rows, key=lambda row: (os.fsencode(row[0]), row[1]))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("search") / "ws"
    files: dict[str, bytes] = {
        "a.py": b"def parse(x):\n    return x.parse()\n\n# Parse all\nparser = parse\n",
        "crlf.txt": b"one\r\ntwo words\r\n\r\nthree\r\n",
        "no_newline.txt": b"first\nlast parse",
        "empty.txt": b"",
        "utf8.txt": "naïve café\nΣίσυφος ΣΊΣΥΦΟΣ\n日本語 テスト\nx\u00a0y\n".encode(),  # noqa: RUF001
        "bom.txt": b"\xef\xbb\xbfparse bom\n",
        "utf16.txt": b"\xff\xfe" + "parse utf16\r\nnext\r\n".encode("utf-16-le"),
        "latin.txt": b"caf\xe9 parse\nplain\n",
        "binary.bin": b"parse\0parse\n",
        "long.txt": b"y" * 300 + b"\n",
        ".hidden/x.txt": b"parse hidden\n",
        "ignored/x.txt": b"parse ignored\n",
        "sub/.gitignore": b"*.log\n!keep.log\n",
        "sub/a.log": b"parse log\n",
        "sub/keep.log": b"parse keep\n",
        "sub/odd name [1].txt": b"parse (odd) [x] {y} a+b a.b $5 ^top\n",
        ".gitignore": b"ignored/\n",
    }
    rng = random.Random(4)
    words = ["parse", "Parse", "x", "foo_bar", "12", "é", "(", "", "\t", "a.b", "end"]
    for number in range(60):
        lines = [" ".join(rng.choices(words, k=rng.randrange(6))) for _ in range(rng.randrange(9))]
        files[f"gen/{number % 7}/{number}.txt"] = "\n".join(lines).encode()
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root


@pytest.mark.parametrize("ignore_case", [False, True])
@pytest.mark.parametrize(
    ("pattern", "regex"),
    [
        ("parse", False),
        ("a.b", False),
        ("a+b a.b $5 ^top", False),
        ("(odd) [x]", False),
        ("テスト", False),
        ("é", False),
        ("two words", False),
        ("\\bparse\\b", True),
        ("^parse", True),
        ("parse$", True),
        ("^$", True),
        ("^\\s+return", True),
        ("\\w+_\\w+", True),
        ("\\d{2,}", True),
        ("[^a-z ]{3}", True),
        ("na\\wve", True),
        ("x\\sy", True),
        ("x[\\s]y", True),
        ("Σίσυφος", True),
        ("parse|end", True),
        ("(?i)PARSE \\w", True),
        (".*", True),
        ("y{300}", True),
        ("first.last", True),
        ("one\\s*two", True),
        ("[]x]", True),
        ("\\D\\W\\S", True),
        ("e(nd)?$", True),
    ],
)
def test_search_is_as_right_as_ripgrep(
    pattern: str, regex: bool, ignore_case: bool, root: Path
) -> None:
    mine, expected = (
        ours(root, pattern, regex, ignore_case),
        theirs(root, pattern, regex, ignore_case),
    )
    assert by_path(mine) == by_path(expected)
    assert mine == by_path(mine)


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["a.py"], {"a.py"}),
        (["sub"], {"sub/keep.log", "sub/odd name [1].txt"}),
        (["*.py"], {"a.py"}),
        (["ignored/x.txt"], {"ignored/x.txt"}),
        (["none"], set()),
    ],
)
def test_search_in_paths(paths: list[str], found: set[str], root: Path) -> None:
    assert {row[0] for row in ours(root, "parse", False, False, paths)} == found


def test_pattern_that_would_take_for_ever_is_fast(root: Path) -> None:
    assert ours(root, "(y+)+$z", True, False) == []


@pytest.mark.parametrize("pattern", ["(", "[", "a{2000}", "(?=x)", "", "\ud83d"])
def test_wrong_patterns_are_named(pattern: str, root: Path) -> None:
    with pytest.raises(ToolError) as caught:
        ours(root, pattern, True, False)
    assert caught.value.kind == "invalidInput"


def test_limit_keeps_the_first_in_order(root: Path) -> None:
    launcher = Launcher(os.environ)
    context = ToolContext(
        root=root, edits=EditLog(root), launcher=launcher, spill=root.parent / "spill"
    )
    every = by_path(theirs(root, "parse", False, False))
    given = {"pattern": "parse", "limit": 5}
    result = asyncio.run(registry.call("search_text", given, context))
    launcher.close()
    rows = [(row["path"], row["line"], row["text"]) for row in result.data["matches"]]
    assert rows == every[:5]
    assert result.data["truncated"] is True


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\bstruct\s+kvm_arch\s*\{", b"kvm_arch"),
        ("foo.*barbaz", b"barbaz"),
        ("foob?ar", b"foo"),
        ("foob*", b"foo"),
        ("foob{2}ar", b"foo"),
        ("a|b", b""),
        ("(foo)?ba", b"ba"),
        ("(?i)foo", b""),
        ("[abc]de", b"de"),
        ("[]x]yz", b"yz"),
        (r"\w+", b""),
        ("foo+bar", b"foo"),
        (r"\x41bc", b""),
        (r"\Q)\E(foo)?bar", b""),
        (r"\pNabc", b""),
    ],
)
def test_text_that_every_match_holds(pattern: str, text: bytes) -> None:
    assert search_text.needed(pattern) == text
