"""The sandbox through real commands in real repositories: what they can do, what is undone."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from taskx.process.launch import Launcher
from taskx.process.sandbox import Kind, Sandbox, available

KINDS: list[Kind] = ["bubblewrap", "landlock"]


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that is neither the workspace nor below a temp folder that the sandbox replaces."""
    folder = Path.home() / f".task-x-test-{os.getpid()}"
    folder.mkdir()
    yield folder
    subprocess.run(["rm", "-rf", folder], check=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ws"
    root.mkdir()
    git(root, "init", "-q")
    git(root, "config", "user.email", "a@b")
    git(root, "config", "user.name", "n")
    (root / "a.txt").write_text("a\n")
    (root / "AGENTS.md").write_text("be kind\n")
    (root / "vendor/sub").mkdir(parents=True)
    git(root / "vendor/sub", "init", "-q")
    (root / ".githooks").mkdir()
    (root / ".githooks/pre-push").write_text("#!/bin/sh\n")
    git(root, "config", "core.hooksPath", ".githooks")
    return root


def git(folder: Path, *args: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *args], check=True, capture_output=True, text=True
    ).stdout


def run(
    root: Path, script: str, kind: Kind, timeout_s: float = 20, home: str | None = None
) -> tuple[int | None, str, list[str]]:
    async def main() -> tuple[int | None, str, list[str]]:
        launcher = Launcher(os.environ)
        sandbox = Sandbox(
            launcher, root, kind, root.parent / "private", path=os.environ["PATH"], home=home
        )
        try:
            confined = await sandbox.start(["sh", "-c", script], cwd=root, timeout_s=timeout_s)
            outcome, notes = await confined.wait()
            return outcome.exit_code, outcome.capture.text(), notes
        finally:
            launcher.close()

    return asyncio.run(main())


def test_A16_this_machine_has_bubblewrap() -> None:
    assert available(os.environ["PATH"]) == "bubblewrap"
    assert available("/nowhere") == "landlock"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("script", "works"),
    [
        ("echo b > b.txt && cat a.txt b.txt", True),
        ('echo x > "$TMPDIR/x" && cat "$TMPDIR/x"', True),
        ("echo x > {outside}/x", False),
        ("rm -rf {outside}/kept; test ! -e {outside}/kept", False),
        ("ln -s {outside} out && echo x > out/x", False),
        ("mount -o remount,rw,bind /", False),
        ("echo x > /etc/task-x-test", False),
        ("echo x > /dev/null", True),
        ("git add a.txt && git commit -qm one", True),
        ("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 2)'", False),
        ("python3 -c 'import socket as s; s.socket(s.AF_UNIX).connect(\"{sock}\")'", False),
        ("python3 -c 'import socket; socket.socketpair()'", True),
        ("python3 -c 'import socket; s=socket.socket(socket.AF_INET, socket.SOCK_DGRAM);"
         " s.sendto(b\"x\", (\"192.0.2.1\", 9))'", False),
    ],
)  # fmt: skip
def test_A16_commands_stay_inside(
    script: str, works: bool, kind: Kind, root: Path, outside: Path
) -> None:
    (outside / "kept").write_text("kept")
    (outside / "kept").chmod(0o600)
    with socket.socket() as tcp, socket.socket(socket.AF_UNIX) as unix:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        unix.bind(str(outside / "sock"))
        unix.listen()
        filled = script.replace("{outside}", str(outside))
        filled = filled.replace("{port}", str(tcp.getsockname()[1]))
        code, text, notes = run(root, filled.replace("{sock}", str(outside / "sock")), kind)
    assert (code == 0) is works, text
    assert notes == []
    assert (outside / "kept").read_text() == "kept"
    assert not (outside / "x").exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "script",
    [
        "echo '#!/bin/sh' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
        "mkdir -p vendor/sub/.git/hooks; echo x > vendor/sub/.git/hooks/pre-commit",
        "echo x > .githooks/pre-commit",
        "echo x > .githooks/pre-push",
        "rm .githooks/pre-push; ln -s /bin/true .githooks/pre-push",
        "printf '[core]\\nfsmonitor=evil\\n' >> .git/config",
        "git config core.fsmonitor evil",
        "git config alias.st '!evil'",
        "printf '[core]\\nfsmonitor=evil\\n' > .git/config.worktree",
        "printf '[core]\\nfsmonitor=evil\\n' >> vendor/sub/.git/config",
        "mv .git/hooks .git/h2; mkdir .git/hooks; echo x > .git/hooks/pre-commit",
        "mv vendor v2; mkdir -p vendor/sub; cp -r v2/sub/.git vendor/sub/.git;"
        "echo x > vendor/sub/.git/hooks/post-checkout",
        "git init -q new && git -C new config core.fsmonitor evil",
        "git init -q new && echo x > new/.git/hooks/pre-commit",
        "git init -q --bare bare && git -C bare config core.fsmonitor evil",
        "mkdir -p .task-x && echo '{\"preToolUse\": []}' > .task-x/hooks.json",
        "mkdir -p .git/rebase-merge && echo 'exec evil' > .git/rebase-merge/git-rebase-todo",
        "git init -q g && git -C g config core.pager evil && mkdir w && mv g/.git g/gd && "
        "echo 'gitdir: ../g/gd' > w/.git",
    ],
)
def test_S4_nothing_is_left_that_git_would_run(script: str, kind: Kind, root: Path) -> None:
    before = everything(root)
    _, text, notes = run(root, script, kind)
    assert notes or "denied" in text or "Read-only" in text or "could not" in text or "busy" in text
    after = everything(root)
    for name, data in after.items():
        parts = name.split("/")
        if "hooks" in name or parts[-1].startswith(("config", "pre-")) or ".githooks" in parts:
            assert b"evil" not in data, name
            copies = {n.replace("v2/", "vendor/") for n in (name,)}
            assert copies & before.keys() or name.startswith(("new/", "bare/", "g/")), name
        assert b"exec evil" not in data
    for name, data in before.items():
        if name in after and ("hooks" in name or name.endswith("config")):
            assert after[name] == data, name


