"""Tells whether a shell command rewrites files, for the guard that keeps edits in the edit tools.

Blocked anywhere in a command: editing in place (`sed -i`, `perl -i`), content written through a
redirection, `tee` and their like, patches, and inline scripts that call a function which writes
files. Scripts in files, builds and tests are not looked into: they are part of the project.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from taskx.process import shell_guard
from taskx.process.shell import OUTSIDE, UNKNOWN, Simple
from taskx.process.wrappers import SHELLS, known, name_of

_DEVICE = re.compile(r"/dev/(?:null|stdout|stderr|tty|zero|full|fd/\d+)")
_DESCRIPTOR = re.compile(r"&?\d*-?")
_TEMP = re.compile(r"/(?:private/)?(?:var/)?tmp/")
_STREAM = re.compile(r"-|/dev/(?:stdin|fd/\d+)|/proc/(?:self|\d+)/fd/\d+")
# Programs that only pass content on: what they redirect is a file written by hand.
_WRITERS = frozenset({"", "cat", "echo", "printf", "exec", ":", "true", "yes", "base64", "xxd"})
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*[a-z]?")
_INTERPRETERS = re.compile(
    r"(?:python|pypy|node|nodejs|ruby|perl|php|lua|luajit|deno|bun|tsx|ts-node|Rscript|osascript"
    r"|tclsh|guile|elixir|pwsh|powershell|julia|groovy|swift)[\d.]*[a-z]?"
)
_CODE_OPTIONS = ("-c", "-e", "-E", "-r", "-p", "-pe", "-ne", "--eval", "--print", "eval")

# Calls that write files, in languages without a parser here.
_WRITE_CALL = re.compile(
    r"""write_?file|append_?file|createWriteStream|copyFile|(?:fs|fsp|promises)\s*\.\s*(?:open|rm|cp
    |rename|unlink|rmdir|mkdir|truncate|symlink|link|chmod|write)|\b(?:rename|unlink|truncate|rm)
    Sync\b|writeText|Bun\.write|Deno\.(?:write|remove|rename|truncate|open|create|mkdir|copy)
    |file_put_contents|\bfwrite\b|\bfputs\b|\bf?open\s*\([^)]*['"]\s*[rb]?[waxc]\+?[bt]?\+?['"]
    |\bf?open\s*\([^)]*['"]r\+|open\s*\(?[^;]*['"]\s*\+?>{1,2}|File\.(?:write|open\s*\([^)]*['"][wa]
    |rename|delete|unlink|truncate|new\s*\([^)]*['"][wa])|IO\.(?:write|binwrite)|FileUtils\.
    |io\.open\s*\([^)]*['"][wa]|os\.(?:remove|rename)|io\.output|\b(?:Set|Add|Out)-(?:Content|File)
    |File\.write!?|writeLines|\brename\s*\(|\bunlink\s*[(\s]""",
    re.VERBOSE | re.IGNORECASE,
)
_RUNS_SHELL = re.compile(
    r"""(?:system|popen|exec(?:Sync)?|shell_exec|passthru|spawn(?:Sync)?|run|call|check_output|Popen
    |getoutput|qx)\s*\(?\s*[\[\(]?\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)""",
    re.VERBOSE,
)


def reason(command: str) -> str | None:
    """Why a command is blocked, or None when it may run."""
    found = shell_guard.programs(command)
    for simple in found.simples:
        why = _redirected(simple) or _fed_interpreter(simple)
        if why:
            return why
    for argv in found.argvs:
        why = _program(argv)
        if why:
            return why
    if any("text that is computed" in why or "another program" in why for why in found.unclear):
        return "it runs text that cannot be known before it runs"
    if found.unclear and re.search(r"\b(?:sed|perl|ruby)\b[^|;&]*\s-\w*i|\btee\b|>", command):
        return f"it may write files, and {found.unclear[0]}"
    return None


# --- redirections --------------------------------------------------------------------------------


def _redirected(simple: Simple) -> str | None:
    names = {name_of(argv[0]) if argv else "" for argv in simple.argvs}
    for redirect in simple.redirects:
        if ">" not in redirect.operator:
            continue
        target = redirect.target
        if _DEVICE.fullmatch(target) or (
            "&" in redirect.operator and _DESCRIPTOR.fullmatch(target)
        ):
            continue
        if names & _WRITERS or simple.stdin is not None or not _in_temp(target):
            return f"it writes {_shown(target)} through a redirection"
    if "cat" in names and simple.stdin is not None and not simple.used:
        return "it passes a here document on with cat"
    return None


def _in_temp(target: str) -> bool:
    return _TEMP.match(target) is not None or target.startswith(f"{OUTSIDE}/")


def _shown(target: str) -> str:
    return target.replace(UNKNOWN, "…").replace(OUTSIDE, "…") or "a file"


# --- programs ------------------------------------------------------------------------------------


def _program(argv: list[str]) -> str | None:
    if not argv:
        return None
    name = name_of(argv[0])
    if not known(name):
        # A program that cannot be known: judged by words that would edit in place.
        in_place = any(re.fullmatch(r"-[a-zA-Z]*i(?:\..*)?|--in-place.*", w) for w in argv[1:])
        return "it may edit files in place" if in_place else None
    check = _CHECKS.get(name)
    if check is not None:
        return check(argv[1:])
    if _INTERPRETERS.fullmatch(name):
        return _inline(name, argv[1:])
    return None


def _sed(rest: list[str]) -> str | None:
    scripts: list[str] = []
    plain: list[str] = []
    index = 0
    while index < len(rest):
        word = rest[index]
        if word == "--":
            plain += rest[index + 1 :]
            break
        if word.startswith("--"):
            name, _, value = word.partition("=")
            if len(name) > 3 and "--in-place".startswith(name):
                return "sed edits files in place"
            if "--expression".startswith(name) and len(name) > 3:
                scripts.append(value or "".join(rest[index + 1 : index + 2]))
                index += 0 if value else 1
            elif "--file".startswith(name) and len(name) > 3:
                return "sed runs a script that cannot be seen here"
        elif word.startswith("-") and len(word) > 1:
            for at, letter in enumerate(word[1:], 1):
                if letter == "i":
                    return "sed edits files in place"
                if letter in "efl":
                    value = word[at + 1 :] or "".join(rest[index + 1 : index + 2])
                    index += 0 if word[at + 1 :] else 1
                    if letter == "f":
                        return "sed runs a script that cannot be seen here"
                    scripts += [value] if letter == "e" else []
                    break
        else:
            plain.append(word)
        index += 1
    for script in scripts or plain[:1]:
        if _sed_writes(script):
            return "the sed script writes a file or runs a command"
    return None


def _sed_writes(script: str) -> bool:
    """Whether a sed script has the commands w, W or e, or s with the flags w or e."""
    for line in re.split(r"[\n;{}]|(?<=\})", _without_s(script)):
        text = re.sub(r"^\s*(?:(?:\d+|\$|/(?:\\.|[^/\\])*/[IM]*)(?:[,~+]\s*)?)*\s*!?\s*", "", line)
        match = re.match(r"([wW])\s*(\S+)|e(?:\s|$)", text)
        if match and not (match[1] and _DEVICE.fullmatch(match[2] or "")):
            return True
    return _S_FLAGS.search(script) is not None and _s_writes(script)


_S_FLAGS = re.compile(r"s([^\w\s\\])")


def _s_commands(script: str) -> list[tuple[int, int, str]]:
    """(start, end, flags) of the s and y commands."""
    found: list[tuple[int, int, str]] = []
    position = 0
    while True:
        match = re.compile(r"(?:^|[\s;{}!\d$/,])([sy])([^\w\s\\;])").search(script, position)
        if match is None:
            return found
        mark = re.escape(match[2])
        whole = re.compile(rf"(?:\\.|(?!{mark}).)*{mark}(?:\\.|(?!{mark}).)*{mark}", re.DOTALL)
        body = whole.match(script, match.end())
        if body is None:
            position = match.end()
            continue
        flags = re.compile(r"[gpIimMe\d]*(?:w[ \t]*[^\n;}]*)?").match(script, body.end())
        assert flags is not None
        found.append((match.start(1), flags.end(), flags[0]))
        position = max(flags.end() - 1, match.end())


def _without_s(script: str) -> str:
    out = []
    position = 0
    for start, end, _ in _s_commands(script):
        out.append(script[position:start])
        position = max(end, position)
    return "".join([*out, script[position:]])


def _s_writes(script: str) -> bool:
    for _, _, flags in _s_commands(script):
        target = flags.partition("w")[2].strip()
        if "e" in flags.partition("w")[0] or ("w" in flags and not _DEVICE.fullmatch(target)):
            return True
    return False


def _in_place(name: str) -> Callable[[list[str]], str | None]:
    """perl and ruby: -i in any cluster of switches, and code that writes."""

    def check(rest: list[str]) -> str | None:
        for word in rest:
            if not word.startswith("-") or word in ("-", "--"):
                break
            cluster = re.match(r"-([a-zA-Z0-9]*)", word)
            letters = re.split(r"[eEIMmCxFV]", cluster[1] if cluster else "")[0]
            if "i" in letters:
                return f"{name} edits files in place"
        return _inline(name, rest)

    return check


def _awk(rest: list[str]) -> str | None:
    index = 0
    while index < len(rest) and rest[index].startswith("-"):
        word = rest[index]
        if word in ("-i", "--include") and rest[index + 1 : index + 2] == ["inplace"]:
            return "awk edits files in place"
        if word in ("-iinplace", "--include=inplace"):
            return "awk edits files in place"
        if word in ("-e", "--source"):
            break
        index += 2 if word in ("-F", "-v", "-f", "-i", "-l") else 1
    for program in rest[index : index + 2]:
        code = re.sub(r"/(?:\\.|[^/\\\n])+/", "//", program)
        for match in re.finditer(
            r'\bprintf?\b(?:[^;\n{}>|"]|"(?:\\.|[^"\\])*")*(>>?|\|)\s*([^;}\n]*)', code
        ):
            target = match[2].strip().strip('"')
            if not _DEVICE.fullmatch(target):
                return "the awk program writes a file or a pipe"
        for match in re.finditer(r'system\s*\(\s*"((?:\\.|[^"\\])*)"', code):
            if reason(match[1]):
                return "the awk program runs a command that writes files"
    return None


def _tee(rest: list[str]) -> str | None:
    files = [w for w in rest if not w.startswith("-") and not _DEVICE.fullmatch(w)]
    return f"tee writes {_shown(files[0])}" if files else None


def _dd(rest: list[str]) -> str | None:
    targets = [w[3:] for w in rest if w.startswith("of=") and not _DEVICE.fullmatch(w[3:])]
    return f"dd writes {_shown(targets[0])}" if targets else None


def _copy(name: str) -> Callable[[list[str]], str | None]:
    def check(rest: list[str]) -> str | None:
        words = [w for w in rest if not w.startswith("-") or w == "-"]
        for word in words[:-1]:
            # Content made in a temp folder and put in place is an edit in two steps.
            if _STREAM.fullmatch(word) or (_in_temp(word) and not _in_temp(words[-1])):
                return f"{name} writes content that is no file of the project"
        return None

    return check


def _git(rest: list[str]) -> str | None:
    words, _ = shell_guard._after_globals("git", rest)
    if not words:
        return None
    looks = {"--check", "--stat", "--numstat", "--summary"}
    if words[0] == "apply" and not looks & set(words):
        return "git apply writes files"
    if words[0] == "am":
        return "git am writes files"
    return None


def _always(why: str) -> Callable[[list[str]], str | None]:
    return lambda rest: why


def _editor(name: str) -> Callable[[list[str]], str | None]:
    def check(rest: list[str]) -> str | None:
        if any(word in ("--version", "--help") for word in rest):
            return None
        return f"{name} edits files"

    return check


def _option(why: str, pattern: str) -> Callable[[list[str]], str | None]:
    """Blocked when a word is an option that names an output file or in-place editing."""
    compiled = re.compile(pattern)
    return lambda rest: why if any(compiled.fullmatch(word) for word in rest) else None


def _patch(rest: list[str]) -> str | None:
    return None if "--dry-run" in rest else "patch writes files"


_CHECKS: dict[str, Callable[[list[str]], str | None]] = {
    "sed": _sed, "gsed": _sed, "perl": _in_place("perl"), "ruby": _in_place("ruby"),
    "awk": _awk, "gawk": _awk, "mawk": _awk, "nawk": _awk, "tee": _tee, "sponge": _tee,
    "dd": _dd, "cp": _copy("cp"), "mv": _copy("mv"), "rsync": _copy("rsync"),
    "ln": _copy("ln"), "install": _always("install writes files"),
    "ed": _editor("ed"), "red": _editor("ed"), "ex": _editor("ex"), "vi": _editor("vi"),
    "vim": _editor("vim"), "nvim": _editor("nvim"), "nano": _editor("nano"),
    "emacs": _editor("emacs"), "pico": _editor("pico"), "joe": _editor("joe"),
    "patch": _patch, "git": _git, "truncate": _always("truncate rewrites files"),
    "sort": _option("sort writes a file", r"-\w*o.*|--output.*"),
    "yq": _option("yq edits files in place", r"-\w*i\w*|--inplace.*|--in-place.*"),
    "jq": _option("jq edits files in place", r"--in-place"),
    "shred": _always("shred rewrites files"), "rename": _always("rename renames files"),
    "find": _option("find writes a file", r"-f(?:print0?|printf|ls)"),
    "split": _always("split writes files"), "csplit": _always("csplit writes files"),
}  # fmt: skip


# --- inline scripts ------------------------------------------------------------------------------


def _inline(name: str, rest: list[str]) -> str | None:
    """Code given on the command line."""
    for index, word in enumerate(rest):
        if word in _CODE_OPTIONS and index + 1 < len(rest):
            return _code(name, rest[index + 1])
        attached = re.fullmatch(r"-[a-zA-Z]*?[ceEr](.+)", word, re.DOTALL)
        if attached and re.search(r"\W", attached[1]):
            return _code(name, attached[1])
        if re.fullmatch(r"-[a-zA-Z]*[ceE]", word) and index + 1 < len(rest):
            return _code(name, rest[index + 1])
        if not word.startswith("-"):
            return None
    return None


def _fed_interpreter(simple: Simple) -> str | None:
    """Code given to an interpreter through a here document or a pipe."""
    for argv in simple.argvs:
        name = name_of(argv[0]) if argv else ""
        if not _INTERPRETERS.fullmatch(name) or name in SHELLS:
            continue
        if any(w in _CODE_OPTIONS or not w.startswith("-") for w in argv[1:]):
            continue
        if simple.stdin is not None:
            return _code(name, simple.stdin)
        for source in simple.source:
            text = shell_guard.printed(source)
            if text is not None:
                why = _code(name, text)
                if why:
                    return why
            elif not _prints_files(source):
                return f"{name} runs what another program prints"
    return None


def _prints_files(simple: Simple) -> bool:
    """Whether what it prints is files of the project, as when a script is run by its name."""
    return all(argv and name_of(argv[0]) in ("cat", "head", "tail") for argv in simple.argvs)


def _code(name: str, code: str) -> str | None:
    if not code.strip(f"{UNKNOWN}{OUTSIDE} \n"):
        return f"{name} runs code that is computed"
    text = code.replace(UNKNOWN, "None").replace(OUTSIDE, "None")
    if _PYTHON.fullmatch(name):
        writes = _python_writes(text)
    else:
        writes = _WRITE_CALL.search(text) is not None
    if writes:
        return f"the {name} code writes files"
    for match in _RUNS_SHELL.finditer(text):
        command = next((group for group in match.groups() if group), "")
        if command and reason(command):
            return f"the {name} code runs a command that writes files"
    return None


_PYTHON_WRITES = {
    "write_text", "write_bytes", "writelines", "touch", "unlink", "rmdir", "rmtree", "symlink_to",
    "hardlink_to", "link_to", "copyfile", "copy2", "copytree", "copymode", "move", "remove",
    "removedirs", "rename", "renames", "truncate", "makedirs", "mkdir", "chmod", "symlink",
    "link", "mknod", "mkfifo",
}  # fmt: skip
_PYTHON_FALLBACK = re.compile(
    r"""open\s*\([^)]*['"][rbt]*[wax+]|\.write_(?:text|bytes)|shutil\.|os\.(?:remove|unlink|rename
    |replace|rmdir|mkdir|makedirs|truncate|symlink|link|chmod|open)|\.unlink\(|\.touch\(""",
    re.VERBOSE,
)


def _python_writes(code: str) -> bool:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _PYTHON_FALLBACK.search(code) is not None
    return any(isinstance(node, ast.Call) and _call_writes(node) for node in ast.walk(tree))


def _call_writes(call: ast.Call) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        if function.id == "open":
            return _mode_writes(call, 1)
        if function.id in ("exec", "eval", "compile"):
            return not (call.args and isinstance(call.args[0], ast.Constant)) or _python_writes(
                str(call.args[0].value)
            )
        return function.id in _PYTHON_WRITES - {"remove", "move", "link", "rename"}
    if not isinstance(function, ast.Attribute):
        return False
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    if owner == "shutil":
        return function.attr not in ("which", "disk_usage", "get_terminal_size")
    if function.attr == "open":
        if owner == "os":
            return len(call.args) > 1 and "RDONLY" not in ast.dump(call.args[1])
        in_module = owner in ("io", "codecs", "gzip", "bz2", "lzma", "tarfile", "zipfile")
        return _mode_writes(call, 1 if in_module else 0)
    if function.attr in ("ZipFile", "TarFile", "fdopen"):
        return _mode_writes(call, 1)
    if function.attr in ("remove", "move", "link", "replace", "rename", "copy"):
        return owner in ("os", "shutil") or (function.attr == "rename" and len(call.args) == 1)
    if function.attr == "input" and owner == "fileinput":
        return any(keyword.arg == "inplace" for keyword in call.keywords)
    return function.attr in _PYTHON_WRITES


def _mode_writes(call: ast.Call, position: int) -> bool:
    mode: ast.expr | None = call.args[position] if len(call.args) > position else None
    for keyword in call.keywords:
        if keyword.arg == "mode":
            mode = keyword.value
    if mode is None:
        return False
    if isinstance(mode, ast.Constant) and isinstance(mode.value, str):
        return any(letter in mode.value for letter in "wax+")
    # A mode that is no text here: a path's encoding argument, or computed.
    return not isinstance(mode, ast.Constant)
