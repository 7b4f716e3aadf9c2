"""Judges shell commands: by rules of a policy, and for the hook that keeps edits out of the shell.

Never by prefix: commands are parsed (`shell`), and what wrappers, substitutions, pipes into shells
and here documents run is looked at too (`wrappers`).
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from taskx.process import shell, wrappers
from taskx.process.shell import OUTSIDE, UNKNOWN, Script, Simple
from taskx.process.wrappers import SHELLS, known, name_of

# Programs whose first words are a subcommand, with global options that take a value.
_SUBCOMMANDS: dict[str, frozenset[str]] = {
    "git": frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"}),
    "docker": frozenset({"-H", "--host", "-c", "--context", "--config", "-l", "--log-level"}),
    "podman": frozenset({"--connection", "-c", "--log-level", "--root"}),
    "kubectl": frozenset({"-n", "--namespace", "--context", "--kubeconfig", "--cluster", "-s"}),
    "helm": frozenset({"-n", "--namespace", "--kube-context", "--kubeconfig"}),
    "npm": frozenset({"--prefix", "-C", "-w", "--workspace", "--userconfig"}),
    "pnpm": frozenset({"-C", "--dir", "--filter", "-F"}),
    "yarn": frozenset({"--cwd"}),
    "bun": frozenset({"--cwd"}),
    "cargo": frozenset({"-C", "-Z", "--config", "--color", "--manifest-path"}),
    "rustup": frozenset(),
    "go": frozenset({"-C"}),
    "gh": frozenset({"-R", "--repo"}),
    "pip": frozenset({"--python", "--cache-dir", "--log", "--proxy"}),
    "pip3": frozenset({"--python", "--cache-dir", "--log", "--proxy"}),
    "uv": frozenset({"--project", "--directory", "--config-file"}),
    "poetry": frozenset({"-C", "--directory", "-P", "--project"}),
    "systemctl": frozenset({"-H", "-M", "-t", "--host"}),
    "apt": frozenset({"-o", "-c", "-t"}),
    "apt-get": frozenset({"-o", "-c", "-t"}),
    "brew": frozenset(),
    "terraform": frozenset(),
    "aws": frozenset({"--profile", "--region", "--output", "--endpoint-url"}),
    "gcloud": frozenset({"--project", "--account", "--configuration"}),
    "dotnet": frozenset(),
    "mix": frozenset(),
    "bundle": frozenset(),
    "rails": frozenset(),
    "make": frozenset({"-C", "-f", "-j", "-I", "-o"}),
    "just": frozenset({"-f", "-d"}),
    "gradle": frozenset({"-p", "-b", "-c"}),
    "mvn": frozenset({"-f", "-P", "-pl"}),
}
_RUNS_A_SCRIPT = {"npm": "run", "pnpm": "run", "yarn": "run", "bun": "run"}
_INTERPRETER = re.compile(r"(?:python|pypy|node|ruby|perl|php|lua|deno|bun|tsx|ts-node)[\d.]*")
_INLINE = {"-c", "-e", "-E", "-r", "--eval", "-p", "--print", "eval"}
_STREAM = re.compile(r"-|/dev/(?:stdin|fd/\d+)|/proc/(?:self|\d+)/fd/\d+")
_COMMAND_VARIABLES = frozenset(
    {
        "GIT_PAGER", "PAGER", "GIT_EDITOR", "EDITOR", "VISUAL", "GIT_SSH", "GIT_SSH_COMMAND",
        "GIT_EXTERNAL_DIFF", "GIT_SEQUENCE_EDITOR", "GIT_ASKPASS", "SSH_ASKPASS",
        "PROMPT_COMMAND", "LESSOPEN", "BROWSER", "MANPAGER", "SHELL",
    }
)  # fmt: skip
_HARMLESS_TARGET = re.compile(r"/dev/(?:null|stdout|stderr|tty|fd/\d+)|&?\d+-?|-")


@dataclass
class Found:
    """Every argument vector that a command may run, with the programs of the text they are in.

    unclear: why some of it cannot be known before it runs.
    """

    argvs: list[list[str]] = field(default_factory=list)
    simples: list[Simple] = field(default_factory=list)
    scripts: list[Script] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    wrapped: bool = False


def programs(command: str) -> Found:
    """What a command line runs, looked into as deep as it goes."""
    found = Found()
    _script(command, found, 0)
    return found


def _script(text: str, found: Found, depth: int) -> None:
    _one_script(text, found, depth)
    joined = text.replace("\\\n", "")
    if joined != text:
        # The grammar does not join words over a line's end as bash does; in a comment, though,
        # bash does not join either. So both readings count.
        _one_script(joined, found, depth)


def _one_script(text: str, found: Found, depth: int) -> None:
    if depth > shell.DEPTH_LIMIT or len(found.argvs) > 5000:
        found.unclear.append("it is nested too deep")
        return
    if UNKNOWN in text and not text.strip(f"{UNKNOWN}{OUTSIDE} \t\n\"'"):
        found.unclear.append("it runs text that is computed")
        return
    # What is not known of a text stays unknown in its words.
    script = shell.parse(text.replace(UNKNOWN, "$(:)").replace(OUTSIDE, "$__outside"))
    found.scripts.append(script)
    found.unclear += script.problems
    for simple in script.simples:
        found.simples.append(simple)
        for argv in simple.argvs:
            _argv(argv, found, depth)
        _fed_shell(simple, found, depth)
        _assigned_commands(simple, found, depth)


def _argv(argv: list[str], found: Found, depth: int) -> None:
    if not argv:
        return
    if depth > shell.DEPTH_LIMIT:
        found.unclear.append("it is nested too deep")
        return
    found.argvs.append(argv)
    name = name_of(argv[0])
    if UNKNOWN in name or (OUTSIDE in name and depth):
        found.unclear.append("the name of a program is computed")
    inner = wrappers.inner(argv)
    if inner.argvs or inner.scripts:
        found.wrapped = True
    if inner.unclear:
        found.unclear.append("it runs text that is computed")
    for words in inner.argvs:
        _argv(words, found, depth + 1)
    for text in inner.scripts:
        _script(text, found, depth + 1)


def _reached(argv: list[str], depth: int = 0) -> list[list[str]]:
    """`argv` and the commands that it, as a wrapper, becomes."""
    found = [argv]
    if depth < shell.DEPTH_LIMIT:
        for words in wrappers.inner(argv).argvs:
            found += _reached(words, depth + 1)
    return found


def _fed_shell(simple: Simple, found: Found, depth: int) -> None:
    """A shell that reads its commands from a here document, a pipe or another stream."""
    for argv in (words for given in simple.argvs for words in _reached(given)):
        name = name_of(argv[0]) if argv else ""
        if name not in SHELLS and name not in (".", "source"):
            continue
        if any(re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word) for word in argv[1:]):
            continue
        plain = [word for word in argv[1:] if not word.startswith("-")]
        if (plain or name not in SHELLS) and not any(map(_STREAM.fullmatch, plain)):
            continue
        found.wrapped = True
        if simple.stdin is not None:
            _script(simple.stdin, found, depth + 1)
        elif (plain and not simple.source) or (simple.used and not simple.source):
            found.unclear.append("a shell runs what another program prints")
        for source in simple.source:
            text = printed(source)
            if text is None:
                found.unclear.append("a shell runs what another program prints")
            else:
                _script(text, found, depth + 1)


def _assigned_commands(simple: Simple, found: Found, depth: int) -> None:
    """Variables that name a command to run, set for one program."""
    for row in simple.assigns:
        name, _, value = row.partition("=")
        if name in _COMMAND_VARIABLES:
            found.wrapped = True
            _script(value.strip("\"'"), found, depth + 1)


def printed(simple: Simple) -> str | None:
    """What a program prints, when that can be told: echo, printf, cat of a here document."""
    texts = []
    for argv in simple.argvs:
        name = name_of(argv[0]) if argv else ""
        if name == "cat" and len(argv) == 1 and simple.stdin is not None:
            texts.append(simple.stdin)
        elif name in ("echo", "printf"):
            words = [word for word in argv[1:] if not re.fullmatch(r"-[neE]+", word)]
            texts.append(" ".join(words).replace("\\n", "\n"))
        else:
            return None
    return "\n".join(texts) if all(map(known, texts)) else None


# --- rules of a policy ---------------------------------------------------------------------------


def _words(rule: str) -> list[str]:
    try:
        words = shlex.split(rule)
    except ValueError:
        words = rule.split()
    return [word for word in words if word != "*"]


def denied(command: str, rule: str) -> bool:
    """Whether a command runs, or may run, what a deny rule such as `git push` names.

    A command whose programs cannot be known before it runs is denied too: a rule that could be
    evaded by computing a name would be no rule.
    """
    words = _words(rule)
    found = programs(command)
    if not words or found.unclear:
        return True
    return any(_denies(argv, words) for argv in found.argvs) or _mentioned(found, words)


def _denies(argv: list[str], words: list[str]) -> bool:
    name, wanted = name_of(argv[0]), name_of(words[0])
    if not (fnmatchcase(name, wanted) or (shell.has_glob(name) and fnmatchcase(wanted, name))):
        return False
    rest, sure = _after_globals(name, argv[1:])
    options = [word for word in words[1:] if word.startswith("-") and len(word) > 1]
    plain = [word for word in words[1:] if word not in options]
    given = [word for word in rest if not word.startswith("-")]
    if not all(_has_option(argv[1:], option) for option in options):
        return False
    starts = [given] if sure else [given, given[1:]]
    return any(_begins(start, plain) for start in starts)


def _begins(given: list[str], plain: list[str]) -> bool:
    if len(given) < len(plain):
        return False
    return all(
        fnmatchcase(word, want) or not known(word) for word, want in zip(given, plain, strict=False)
    )


def _after_globals(name: str, rest: list[str]) -> tuple[list[str], bool]:
    """What follows a program's global options, and whether those are known for sure."""
    with_value = _SUBCOMMANDS.get(name)
    index = 0
    unknown_option = False
    while index < len(rest) and (rest[index].startswith("-") or rest[index].startswith("+")):
        word = rest[index]
        if with_value is None:
            unknown_option = True
        elif word in with_value:
            index += 1
        index += 1
    return rest[index:], not unknown_option


