"""Files that broke indexers: every one gets a row, none ends the process, budgets hold."""

from __future__ import annotations

import array
import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taskx.workspace.files.languages import IDS, LANGUAGES
from taskx.workspace.index import grammars, lexing
from taskx.workspace.index.symbols import Batch, analyzer

PARSED, BUDGET = 0, 7
NATIVE = Path(__file__).parents[2] / "src" / "taskx" / "_native"
TWENTY = [language.id for language in LANGUAGES[1:21]]


def names(batch: Batch) -> list[str]:
    blob = bytes(batch.blob)
    return [
        blob[batch.sym_name_off[i] :][: batch.sym_name_len[i]].decode("utf-8", "replace")
        for i in range(batch.n_symbols)
    ]


def check(language: str, text: str | bytes, expected: list[str]) -> None:
    data = text.encode() if isinstance(text, str) else text
    assert names(analyzer().analyze_text(data, IDS[language])) == expected


# (case of the list, language, text, names in order)
CASES = [
    (51, "typescript", "export const f = (x) => { return x };\nfunction g() {}\n", ["f", "g"]),
    (52, "typescript", "const a = 1 < 2 ? b : c;\nfunction later() {}\n", ["a", "later"]),
    (52, "javascript", "if (1 > 2 && 2 < 1) {}\nfunction later() {}\n", ["later"]),
    (56, "c", "STATIC INLINE int f(int a)\n{\n return a;\n}\n", ["f"]),
    (56, "c", "API const char *f(int a);\nint g(void) { }\n", ["f", "g"]),
    (56, "c", "static int __init f(void)\n{\n}\n", ["f"]),
    (56, "c", "__printf(1, 2) int f(const char *a, ...) { }\n", ["f"]),
    (56, "c", "SYSCALL_DEFINE1(close, unsigned int, fd)\n{\n}\n", ["close"]),
    (56, "c", "int f(a, b)\nint a; char *b;\n{ return a; }\nint g(void) { }\n", ["f", "g"]),
    (56, "c", "#ifdef X\nint f(int a) {\n#else\nint f(long a) {\n#endif\n}\n", ["f"]),
    (56, "c", "#if 0\nint gone(void) { }\n#endif\nint f(void) { }\n", ["f"]),
    (82, "python", "a = b.\nc = 1\nd\n = 2\n", ["a", "c"]),
    (77, "python", b"a = 'x\0y'\n\0\ndef f():\n    pass\n", ["a", "f"]),
    (77, "c", b'char *a = "x\0y";\n\0\nint f(void) { }\n', ["a", "f"]),
]  # fmt: skip


@pytest.mark.parametrize(("case", "language", "text", "expected"), CASES)
def test_W09_case(case: int, language: str, text: str | bytes, expected: list[str]) -> None:
    check(language, text, expected)


def test_case_55_line_of_the_name_under_decorators() -> None:
    for language, text, line in (
        ("python", "@a\n@b\ndef f():\n  pass\n", 3),
        ("java", "class C {\n@A\nvoid f() {} }", 3),
        ("typescript", "@A\n@B\nclass C {}\n", 3),
        ("rust", "#[a]\n#[b]\nfn f() {}\n", 3),
    ):
        batch = analyzer().analyze_text(text.encode(), IDS[language])
        assert batch.sym_line[batch.n_symbols - 1] == line, language


def test_case_59_node_types_that_a_grammar_lacks_are_no_error() -> None:
    rows = [grammars.Rule("no_such_node", 1, 12, 1, "no_such_field", ("nothing",))]
    from taskx._native.extract import GrammarTable
    from taskx.workspace.files.languages import grammar_capsule

    assert GrammarTable(grammar_capsule(IDS["java"]), IDS["java"], rows, {"nothing": 1}) is not None


def test_case_78_large_files_are_not_read_and_bundles_not_parsed(tmp_path: Path) -> None:
    with (tmp_path / "big.json").open("wb") as file:
        file.truncate(500_000_000)
    (tmp_path / "bundle.js").write_bytes(b"function a(){return 1}" * 100_000)
    (tmp_path / "line.js").write_bytes(b"x" * 30_000_000)
    blob, offsets = b"big.jsonbundle.jsline.js", array.array("I", [0, 8, 17, 24])
    ids = array.array("h", [IDS["json"], IDS["javascript"], IDS["javascript"]])
    batch = analyzer().analyze(bytes(tmp_path), blob, offsets, ids)
    assert list(batch.status) == [3, 4, 3]
    assert list(batch.content_hash)[::2] == [0, 0]


