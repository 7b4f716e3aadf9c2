"""Confines commands: they write to the workspace and a private temp folder, and have no network.

Linux with bubblewrap: namespaces, every capability dropped, what git would execute mounted
read-only. Linux without it: Landlock for files, seccomp for sockets (`confine`). Elsewhere: none,
and the caller asks before a command runs. In every case `Sandbox.run` compares what git or a hook
would later execute with what it was before, and undoes changes (`protect`).
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from taskx.private_files import make_private_folder
from taskx.process import command, confine, protect
from taskx.process.launch import Launcher
from taskx.process.output import Capture

Kind = Literal["bubblewrap", "landlock", "none"]

BASE = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
# Without `--cap-drop ALL` root can remount; without `--unshare-pid` children outlive bwrap.
ISOLATION = ("--unshare-user", "--unshare-pid", "--unshare-ipc")
END = ("--cap-drop", "ALL", "--new-session", "--die-with-parent")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")
# Folders and files that hold keys: empty inside.
SECRET_FOLDERS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh",
    ".config/op", ".1password", ".password-store", ".local/share/keyrings", ".config/task-x",
)  # fmt: skip
SECRET_FILES = (".netrc", ".pgpass", ".git-credentials", ".npmrc", ".pypirc", ".vault-token")
# Sockets of services are reached through paths, which a network namespace does not cut.
SOCKET_FOLDERS = ("/run",)
KEPT_IN_RUN = ("/run/current-system", "/run/wrappers", "/run/opengl-driver")
SCAN_TIMEOUT_S = 10


@dataclass(frozen=True)
class Confined:
    """A running confined command. Await `wait` of this, not of `running`: it undoes."""

    running: command.Command
    sandbox: Sandbox
    before: protect.Guarded

    async def wait(self) -> tuple[command.Outcome, list[str]]:
        """The outcome, and one sentence for each change that was undone."""
        try:
            outcome = await self.running.wait()
        except asyncio.CancelledError:
            await asyncio.shield(self.sandbox.inspect(self.before))
            raise
        return outcome, await asyncio.shield(self.sandbox.inspect(self.before))


def available(launcher_path: str) -> Kind:
    """The confinement this machine can give. Runs bwrap once: it can be there and be forbidden."""
    if not sys.platform.startswith("linux"):
        return "none"
    program = shutil.which("bwrap", path=launcher_path)
    if program is not None:
        probe = [program, *BASE, *ISOLATION, "--unshare-net", *END, "--", "true"]
        done = subprocess.run(probe, capture_output=True, timeout=10, check=False)
        if done.returncode == 0:
            return "bubblewrap"
    if platform.machine() in confine.REFUSED and confine.landlock_abi() >= 1:
        return "landlock"
    return "none"


class Sandbox:
    """Runs commands in `root`.

    private: folder of this runtime, 0700, for the temp folder and what is moved aside.
    kept: folders that commands must not write to, should they be in the workspace.
    """

    def __init__(
        self,
        launcher: Launcher,
        root: Path,
        kind: Kind,
        private: Path,
        *,
        path: str = os.defpath,
        home: str | None = None,
        kept: Sequence[Path] = (),
    ) -> None:
        self._launcher = launcher
        self.root = root.resolve()
        self.kind: Kind = kind
        self._private = private.resolve()
        self._home = home
        self._kept = [str(folder.resolve()) for folder in kept]
        self._bwrap = shutil.which("bwrap", path=path) or "bwrap"
        self.temp = self._private / "tmp"
        make_private_folder(self.temp)

    async def start(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        capture: Capture | None = None,
        timeout_s: float | None = None,
        on_output: command.OnOutput | None = None,
        network: bool = False,
        env: Mapping[str, str] | None = None,
    ) -> Confined:
        """Starts `argv` confined. Raises ToolError when it cannot be started."""
        before = await self.look()
        wrapped, extra = self.wrap(argv, cwd, before, network)
        running = command.start(
            self._launcher,
            wrapped,
            cwd=cwd,
            env=self._launcher.environment({**extra, **(env or {})}),
            capture=capture,
            timeout_s=timeout_s,
            on_output=on_output,
        )
        return Confined(running, self, before)

    def wrap(
        self, argv: Sequence[str], cwd: Path, before: protect.Guarded, network: bool
    ) -> tuple[list[str], dict[str, str]]:
        """The command line that confines `argv`, and variables for its environment."""
        if self.kind == "bubblewrap":
            extra = _caches("/tmp")
            return [*self._bubblewrap(cwd, before, network), "--", *argv], extra
        extra = _caches(str(self.temp))
        if self.kind == "landlock":
            spec = {
                "write": [str(self.root), str(self.temp)],
                "files": [f"/dev/{name}" for name in DEVICES],
                "network": network,
            }
            python = [sys.executable, "-I", "-S", confine.__file__]
            return [*python, json.dumps(spec), *argv], extra
        return list(argv), extra

    def _bubblewrap(self, cwd: Path, before: protect.Guarded, network: bool) -> list[str]:
        root = str(self.root)
        args = [self._bwrap, *BASE, "--bind", str(self.temp), "/tmp"]
        if os.path.isdir("/var/tmp") and not os.path.islink("/var/tmp"):
            args += ["--bind", str(self.temp), "/var/tmp"]
        args += self._hidden()
        args += ["--bind", root, root]
        for path in sorted(before.git_dirs):
            args += ["--bind", path, path]
        seen = set()
        for path in (*before.existing(), *before.read_only, *self._kept):
            real = os.path.realpath(path)
            if real not in seen and real.startswith(f"{root}/") and os.path.exists(real):
                seen.add(real)
                args += ["--ro-bind", real, real]
        args += [*ISOLATION, *(() if network else ("--unshare-net",)), *END]
        return [*args, "--chdir", str(cwd)]

    def _hidden(self) -> list[str]:
        """Empty folders over keys and services' sockets. The workspace is bound after these."""
        args: list[str] = []
        for folder in SOCKET_FOLDERS:
            if os.path.isdir(folder):
                args += ["--tmpfs", folder]
        for path in KEPT_IN_RUN:
            args += ["--ro-bind-try", path, path]
        covered = [*SOCKET_FOLDERS, "/tmp", "/var/tmp", "/dev", "/proc", str(self.root)]
        if self._home and os.path.isdir(self._home):
            home = os.path.realpath(self._home)
            for name in SECRET_FOLDERS:
                path = f"{home}/{name}"
                if os.path.isdir(path) and not _within(str(self.root), path):
                    args += ["--tmpfs", os.path.realpath(path)]
                    covered.append(os.path.realpath(path))
            for name in SECRET_FILES:
                path = os.path.realpath(f"{home}/{name}")
                if os.path.isfile(path):
                    args += ["--ro-bind", "/dev/null", path]
        for path in _sockets():
            if not any(_within(path, folder) for folder in covered):
                args += ["--ro-bind", "/dev/null", path]
        return args

    async def look(self) -> protect.Guarded:
        """What is to be guarded in the workspace now."""
        root = str(self.root)
        settings = ["git", "-C", root, "config", "--list", "-z", "--show-origin", "--includes"]
        found, listed = await asyncio.gather(
            self._output(protect.find_command(root)), self._output(settings)
        )
        paths = None
        if found is not None:
            paths = [os.fsdecode(path) for path in found.split(b"\0") if path]
        return await asyncio.to_thread(protect.collect, self.root, paths, _settings(listed or b""))

    async def inspect(self, before: protect.Guarded) -> list[str]:
        """Undoes what a command changed of `before`; one sentence for each thing undone."""
        after = await self.look()
        plain = {}
        for path, identity in after.git_dirs.items():
            if before.git_dirs.get(path) != identity:
                config = f"{path}/config"
                listing = ["git", "config", "--file", config, "--no-includes", "--list", "-z"]
                settings = await self._output(listing)
                plain[path] = settings is not None and protect.settings_are_plain(settings)
        aside = self._private / "undone"
        held = self.kind == "bubblewrap"
        return await asyncio.to_thread(protect.undo, before, after, aside, plain, held)

    async def _output(self, argv: Sequence[str]) -> bytes | None:
        """Standard output of one of our own programs, unconfined; None when it failed."""
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=self.root,
                env=self._launcher.environment({"GIT_OPTIONAL_LOCKS": "0"}),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except OSError:
            return None
        try:
            output, _ = await asyncio.wait_for(process.communicate(), SCAN_TIMEOUT_S)
        except TimeoutError:
            process.kill()
            await process.wait()
            return None
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        # `find` fails for a folder it may not enter, and has listed the rest.
        return output if process.returncode == 0 or output else None

    def close(self) -> None:
        """Removes the private temp folder; what was moved aside stays."""
        shutil.rmtree(self.temp, ignore_errors=True)


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _caches(temp: str) -> dict[str, str]:
    """Build tools write caches below the home folder, which is read-only inside."""
    cache = f"{temp}/.cache"
    return {
        "TMPDIR": temp,
        "XDG_CACHE_HOME": cache,
        "GOCACHE": f"{cache}/go-build",
        "PIP_CACHE_DIR": f"{cache}/pip",
        "UV_CACHE_DIR": f"{cache}/uv",
        "npm_config_cache": f"{cache}/npm",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _sockets() -> list[str]:
    """Paths of unix sockets that some process listens on."""
    try:
        with open("/proc/net/unix", "rb") as file:
            rows = file.read().splitlines()[1:]
    except OSError:
        return []
    paths = set()
    for row in rows:
        fields = row.split(None, 7)
        if len(fields) == 8 and fields[7].startswith(b"/"):
            path = os.path.realpath(os.fsdecode(fields[7]))
            try:
                if stat.S_ISSOCK(os.lstat(path).st_mode):
                    paths.add(path)
            except OSError:
                continue
    return sorted(paths)


def _settings(listing: bytes) -> list[tuple[str, str, str]]:
    """Rows of `git config --list -z --show-origin` as (file, name, value)."""
    fields = listing.split(b"\0")
    rows = []
    for origin, setting in zip(fields[0::2], fields[1::2], strict=False):
        name, _, value = setting.partition(b"\n")
        where = os.fsdecode(origin).removeprefix("file:") if origin.startswith(b"file:") else ""
        rows.append((where, os.fsdecode(name), os.fsdecode(value)))
    return rows