def _has_option(given: list[str], option: str) -> bool:
    if option.startswith("--"):
        name = option.split("=")[0]
        return any(
            word.split("=")[0] == name
            or (len(word) > 3 and word.startswith("--") and name.startswith(word.split("=")[0]))
            for word in given
        )
    letters = set(option[1:])
    long = {"r": "--recursive", "f": "--force", "i": "--interactive", "v": "--verbose"}
    seen: set[str] = set()
    for word in given:
        if word.startswith("--"):
            seen |= {letter for letter, name in long.items() if name.startswith(word)}
        elif word.startswith("-"):
            seen |= set(word[1:])
    return option in given or letters <= seen or letters <= {c.lower() for c in seen}


def _mentioned(found: Found, words: list[str]) -> bool:
    """Code given to an interpreter that names the program in a string it could run."""
    name = re.escape(name_of(words[0]))
    for argv in found.argvs:
        program = name_of(argv[0])
        if not (_INTERPRETER.fullmatch(program) or program in ("awk", "gawk", "mawk", "vim")):
            continue
        if any(
            re.search(rf"(?<![\w./-]){name}(?![\w-])", word)
            for word in argv[1:]
            if " " in word or "(" in word
        ):
            return True
    return False


def allowed(command: str, rule: str) -> bool:
    """Whether every program of a command is what an allow rule names, and nothing is hidden.

    Wrappers, assignments before a program, functions, writing to files and computed names are not
    covered by any rule.
    """
    words = _words(rule)
    found = programs(command)
    if not words or found.unclear or found.wrapped or not found.argvs:
        return False
    if any(script.functions for script in found.scripts):
        return False
    for simple in found.simples:
        if simple.assigns or any(not _harmless(r.operator, r.target) for r in simple.redirects):
            return False
        if any(len(argv) < len(words) or argv[: len(words)] != words for argv in simple.argvs):
            return False
        if any(not known(word) for argv in simple.argvs for word in argv[: len(words) + 1]):
            return False
    return True


