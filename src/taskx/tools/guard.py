"""Which paths tools may touch: not outside, not git's internals, secrets only when allowed."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from taskx.edits.paths import Place, resolve
from taskx.errors import ToolError
from taskx.process import protect
from taskx.tools.context import Call, ToolContext

_SECRET_NAME = re.compile(
    r"\.env(?:\..*)?|\.envrc|.*\.(?:pem|key|pfx|p12|ppk|jks|keystore|kdbx)"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|\.netrc|_netrc|\.pgpass|\.git-credentials"
    r"|\.htpasswd|\.npmrc|\.pypirc|credentials(?:\.json)?|service[-_]account.*\.json"
    r"|secrets?\.(?:ya?ml|json|toml)|.*\.tfvars|\.vault-token",
    re.IGNORECASE,
)
_SAMPLE = re.compile(
    r"\.env[._-](?:example|sample|template|dist|defaults?|schema)|.*\.pub", re.IGNORECASE
)


def is_secret(path: str) -> bool:
    """Whether a path names a file that holds keys or passwords, by its name."""
    name = path.rsplit("/", 1)[-1]
    return _SECRET_NAME.fullmatch(name) is not None and _SAMPLE.fullmatch(name) is None


def is_sensitive(context: ToolContext, name: str) -> bool:
    """Whether `name` reaches a secret, or a file that decides what is executed."""
    try:
        place = resolve(context.root, name)
    except ToolError:
        return False
    return is_secret(name) or is_secret(place.rel) or place.rel in protect.HOOK_FILES


def readable(context: ToolContext, name: str, call: Call) -> Place:
    """The place of a file to read: in the workspace, or a result of ours that was too long.

    Raises ToolError: `outsideWorkspace`, or `excluded` for a secret that was not allowed.
    """
    if os.path.isabs(name):
        real = os.path.realpath(name)
        spill = os.path.realpath(context.spill)
        if real.startswith(f"{spill}/"):
            return Place(Path(spill), os.path.relpath(real, spill))
    place = resolve(context.root, name)
    if _in_git(place.rel) and place.rel.rsplit("/", 1)[-1] in ("config", "credentials"):
        raise ToolError("excluded", f"{name} may hold credentials")
    _refuse_secret(context, name, call)
    return place


def writable(context: ToolContext, name: str, call: Call, follow: bool = True) -> Place:
    """The place of a file to write. Raises ToolError, for git's internals `denied`."""
    place = resolve(context.root, name, follow)
    if place.rel == ".":
        raise ToolError("invalidInput", f"{name} is the workspace itself")
    if _in_git(place.rel) or _in_git(os.path.normpath(name)):
        raise ToolError("denied", f"{name}: git's own files are not written by tools")
    for folder in _hook_folders(context.root):
        if place.rel == folder or place.rel.startswith(f"{folder}/"):
            raise ToolError("denied", f"{name}: git runs the files of {folder} as hooks")
    _refuse_secret(context, name, call)
    return place


def _refuse_secret(context: ToolContext, name: str, call: Call) -> None:
    if not call.secrets_ok and is_sensitive(context, name):
        raise ToolError(
            "excluded",
            f"{name} can hold secrets or decide what is executed; the user has to allow it",
        )


def _in_git(rel: str) -> bool:
    return any(part.rstrip(" .").lower() in (".git", "git~1") for part in rel.split("/"))


_HOOKS: dict[tuple[str, int], list[str]] = {}


def _hook_folders(root: Path) -> list[str]:
    """Folders in the workspace that `core.hooksPath` names, relative to the root."""
    try:
        stamp = os.stat(root / ".git/config").st_mtime_ns
    except OSError:
        return []
    key = (str(root), stamp)
    if key not in _HOOKS:
        asked = subprocess.run(
            ["git", "-C", str(root), "config", "--get-all", "-z", "core.hooksPath"],
            capture_output=True,
            timeout=10,
            check=False,
        )
        folders = []
        for value in asked.stdout.split(b"\0"):
            path = os.path.normpath(os.path.join(root, os.path.expanduser(os.fsdecode(value))))
            if value and path.startswith(f"{root}/"):
                rel = os.path.relpath(path, root)
                # husky's hooks in `.husky/_` run the files beside that folder.
                folders.append(os.path.dirname(rel) if os.path.basename(rel) == "_" else rel)
        _HOOKS.clear()
        _HOOKS[key] = [folder for folder in folders if folder]
    return _HOOKS[key]