def test_case_69_fifos_links_and_folders_are_never_opened_to_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.py")
    (tmp_path / "d.py").mkdir()
    (tmp_path / "l.py").symlink_to("/etc/passwd")
    blob, offsets = b"x.pyd.pyl.py", array.array("I", [0, 4, 8, 12])
    batch = analyzer().analyze(bytes(tmp_path), blob, offsets, array.array("h", [1, 1, 1]))
    assert list(batch.status) == [5, 5, 5]


def test_case_79_511_nested_indents_in_every_language() -> None:
    text = b"".join(b" " * i + b"if 1:\n" for i in range(511)) + b" " * 511 + b'"x"\n'
    engine = analyzer(whole=True)
    for language in LANGUAGES:
        assert engine.analyze_text(text, language.id).n_files == 1


def test_case_80_and_84_100000_brackets_in_every_grammar() -> None:
    engine = analyzer()
    for language in LANGUAGES:
        for opener in (b"(", b"[", b"{", b"<"):
            started = time.monotonic()
            batch = engine.analyze_text(b"x = " + opener * 100_000, language.id)
            # The budget is two seconds of parsing; the rest is for a busy machine.
            assert time.monotonic() - started < 20, (language.name, opener)
            assert batch.n_files == 1


def test_case_82_a_parse_over_its_budget_leaves_the_file_searchable() -> None:
    text = b"class A {\n" + b"  void first() { second(); }\n" * 40_000 + b"}\n"
    batch = analyzer(budget_ms=0).analyze_text(text, IDS["java"])
    assert list(batch.status) == [BUDGET]
    assert batch.n_symbols == 0
    assert len(batch.term_hash) > 0


PIECES = ["{", "}", "(", ")", "[", "]", '"', "'", "`", "\\", "\n", "/*", "*/", "//", "#", "#if\n",
          "#else\n", "#endif\n", "#define x", "<<EOT\n", "EOT\n", "${", "#{", "f'", 'r#"', '"""',
          "def ", "class ", "fn ", "func ", "import ", "from ", "use a::{", "export {", "struct ",
          "x", "=", ":", ";", ",", ".", "::", "<", ">", "=>", "@", "\0", "\xff", "--[[", "{-", "-}",
          "end\n", "  ", "\t", "%w[", "~s(", "?>", "<?php ", "<a>", "</a>", "operator", "template<",
          "enum ", "typedef ", "case ", "\r\n", "é", "0x1'2"]  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(PIECES), max_size=60), st.sampled_from(TWENTY))
def test_lexers_outlines_and_imports_take_anything(pieces: list[str], language: int) -> None:
    text = "".join(pieces).encode("utf-8")
    batch = ENGINE.analyze_text(text, language)
    lines = batch.n_lines[0]
    assert batch.n_files == 1
    for start, end, line in zip(batch.sym_start, batch.sym_end, batch.sym_line, strict=True):
        assert 1 <= start <= end <= max(lines, 1)
        assert 1 <= line <= max(lines, 1)
    assert all(-1 <= parent < batch.n_symbols for parent in batch.sym_parent)
    assert list(batch.idt_hash) == sorted(set(batch.idt_hash))
    assert all(row <= max(lines, 1) for row in batch.imp_line)


ENGINE = analyzer()


def enum_codes(path: str, prefix: str) -> dict[str, int]:
    """NAME -> value of the enum members in a .pxd."""
    found = {}
    for line in (NATIVE / path).read_text().splitlines():
        name, _, value = line.partition("#")[0].strip().partition(" = ")
        if name.startswith(prefix) and value.isdigit():
            found[name.removeprefix(prefix)] = int(value)
    return found


def test_codes_are_those_of_the_native_side() -> None:
    traits = enum_codes("lexer.pxd", "L_")
    assert {name: getattr(lexing, name) for name in traits if hasattr(lexing, name)} == {
        name: value for name, value in traits.items() if hasattr(lexing, name)
    }
    keywords = {name.lower(): code for name, code in enum_codes("lexer.pxd", "K_").items()}
    assert keywords == lexing.MEANINGS
    kinds = enum_codes("_types.pxd", "KIND_")
    snake = {"ENUM_MEMBER": "enumMember", "TYPE_PARAMETER": "typeParameter"}
    assert {snake.get(name, name.lower()): code for name, code in kinds.items()} == {
        name: code for name, code in grammars.KINDS.items() if code
    }