def _harmless(operator: str, target: str) -> bool:
    """Whether a redirection writes to no file."""
    if operator.startswith("<") and operator not in ("<>", "<("):
        return True
    return _HARMLESS_TARGET.fullmatch(target) is not None


def signature(command: str) -> str | None:
    """Program and subcommand that a consent for the session covers; None when that is unclear."""
    found = programs(command)
    if found.unclear or found.wrapped or len(found.simples) != 1 or len(found.argvs) != 1:
        return None
    simple, argv = found.simples[0], found.argvs[0]
    if simple.assigns or simple.stdin is not None:
        return None
    if any(not _harmless(r.operator, r.target) for r in simple.redirects):
        return None
    name = argv[0]
    if not known(name) or shell.has_glob(name) or name in SHELLS:
        return None
    rest = argv[1:]
    if _INTERPRETER.fullmatch(name_of(name)) and name not in _SUBCOMMANDS:
        return _interpreter_signature(name, rest)
    if name not in _SUBCOMMANDS:
        return name
    if not rest or not known(rest[0]) or not re.fullmatch(r"[A-Za-z][\w:-]*", rest[0]):
        return None
    words = [name, rest[0]]
    if _RUNS_A_SCRIPT.get(name) == rest[0]:
        if len(rest) < 2 or not known(rest[1]):
            return None
        words.append(rest[1])
    return " ".join(words)


def _interpreter_signature(name: str, rest: list[str]) -> str | None:
    if not rest or any(word in _INLINE for word in rest[:2]) or not known(rest[0]):
        return None
    if rest[0] == "-m" and len(rest) > 1 and known(rest[1]):
        return f"{name} -m {rest[1]}"
    return None if rest[0].startswith("-") else f"{name} {rest[0]}"
