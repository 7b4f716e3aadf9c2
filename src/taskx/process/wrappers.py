"""Programs that run other programs: what they run, by the words they are given."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field

from taskx.process.shell import OUTSIDE, UNKNOWN

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "yash"})

# Wrapper -> options that take a value; what is left after the options is a command.
_PREFIXES: dict[str, frozenset[str]] = {
    "env": frozenset({"-u", "--unset", "-C", "--chdir", "-S", "--split-string"}),
    "sudo": frozenset(
        [
            "-u",
            "-g",
            "-h",
            "-p",
            "-C",
            "-T",
            "-r",
            "-t",
            "-U",
            "-D",
            "-R",
            "--user",
            "--group",
            "--host",
            "--prompt",
        ]
    ),
    "doas": frozenset({"-u", "-C"}),
    "pkexec": frozenset({"--user"}),
    "nice": frozenset({"-n", "--adjustment"}),
    "ionice": frozenset({"-c", "-n", "-p", "--class", "--classdata"}),
    "chrt": frozenset({"-T", "-P", "-D"}),
    "nohup": frozenset(),
    "setsid": frozenset(),
    "stdbuf": frozenset({"-i", "-o", "-e", "--input", "--output", "--error"}),
    "unbuffer": frozenset(),
    "time": frozenset({"-f", "-o", "--format", "--output"}),
    "timeout": frozenset({"-s", "-k", "--signal", "--kill-after"}),
    "command": frozenset(),
    "builtin": frozenset(),
    "exec": frozenset({"-a"}),
    "noglob": frozenset(),
    "nocorrect": frozenset(),
    "coproc": frozenset(),
    "chroot": frozenset({"--userspec", "--groups"}),
    "unshare": frozenset({"-S", "-G", "-R", "-w", "--root", "--wd", "--setuid", "--setgid"}),
    "nsenter": frozenset({"-t", "--target", "-S", "-G"}),
    "taskset": frozenset(),
    "setarch": frozenset(),
    "prlimit": frozenset({"-p", "--pid"}),
    "xargs": frozenset(
        [
            "-I",
            "-n",
            "-P",
            "-L",
            "-s",
            "-d",
            "-E",
            "-a",
            "--replace",
            "--max-args",
            "--max-procs",
            "--max-lines",
            "--max-chars",
            "--delimiter",
            "--eof",
            "--arg-file",
        ]
    ),
    "parallel": frozenset({"-j", "-n", "-N", "-I", "-a", "-C", "-S", "--jobs", "--arg-file"}),
    "strace": frozenset({"-e", "-o", "-p", "-s", "-u", "-E", "-P", "-O", "-S", "-a", "-b", "-I"}),
    "ltrace": frozenset({"-e", "-o", "-p", "-s", "-u", "-l", "-x", "-a", "-A", "-n", "-F"}),
    "perf": frozenset({"-e", "-o"}),
    "valgrind": frozenset(),
    "watch": frozenset({"-n", "-d", "--interval"}),
    "busybox": frozenset(),
    "toybox": frozenset(),
    "xvfb-run": frozenset({"-n", "-s", "-e", "-f"}),
    "dbus-run-session": frozenset(),
    "caffeinate": frozenset({"-t", "-w"}),
    "flock": frozenset({"-w", "-E", "--timeout", "--wait", "--conflict-exit-code"}),
    "entr": frozenset(),
    "runuser": frozenset({"-u", "-g", "-G", "-s"}),
    "uv": frozenset({"--with", "--python", "-p", "--project", "--directory"}),
    "npx": frozenset({"-p", "--package"}),
    "poetry": frozenset(),
    "bwrap": frozenset(),
}
# Words before the command that are no options: a duration, a folder, a mask, a file.
_POSITIONAL = {"timeout": 1, "chroot": 1, "taskset": 1, "setarch": 1, "flock": 1, "chrt": 1}
# Only after this word does a command come.
_AFTER = {"uv": "run", "poetry": "run", "perf": "stat"}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


@dataclass
class Inner:
    """argvs: commands that it runs. scripts: shell text that it runs. unclear: cannot be told."""

    argvs: list[list[str]] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    unclear: bool = False


def name_of(word: str) -> str:
    """The program that a word names, without its folder; with marks when it is not known."""
    name = word.rsplit("/", 1)[-1]
    return name.removesuffix(".exe")


def known(word: str) -> bool:
    return UNKNOWN not in word and OUTSIDE not in word


def inner(argv: list[str]) -> Inner:
    """What `argv` runs beside itself."""
    found = Inner()
    if not argv:
        return found
    name, rest = name_of(argv[0]), argv[1:]
    if name in SHELLS or (OUTSIDE in name and "-c" in rest):
        _shell(rest, found)
    elif name in ("su", "script") or (name == "npx" and "-c" in rest):
        rest = [re.sub(r"\A-[a-zA-Z]+c\Z", "-c", word) for word in rest]
        _after_option(rest, ("-c", "--command"), found)
    elif name == "eval":
        found.scripts.append(" ".join(rest))
    elif name == "trap" and rest:
        found.scripts.append(rest[0] if rest[0] != "--" else " ".join(rest[1:2]))
    elif name == "alias":
        found.scripts += [word.split("=", 1)[1] for word in rest if "=" in word]
    elif name in ("find", "gfind", "fd", "fdfind"):
        _find(rest, found)
    elif name == "git":
        _git(rest, found)
    elif name == "ssh":
        _ssh(rest, found)
    elif name in ("tar", "gtar", "rsync", "scp", "sftp"):
        _programs_in_options(rest, found)
    elif name in _PREFIXES:
        _prefix(name, rest, found)
    for script in found.scripts:
        found.unclear |= not known(script) and not script.strip(UNKNOWN + OUTSIDE + " ")
    return found


def _shell(rest: list[str], found: Inner) -> None:
    for index, word in enumerate(rest):
        if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word):
            scripts = [w for w in rest[index + 1 :] if not re.fullmatch(r"[-+][a-zA-Z]+", w)]
            found.scripts += scripts[:1]
            found.unclear |= not scripts
            return
        if word in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file"):
            continue
        if UNKNOWN in word and word.startswith(UNKNOWN):
            found.unclear = True


def _after_option(rest: list[str], names: tuple[str, ...], found: Inner) -> None:
    for index, word in enumerate(rest):
        if word in names and index + 1 < len(rest):
            found.scripts.append(rest[index + 1])
        for name in names:
            if word.startswith(name) and word != name:
                found.scripts.append(word[len(name) :].lstrip("="))


def _find(rest: list[str], found: Inner) -> None:
    starts = ("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch")
    index = 0
    while index < len(rest):
        if rest[index] in starts:
            end = index + 1
            while end < len(rest) and rest[end] not in (";", "+"):
                end += 1
            found.argvs.append(rest[index + 1 : end])
            index = end
        index += 1


def _git(rest: list[str], found: Inner) -> None:
    for index, word in enumerate(rest):
        following = rest[index + 1] if index + 1 < len(rest) else ""
        if word == "-c" and "=" in following:
            value = following.split("=", 1)[1]
            if following.startswith("alias.") and not value.startswith("!"):
                value = f"git {value}"
            found.scripts.append(value.removeprefix("!"))
        elif word in ("--exec", "-x") and following and "rebase" in rest:
            found.scripts.append(following)
        elif word.startswith("--exec=") and "rebase" in rest:
            found.scripts.append(word[7:])
        elif word == "foreach" and "submodule" in rest[:index]:
            words = [w for w in rest[index + 1 :] if w not in ("--recursive", "--quiet", "-q")]
            found.scripts.append(" ".join(words))
            return
        elif word == "run" and "bisect" in rest[:index]:
            found.argvs.append(rest[index + 1 :])
            return


def _ssh(rest: list[str], found: Inner) -> None:
    index = 0
    with_value = set("bcDEeFIiJLlmOopQRSWw")
    while index < len(rest) and rest[index].startswith("-"):
        if len(rest[index]) == 2 and rest[index][1] in with_value:
            index += 1
            if index < len(rest) and "=" in rest[index]:
                found.scripts.append(rest[index].split("=", 1)[1])
        index += 1
    found.scripts.append(" ".join(rest[index + 1 :]))


def _programs_in_options(rest: list[str], found: Inner) -> None:
    for index, word in enumerate(rest):
        following = rest[index + 1] if index + 1 < len(rest) else ""
        if "exec=" in word:
            found.scripts.append(word.split("exec=", 1)[1])
        elif re.match(r"--(?:use-compress-program|rsh|to-command|rsync-path)=", word):
            found.scripts.append(word.split("=", 1)[1])
        elif word in ("-I", "-e", "--use-compress-program", "--rsh", "--to-command"):
            found.scripts.append(following)
        elif word == "--checkpoint-action" and following.startswith("exec="):
            found.scripts.append(following[5:])


def _prefix(name: str, rest: list[str], found: Inner) -> None:
    if name == "coproc" and "{" in rest:
        found.argvs.append(rest[rest.index("{") + 1 :])
        return
    if name in _AFTER:
        if _AFTER[name] not in rest:
            return
        rest = rest[rest.index(_AFTER[name]) + 1 :]
    with_value = _PREFIXES[name]
    index = 0
    positional = _POSITIONAL.get(name, 0)
    while index < len(rest):
        word = rest[index]
        if word == "--":
            index += 1
            break
        if name == "command" and re.fullmatch(r"-[pvV]*[vV][pvV]*", word):
            return
        if name == "env" and word.startswith(("-S", "--split-string")):
            text = word.split("=", 1)[1] if "=" in word else word[2:]
            following = rest[index + 1 :]
            if not text:
                text, following = " ".join(following[:1]), following[1:]
            found.scripts.append(" ".join([text.strip(), *map(shlex.quote, following)]))
            return
        if name == "flock" and word in ("-c", "--command"):
            found.scripts += rest[index + 1 : index + 2]
            return
        if word.startswith("-") and len(word) > 1:
            index += 2 if word in with_value else 1
        elif name in ("env", "sudo", "doas") and _ASSIGNMENT.match(word):
            index += 1
        elif positional:
            positional -= 1
            index += 1
        else:
            break
    if positional and index < len(rest):
        index += positional
    command = rest[index:]
    if not command:
        return
    if name == "watch" or (name in ("parallel", "entr") and " " in command[0]):
        found.scripts.append(" ".join(command))
    else:
        found.argvs.append(command)
