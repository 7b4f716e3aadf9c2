"""Ends the runtime's children when the runtime itself was killed.

Runs alone, as `python -I -S watchdog.py TOKEN`, in a session of its own. Standard input is a pipe
whose other end only the runtime holds: its end is the runtime's end, however it came. Lines
`+PID` and `-PID` name process groups that are running. Nothing of taskx is imported here.
"""

import contextlib
import os
import signal
import sys
import time

MARK = b"TASK_X_CHILD="
ROUNDS = 50


def marked(needle: bytes) -> list[int]:
    """Processes whose environment holds `needle`; none where there is no /proc."""
    found: list[int] = []
    try:
        names = os.listdir("/proc")
    except OSError:
        return found
    own = os.getpid()
    for name in names:
        if not name.isdigit() or int(name) == own:
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if needle in file.read():
                    found.append(int(name))
        except OSError:
            continue
    return found


def end_marked(needle: bytes) -> int:
    """SIGKILL to every process that carries `needle`, until none is left. Returns how many."""
    ended = 0
    for _ in range(ROUNDS):
        pids = marked(needle)
        if not pids:
            break
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                ended += 1
        time.sleep(0.002)
    return ended


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin.buffer:
        pid = int(line[1:])
        if line.startswith(b"+"):
            groups.add(pid)
        else:
            groups.discard(pid)
    for pid in groups:
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
    end_marked(MARK + sys.argv[1].encode() + b".")


if __name__ == "__main__":
    main()
