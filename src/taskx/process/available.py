"""Which sandbox this machine offers, by looking only: nothing is started.

Imported before `initialize` is answered, so it needs little.
"""

from __future__ import annotations

import os


def sandbox_kind() -> str:
    """ "bubblewrap", "landlock" or "none"."""
    if _on_path("bwrap") and _user_namespaces():
        return "bubblewrap"
    if "landlock" in _read("/sys/kernel/security/lsm").split(","):
        return "landlock"
    return "none"


def _on_path(program: str) -> bool:
    return any(os.access(os.path.join(folder, program), os.X_OK) for folder in os.get_exec_path())


def _user_namespaces() -> bool:
    """Whether this user may make user namespaces; root needs none."""
    if os.geteuid() == 0:
        return True
    forbidden = _read("/proc/sys/kernel/unprivileged_userns_clone").strip() == "0"
    return not forbidden and _read("/proc/sys/user/max_user_namespaces").strip() != "0"


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""
