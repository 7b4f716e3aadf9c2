"""Confines itself with Landlock and seccomp, then becomes the command. For where bwrap is missing.

Runs alone, as `python -I -S confine.py SPEC PROGRAM ARGS...`; SPEC is JSON
`{"write": [folders], "files": [device files], "network": bool}`. Nothing of taskx is imported here.
Weaker than bubblewrap: modes, owners and times of files outside can still be changed, other
processes are seen, and a repository's hooks are guarded only by the comparison after the command.
Exit code 126 when the confinement could not be set up: the command is then not run.
Sources: landlock(7), Documentation/userspace-api/landlock.rst, seccomp(2), capset(2).
"""

import ctypes
import json
import os
import signal
import struct
import sys
from typing import Any

# machine -> audit architecture, numbers of the system calls that are refused.
REFUSED = {
    "x86_64": (
        0xC000003E,
        {
            "socket": 41, "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311,
            "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "mount": 165,
            "umount2": 166, "pivot_root": 155, "chroot": 161, "setns": 308, "unshare": 272,
            "bpf": 321, "keyctl": 250, "add_key": 248, "request_key": 249,
            "perf_event_open": 298, "open_by_handle_at": 304, "userfaultfd": 323,
            "kexec_load": 246, "init_module": 175, "finit_module": 313,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "socket": 198, "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271,
            "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "mount": 40,
            "umount2": 39, "pivot_root": 41, "chroot": 51, "setns": 268, "unshare": 97,
            "bpf": 280, "keyctl": 219, "add_key": 217, "request_key": 218,
            "perf_event_open": 241, "open_by_handle_at": 265, "userfaultfd": 282,
            "kexec_load": 104, "init_module": 105, "finit_module": 273,
        },
    ),
}  # fmt: skip

LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
ALL_V1 = (1 << 13) - 1
NET_BIND, NET_CONNECT = 1, 2
SCOPE_ABSTRACT, SCOPE_SIGNAL = 1, 2
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 1, 38, 22, 2
SECCOMP_ALLOW, SECCOMP_ERRNO, EPERM = 0x7FFF0000, 0x00050000, 1
X32_BIT = 0x40000000


def libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def landlock_abi(c: Any = None) -> int:
    """Version of Landlock that the kernel enforces, 0 for none."""
    if not sys.platform.startswith("linux"):
        return 0
    version: int = (c or libc()).syscall(
        LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1)
    )
    return max(version, 0)


def check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def restrict_files(c: Any, write: list[str], files: list[str], network: bool) -> None:
    """Reading everywhere; writing only below `write` and to `files`."""
    abi = landlock_abi(c)
    if abi < 1:
        raise OSError(0, "the kernel has no Landlock")
    handled = ALL_V1
    if abi >= 2:
        handled |= REFER
    if abi >= 3:
        handled |= TRUNCATE
    if abi >= 5:
        handled |= IOCTL_DEV
    fields = [handled]
    if abi >= 4:
        fields.append(0 if network else NET_BIND | NET_CONNECT)
    if abi >= 6:
        fields.append(SCOPE_ABSTRACT | SCOPE_SIGNAL)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = check(
        c.syscall(
            LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0)
        ),
        "landlock_create_ruleset",
    )
    device = WRITE_FILE | READ_FILE | (handled & (TRUNCATE | IOCTL_DEV))
    rules = [("/", EXECUTE | READ_FILE | READ_DIR)]
    rules += [(path, handled) for path in write]
    rules += [(path, device) for path in files]
    for path, access in rules:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        rule = struct.pack("=Qi", access, fd)
        added = c.syscall(
            LANDLOCK_ADD, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint32(0)
        )
        check(added, f"landlock_add_rule {path}")
        os.close(fd)
    check(
        c.syscall(LANDLOCK_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0)),
        "landlock_restrict_self",
    )
    os.close(ruleset)


def filter_program(machine: str, network: bool) -> bytes:
    """The seccomp filter as bytes of `struct sock_filter`."""
    architecture, refused = REFUSED[machine]
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    no = (give, 0, 0, SECCOMP_ERRNO | EPERM)
    steps = [(load, 0, 0, 4), (equal, 1, 0, architecture), no, (load, 0, 0, 0)]
    if machine == "x86_64":
        steps += [(at_least, 0, 1, X32_BIT), no]
    for name, number in refused.items():
        if not (network and name == "socket"):
            steps += [(equal, 0, 1, number), no]
    steps.append((give, 0, 0, SECCOMP_ALLOW))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def restrict_calls(c: Any, network: bool) -> None:
    program = filter_program(os.uname().machine, network)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    check(c.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0), "seccomp")


def drop_capabilities(c: Any) -> None:
    header = struct.pack("=Ii", 0x20080522, 0)
    check(c.capset(header, bytes(24)), "capset")


def main() -> None:
    spec = json.loads(sys.argv[1])
    parent = os.getppid()
    try:
        c = libc()
        check(c.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
        if os.getppid() != parent:
            sys.exit(126)
        check(c.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
        restrict_files(c, spec["write"], spec["files"], spec["network"])
        drop_capabilities(c)
        restrict_calls(c, spec["network"])
    except (OSError, KeyError) as error:
        print(f"the command was not run, it could not be confined: {error}", file=sys.stderr)
        sys.exit(126)
    try:
        os.execvp(sys.argv[2], sys.argv[2:])
    except OSError as error:
        print(f"{sys.argv[2]}: {error.strerror}", file=sys.stderr)
        sys.exit(127)


if __name__ == "__main__":
    main()
