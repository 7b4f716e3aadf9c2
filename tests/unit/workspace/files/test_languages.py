"""The language table and detection by name, extension and first line."""

import subprocess
import sys

import pytest

from taskx._native import symbols
from taskx.workspace.files import languages
from taskx.workspace.files.languages import LANGUAGES, detect, grammar_capsule, header_id

FIRST_TWENTY = [
    "python",
    "typescript",
    "tsx",
    "javascript",
    "go",
    "rust",
    "c",
    "cpp",
    "java",
    "csharp",
    "kotlin",
    "scala",
    "swift",
    "ruby",
    "php",
    "lua",
    "elixir",
    "haskell",
    "bash",
    "zig",
]

NAMES = [
    ("a.py", "python"),
    ("dir.ts/a.pyi", "python"),
    ("a.d.ts", "typescript"),
    ("a.mts", "typescript"),
    ("a.tsx", "tsx"),
    ("a.jsx", "javascript"),
    ("a.test.cjs", "javascript"),
    ("main.go", "go"),
    ("go.mod", "gomod"),
    ("go.sum", "gosum"),
    ("lib.rs", "rust"),
    ("a.c", "c"),
    ("a.C", "cpp"),
    ("a.CPP", "cpp"),
    ("a.h", "c"),
    ("a.cs", "csharp"),
    ("build.gradle", "groovy"),
    ("build.gradle.kts", "kotlin"),
    ("build.sbt", "scala"),
    ("Rakefile", "ruby"),
    ("a.gemspec", "ruby"),
    ("a.m", "objc"),
    ("a.S", "asm"),
    ("Makefile", "make"),
    ("sub/Kbuild", "make"),
    ("Makefile.linux", "make"),
    ("Dockerfile.dev", "dockerfile"),
    ("arch/x86/Kconfig", "kconfig"),
    ("Kconfig.cpu", "kconfig"),
    ("CMakeLists.txt", "cmake"),
    ("Cargo.lock", "toml"),
    (".bashrc", "bash"),
    (".gitignore", "gitignore"),
    ("a.vue", "vue"),
    ("a.md", "markdown"),
    ("notes.txt", "text"),
    ("requirements.txt", "requirements"),
    ("README", "text"),
    (".hidden", "text"),
    ("trailing.", "text"),
    ("", "text"),
    (b"caf\xe9.py", "python"),
    (b"\xff\xfe", "text"),
]

HEADS = [
    (b"#!/usr/bin/python3\n", "python"),
    (b"#!/usr/bin/env python3.11 -u\n", "python"),
    (b"#! /bin/sh -e\r\n", "bash"),
    (b"#!/usr/bin/env -S node --harmony\n", "javascript"),
    (b"#!/usr/bin/env -S FOO=1 deno run\n", "typescript"),
    (b"#!/usr/bin/perl5.36 -w", "perl"),
    (b"#!/usr/bin/env\n", "text"),
    (b"#!", "text"),
    (b"#!/opt/own/thing\n", "text"),
    (b"\x7fELF", "text"),
    (b"", "text"),
]


@pytest.mark.parametrize(("path", "name"), NAMES)
def test_a_name_or_extension_gives_the_language(path: str | bytes, name: str) -> None:
    assert LANGUAGES[detect(path)].name == name


@pytest.mark.parametrize(("head", "name"), HEADS)
def test_a_first_line_gives_the_language_when_the_name_does_not(head: bytes, name: str) -> None:
    assert LANGUAGES[detect("bin/tool", head)].name == name
    assert LANGUAGES[detect("bin/tool.zig", head)].name == "zig"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"#ifndef A_H\n#include <stdio.h>\nstruct a { int class; };\n", "c"),
        (b"#pragma once\nnamespace a {\nclass B;\n}\n", "cpp"),
        (b"#include <vector>\nstd::vector<int> f();\n", "cpp"),
        (b"template <typename T> T f();\n", "cpp"),
        (b"struct A {\npublic:\n  int b;\n};\n", "cpp"),
        (b"/* a class of things:\n public: no */\n#include <linux/list.h>\n", "c"),
        (b"", "c"),
    ],
)
def test_the_top_of_a_header_tells_c_from_cpp(head: bytes, name: str) -> None:
    assert LANGUAGES[header_id(head)].name == name


def test_ids_are_indexes_and_the_first_twenty_keep_their_order() -> None:
    assert [language.id for language in LANGUAGES] == list(range(len(LANGUAGES)))
    assert [language.name for language in LANGUAGES[1:21]] == FIRST_TWENTY
    assert len({language.name for language in LANGUAGES}) == len(LANGUAGES)


def test_every_row_names_a_grammar_that_loads() -> None:
    assert grammar_capsule(0) is None
    abi = {symbols.language_abi(grammar_capsule(language.id)) for language in LANGUAGES[1:]}
    assert abi <= {13, 14, 15}
    assert len(LANGUAGES) == 174


def test_no_extension_or_name_is_claimed_twice() -> None:
    for field in ("extensions", "filenames", "interpreters"):
        words = [word for language in LANGUAGES for word in getattr(language, field)]
        assert sorted(words) == sorted(set(words))


def test_importing_the_table_loads_no_grammar() -> None:
    code = (
        f"import sys, {languages.__name__}; "
        "print([m for m in sys.modules if m.startswith('tree_sitter')])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.strip() == "[]"
