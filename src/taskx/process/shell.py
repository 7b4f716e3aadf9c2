"""Reads a bash command line with a real parser: every program in it, wherever it hides.

What cannot be known before it runs is marked in the words: `UNKNOWN` for what the script computes,
`OUTSIDE` for variables of the environment. Variables that the script sets have every value that it
ever gives them, whatever the order; that can only find too many programs, not too few.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

UNKNOWN = "\x00"
OUTSIDE = "\x01"
_SPLIT = "\x1f"
# Quoted characters that would mean something unquoted, kept apart until the word is whole.
_QUOTED = {c: chr(0xE100 + ord(c)) for c in "{},*?[]~"}
_PLAIN = {quoted: c for c, quoted in _QUOTED.items()}
_GLOB = re.compile(r"[*?\[]")

LENGTH_LIMIT = 200_000
ALTERNATIVES = 16
DEPTH_LIMIT = 12

_ANSI = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b",
                 "f": "\f", "v": "\v"}  # fmt: skip


@dataclass
class Redirect:
    """operator: `>`, `>>`, `>|`, `&>`, `<`, … target: what it names, with marks."""

    operator: str
    target: str


@dataclass
class Simple:
    """One program that the script may run.

    argvs: the argument vectors it may have. stdin: text of a here document or string.
    source: the programs whose output it reads. used: its output becomes part of a word.
    """

    argvs: list[list[str]]
    assigns: list[str] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    stdin: str | None = None
    source: list[Simple] = field(default_factory=list)
    used: bool = False


@dataclass
class Script:
    """problems: why parts of it could not be read; functions: names it defines."""

    simples: list[Simple] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    functions: set[str] = field(default_factory=set)


@functools.cache
def _parser() -> Any:
    from tree_sitter import Parser  # loaded with the first command
    from tree_sitter_language_pack import get_language

    return Parser(get_language("bash"))


def parse(command: str) -> Script:
    """Every program of a command line. Never raises; see `problems`."""
    if len(command) > LENGTH_LIMIT:
        return Script(problems=["the command is too long to be read"])
    source = command.replace("\r\n", "\n").encode("utf-8", "replace")
    tree = _parser().parse(source)
    reader = _Reader(source)
    for _ in range(4):
        known = repr(reader.variables)
        reader.collect(tree.root_node)
        if repr(reader.variables) == known:
            break
    reader.visit(tree.root_node, False)
    return reader.script


class _Reader:
    def __init__(self, source: bytes) -> None:
        self.source = source
        self.script = Script()
        self.variables: dict[str, set[str]] = {}
        self.arrays: dict[str, set[tuple[str, ...]]] = {}

    def text(self, node: Any) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    # --- variables ---------------------------------------------------------------------------

    def collect(self, root: Any) -> None:
        for node in _walk(root):
            if node.type == "variable_assignment":
                self._assign(node)
            elif node.type == "for_statement":
                self._loop(node)
            elif node.type == "command":
                self._setters(node)
            elif node.type == "expansion" and "=" in self.text(node):
                name = re.match(r"\$\{(\w+):?=", self.text(node))
                if name:
                    self.variables.setdefault(name[1], set()).add(UNKNOWN)

    def _assign(self, node: Any) -> None:
        name_node, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name_node is None:
            return
        name = self.text(name_node).split("[")[0]
        if name == "IFS" and node.parent is not None and node.parent.type == "command":
            return  # for that one program, as in `while IFS= read -r line`
        known = self.variables.setdefault(name, set())
        if value is None:
            known.add("")
        elif value.type == "array":
            items = [self.fields(child)[0] for child in value.named_children]
            flat = tuple(itertools.chain.from_iterable(items))
            self.arrays.setdefault(name, set()).add(flat)
            known.update(flat[:1])
        else:
            operator = self.text(node)[len(self.text(name_node)) :][:2]
            values = {_SPLIT.join(words) for words in self.fields(value, quoted=True)}
            if operator == "+=":
                values = {a + b for a in known or {""} for b in values}
            known.update(itertools.islice(values, ALTERNATIVES))
            if len(known) > ALTERNATIVES:
                self.variables[name] = {UNKNOWN}

    def _loop(self, node: Any) -> None:
        name_node = node.child_by_field_name("variable")
        if name_node is None:
            return
        known = self.variables.setdefault(self.text(name_node), set())
        values = node.children_by_field_name("value")
        if not values:
            known.add(UNKNOWN)
        for value in values:
            for words in self.fields(value):
                known.update(words)

    def _setters(self, node: Any) -> None:
        """Programs of the shell itself that set the variables they name."""
        words = self._static_words(node)
        if not words or words[0] not in (
            "read",
            "mapfile",
            "readarray",
            "printf",
            "getopts",
            "let",
        ):
            return
        names = words[1:]
        if words[0] == "printf":
            names = [b for a, b in itertools.pairwise(words) if a == "-v"]
        for name in names:
            bare = name.split("=")[0]
            if re.fullmatch(r"\w+", bare) and not bare.isdigit():
                self.variables.setdefault(bare, set()).add(UNKNOWN)

    def _static_words(self, node: Any) -> list[str]:
        nodes = [node.child_by_field_name("name"), *node.children_by_field_name("argument")]
        return [self.text(child) for child in nodes if child is not None]

    # --- words -------------------------------------------------------------------------------

    def fields(self, node: Any, quoted: bool = False) -> list[list[str]]:
        """The ways a word may expand, each a list of fields."""
        found: list[list[str]] = []
        for raw in itertools.islice(self._raw(node, quoted), ALTERNATIVES):
            words: list[str] = []
            for piece in raw.split(_SPLIT) if not quoted else [raw]:
                words += _braces(piece) if not quoted else [piece]
            clean = ["".join(_PLAIN.get(c, c) for c in word) for word in words]
            if len(words) > 1 or node.type in ("simple_expansion", "expansion"):
                clean = [word for word in clean if word]
            if clean not in found:
                found.append(clean)
        return found or [[UNKNOWN]]

    def _raw(self, node: Any, quoted: bool) -> Iterator[str]:
        kind = node.type
        if kind in ("word", "variable_name", "regex", "extglob_pattern", "file_descriptor"):
            inner = [c for c in node.named_children if "expansion" in c.type]
            if inner:
                yield from self._joined(node, quoted, _unquoted)
            else:
                yield _unquoted(self.text(node))
        elif kind in ("string", "translated_string"):
            yield from self._joined(node, True, _double_quoted)
        elif kind == "raw_string":
            yield _protect(self.text(node)[1:-1])
        elif kind == "ansi_c_string":
            yield _protect(_ansi(self.text(node)[2:-1]))
        elif kind in ("concatenation", "command_name"):
            yield from self._joined(node, quoted, _unquoted)
        elif kind in ("simple_expansion", "expansion"):
            for value in self._expansion(node):
                yield _protect(value) if quoted else self._split(value)
        elif kind == "command_substitution":
            for value in self._substitution(node):
                yield _protect(value) if quoted else self._split(value)
        elif kind == "process_substitution":
            yield "/dev/fd/63"
        elif kind in ("arithmetic_expansion", "brace_expression"):
            yield UNKNOWN if kind == "arithmetic_expansion" else self.text(node)
        else:
            yield _unquoted(self.text(node))

    def _split(self, value: str) -> str:
        """Marks where an unquoted value is split, also by what the script makes IFS."""
        extra = "".join(self.variables.get("IFS", ())).replace(UNKNOWN, "")
        return re.sub(f"[ \\t\\n{re.escape(extra)}]+", _SPLIT, value)

    def _joined(self, node: Any, quoted: bool, literal: Any) -> Iterator[str]:
        """Children of a word put together; what lies between them is literal text."""
        parts: list[list[str]] = []
        start, end = node.start_byte, node.end_byte
        if node.type in ("string", "translated_string"):
            opening = self.text(node).index('"') + 1 if '"' in self.text(node) else 0
            start, end = start + opening, end - 1
        at = start
        for child in node.named_children:
            if child.type == "string_content":
                continue
            if child.start_byte > at:
                parts.append(
                    [literal(self.source[at : child.start_byte].decode("utf-8", "replace"))]
                )
            parts.append(list(itertools.islice(self._raw(child, quoted), ALTERNATIVES)))
            at = child.end_byte
        if at < end:
            parts.append([literal(self.source[at:end].decode("utf-8", "replace"))])
        for choice in itertools.product(*parts):
            yield "".join(choice)

    def _expansion(self, node: Any) -> Iterable[str]:
        text = self.text(node)
        plain = re.fullmatch(r"\$\{?(\w+)(?:\[([^\]]*)\])?\}?", text)
        if plain is None:
            default = re.match(r"\$\{(\w+):?([-=])(.*)\}\Z", text, re.DOTALL)
            if default is None:
                return [UNKNOWN]
            word = default[3].strip("\"'")
            known = self.variables.get(default[1], {OUTSIDE})
            return [*sorted(known), UNKNOWN if "$" in word or "`" in word else word]
        name, index = plain[1], plain[2]
        if name == "IFS" and "IFS" not in self.variables:
            return [" "]
        if index is not None and name in self.arrays:
            rows = self.arrays[name]
            if index in ("@", "*"):
                return [(_SPLIT if index == "@" else " ").join(row) for row in rows]
            if index.isdigit():
                return [row[int(index)] if int(index) < len(row) else "" for row in rows]
            return [UNKNOWN]
        if index is not None:
            return [UNKNOWN]
        if name.isdigit() or not re.match(r"[A-Za-z_]", name):
            return [UNKNOWN]
        if name in self.variables:
            return sorted(self.variables[name]) or [UNKNOWN]
        return [OUTSIDE]

    def _substitution(self, node: Any) -> Iterable[str]:
        """The output of `$(echo words)`; of anything else it is unknown."""
        inner = node.named_children
        if len(inner) == 1 and inner[0].type == "command":
            argvs = self.argvs(inner[0])
            if argvs and all(argv and argv[0] in ("echo", "printf") for argv in argvs):
                return [" ".join(_printed(argv)) for argv in argvs]
        return [UNKNOWN]

    def argvs(self, node: Any) -> list[list[str]]:
        name = node.child_by_field_name("name")
        nodes = [] if name is None else [name]
        nodes += node.children_by_field_name("argument")
        vectors: list[list[str]] = [[]]
        for child in nodes:
            ways = self.fields(child)
            vectors = [[*v, *words] for v, words in itertools.product(vectors, ways)]
            vectors = vectors[:ALTERNATIVES]
        return vectors

    # --- programs ----------------------------------------------------------------------------

    def visit(self, node: Any, used: bool) -> list[Simple]:
        """Records the programs at and below `node`; returns those whose output goes on."""
        kind = node.type
        if kind == "ERROR" or node.is_missing:
            self.script.problems.append(f"it cannot be read at {self.text(node)[:40]!r}")
        if kind == "command":
            return [self._command(node, used)]
        if kind == "declaration_command":
            simple = Simple([self.text(node).split()], used=used)
            self.script.simples.append(simple)
            self._children(node, used)
            return [simple]
        if kind == "redirected_statement":
            return self._redirected(node, used)
        if kind == "pipeline":
            source: list[Simple] = []
            for child in node.named_children:
                first = len(self.script.simples)
                made = self.visit(child, used)
                for simple in self.script.simples[first:]:
                    if not simple.source:
                        simple.source = source
                source = made
            return source
        if kind in ("command_substitution", "process_substitution"):
            self._children(node, True)
            return []
        if kind == "function_definition":
            name = node.child_by_field_name("name")
            if name is not None:
                self.script.functions.add(self.text(name))
        return self._children(node, used)

    def _children(self, node: Any, used: bool) -> list[Simple]:
        made: list[Simple] = []
        for child in node.children:
            made += self.visit(child, used)
        return made

    def _command(self, node: Any, used: bool) -> Simple:
        simple = Simple(self.argvs(node), used=used)
        for child in node.children:
            if child.type == "variable_assignment":
                simple.assigns.append(self.text(child))
            self._redirect(simple, child)
        self.script.simples.append(simple)
        for child in node.children:
            self._children(child, True if child.type != "heredoc_redirect" else used)
            if child.type == "command_substitution":
                self._children(child, True)
        return simple

    def _redirected(self, node: Any, used: bool) -> list[Simple]:
        body = node.child_by_field_name("body")
        made = self.visit(body, used) if body is not None else []
        if not made:
            made = [Simple([[]], used=used)]
            self.script.simples.append(made[0])
        for child in node.children:
            if body is not None and child.id == body.id:
                continue
            for simple in made[-1:]:
                self._redirect(simple, child)
            self._children(child, used)
        return made

    def _redirect(self, simple: Simple, node: Any) -> None:
        if node.type == "file_redirect":
            target = node.child_by_field_name("destination")
            operator = re.match(r"\d*([<>&|]+)", self.text(node))
            ways = self.fields(target) if target is not None else [[""]]
            for words in ways:
                name = " ".join(words)
                simple.redirects.append(Redirect(operator[1] if operator else ">", name))
        elif node.type == "herestring_redirect":
            values = [" ".join(words) for words in self.fields(node.named_children[-1])]
            simple.stdin = "\n".join(values)
        elif node.type == "heredoc_redirect":
            self._here_document(simple, node)

    def _here_document(self, simple: Simple, node: Any) -> None:
        start = next((c for c in node.children if c.type == "heredoc_start"), None)
        body = next((c for c in node.children if c.type == "heredoc_body"), None)
        simple.stdin = self.text(body) if body is not None else ""
        # `cat<<E>f`: the grammar takes `E>f` for the delimiter.
        named = self.text(start) if start is not None else ""
        joined = re.search(r"(>>|>\||&>|>)\s*(.*)\Z", named)
        if joined:
            simple.redirects.append(Redirect(joined[1], joined[2]))
            delimiter = named[: joined.start()].strip("\"'\\")
            simple.stdin = (simple.stdin or "").split(f"\n{delimiter}\n")[0]
        for child in node.children:
            if child.type in ("file_redirect", "herestring_redirect"):
                self._redirect(simple, child)
            elif child.type == "pipeline" or child.type == "command":
                for made in self.visit(child, simple.used):
                    made.source = [simple]


def _walk(node: Any) -> Iterator[Any]:
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))


def _protect(text: str) -> str:
    return "".join(_QUOTED.get(c, c) for c in text)


def _unquoted(text: str) -> str:
    text = text.replace("\\\n", "")
    return re.sub(r"\\(.)", lambda m: _QUOTED.get(m[1], m[1]), text, flags=re.DOTALL)


def _double_quoted(text: str) -> str:
    text = text.replace("\\\n", "")
    return _protect(re.sub(r'\\([$`"\\])', r"\1", text))


def _ansi(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        for group in (1, 2, 3):
            if match[group]:
                return chr(min(int(match[group], 16), 0x10FFFF))
        if match[4]:
            return chr(int(match[4], 8) & 255)
        if match[5]:
            return chr(ord(match[5]) & 31)
        return _ANSI_LETTERS.get(match[6], match[6])

    return _ANSI.sub(one, text)


def _braces(word: str) -> list[str]:
    """Brace expansion of `{a,b}` in unquoted text."""
    match = re.search(r"\{([^{}]*,[^{}]*)\}", word)
    if match is None:
        return [word]
    found: list[str] = []
    for option in match[1].split(","):
        found += _braces(word[: match.start()] + option + word[match.end() :])
        if len(found) > ALTERNATIVES:
            return [*found[:ALTERNATIVES], UNKNOWN]
    return found


def _printed(argv: list[str]) -> list[str]:
    words = [word for word in argv[1:] if not re.fullmatch(r"-[neE]+", word)]
    if argv[0] == "printf" and words:
        form = words[0]
        return words[1:] if form in ("%s", "%s\\n") else [UNKNOWN] if len(words) > 1 else [form]
    return words


def has_glob(word: str) -> bool:
    return _GLOB.search(word) is not None