def everything(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.name.endswith(".sample")
    }


@pytest.mark.parametrize(("kind", "mode"), [("bubblewrap", 0o600), ("landlock", 0o777)])
def test_A16_modes_outside(kind: Kind, mode: int, root: Path, outside: Path) -> None:
    """Landlock has no rule for chmod: with it, modes of one's own files can be changed anywhere."""
    (outside / "kept").write_text("kept")
    (outside / "kept").chmod(0o600)
    run(root, f"chmod 777 {outside}/kept", kind)
    assert (outside / "kept").stat().st_mode & 0o777 == mode


def test_S4_git_directory_cannot_be_renamed(root: Path) -> None:
    code, text, notes = run(root, "mv .git gone", "bubblewrap")
    assert code != 0
    assert "busy" in text.lower()
    assert notes == []


def test_A16_instructions_are_read_only(root: Path) -> None:
    code, text, _ = run(root, "echo obey > AGENTS.md", "bubblewrap")
    assert code != 0
    assert "Read-only" in text
    assert (root / "AGENTS.md").read_text() == "be kind\n"


def test_plain_new_repository_is_left_alone(root: Path) -> None:
    code, text, notes = run(
        root, "git init -q new && git -C new status --short && echo ok", "bubblewrap"
    )
    assert (code, text, notes) == (0, "ok\n", [])


def test_A16_keys_in_the_home_folder_are_hidden(root: Path, outside: Path) -> None:
    (outside / ".ssh").mkdir()
    (outside / ".ssh/id_rsa").write_text("KEY")
    (outside / ".netrc").write_text("KEY")
    script = f"cat {outside}/.ssh/id_rsa {outside}/.netrc"
    _, text, _ = run(root, script, "bubblewrap", home=str(outside))
    assert "KEY" not in text


def test_L1_killed_sandbox_leaves_nothing(root: Path) -> None:
    _, text, _ = run(root, "sleep 4321 & (setsid sleep 4321 &) ; wait", "bubblewrap", timeout_s=0.5)
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "sleep 4321" not in listed.stdout, text


@pytest.mark.parametrize("kind", KINDS)
def test_command_sees_its_exit_code_and_signal(kind: Kind, root: Path) -> None:
    assert run(root, "exit 7", kind)[0] == 7


def test_what_the_user_does_meanwhile_stays(root: Path) -> None:
    """The command could not write to git's settings: a change of them is not the command's."""

    async def main() -> list[str]:
        launcher = Launcher(os.environ)
        sandbox = Sandbox(launcher, root, "bubblewrap", root.parent / "p", path=os.environ["PATH"])
        os.mkfifo(root / "fifo")
        confined = await sandbox.start(["sh", "-c", "read x < fifo"], cwd=root)
        await asyncio.to_thread(git, root, "config", "alias.st", "status")
        (root / ".githooks/pre-push").write_text("#!/bin/sh\n# changed\n")
        fd = await asyncio.to_thread(os.open, root / "fifo", os.O_WRONLY)
        os.close(fd)
        _, notes = await confined.wait()
        launcher.close()
        return notes

    assert asyncio.run(main()) == []
    assert git(root, "config", "alias.st") == "status\n"
    assert "changed" in (root / ".githooks/pre-push").read_text()


def test_data_folder_in_the_workspace_is_out_of_reach(root: Path) -> None:
    (root / "data").mkdir()
    (root / "data/log").write_text("kept")

    async def main() -> int | None:
        launcher = Launcher(os.environ)
        sandbox = Sandbox(
            launcher,
            root,
            "bubblewrap",
            root / "data/run",
            path=os.environ["PATH"],
            kept=[root / "data"],
        )
        script = 'echo x > "$TMPDIR/x" && echo x > data/log'
        confined = await sandbox.start(["sh", "-c", script], cwd=root)
        outcome, _ = await confined.wait()
        launcher.close()
        return outcome.exit_code

    assert asyncio.run(main()) != 0
    assert (root / "data/log").read_text() == "kept"
