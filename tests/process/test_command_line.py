"""Arguments, switches, configuration, logging and exit codes. Rows P03, P04, X03 to X06, X09."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import taskx
from tests.process.client import Runtime
from tests.process.conftest import StartProbe

PROFILE = """
[profiles.local]
kind = "ollama"
model = "qwen3"

[profiles.paid]
kind = "anthropic"
model = "claude"
apiKeyEnv = "MY_KEY"
"""


def ends(*arguments: str, environment: dict[str, str | None] | None = None) -> tuple[int, str]:
    with Runtime(*arguments, environment=environment) as runtime:
        code = runtime.exit_code()
        assert runtime.lines == []
        return code, runtime.stderr()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--nonsense"], "--nonsense"),
        (["serve"], "serve"),
        (["--data-dir"], "--data-dir"),
        (["--data-dir="], "--data-dir"),
        (["--session", "../up"], "--session"),
        (["--session", "a", "--session", "b"], "--session"),
        (["--root", "."], "--root"),
        (["--no-tools"], "--no-tools"),
        (["--acp", "--mcp-server"], "--mcp-server"),
        (["--hook-shell-edit", "--acp"], "--acp"),
        (["--version=1"], "--version"),
    ],
)
def test_X03_wrong_arguments_are_exit_2(arguments: list[str], told: str) -> None:
    code, stderr = ends(*arguments, environment={"TASK_X_SERVE": "off", "TASK_X_CONFIG": "/none"})
    assert code == 2
    assert told in stderr


def test_X06_switched_off_is_exit_5_before_configuration_is_read(tmp_path: Path) -> None:
    broken = tmp_path / "config.toml"
    broken.write_text("[[[")
    for arguments, variable in (
        ((), "TASK_X_SERVE"),
        (("--mcp-server",), "TASK_X_SERVE"),
        (("--acp",), "TASK_X_SERVE"),
        (("--acp",), "TASK_X_ACP"),
    ):
        code, stderr = ends("--config", str(broken), *arguments, environment={variable: "off"})
        assert code == 5
        assert variable in stderr
    code, _ = ends("--config", str(broken), environment={"TASK_X_ACP": "off"})
    assert code == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[[", "not TOML"),
        ("colour = 1", "colour: unknown key"),
        ("exclude = 'x'", "exclude: expected an array"),
        ("exclude = [1]", "exclude: expected an array"),
        ("sandbox = 1", "sandbox: expected true or false"),
        ("[limits]\nmaxIterations = 0", "limits.maxIterations: expected a number >= 1"),
        ("[limits]\nmaxIterations = true", "limits.maxIterations: expected a number"),
        ("[limits]\nmaxFun = 1", "limits.maxFun: unknown key"),
        ("[limits]\nmaxParallel = 9", "limits.maxParallel: expected a number <= 8"),
        ("[[prices]]\nmodel = 'a'", "prices[0].inputPerMtok"),
        ("[bench]\nbaseline = 1", "bench.baseline: expected a string"),
        ("[profiles.a]\nkind = 'ollama'", "profiles.a.model: missing"),
        ("[profiles.a]\nkind = 'x'\nmodel = 'm'", "profiles.a.kind: expected one of"),
        ("[profiles.a]\nkind = 'openai'\nmodel = 'm'", "profiles.a.apiKeyEnv: missing"),
        (
            "[profiles.a]\nkind = 'openaiCompatible'\nmodel = 'm'\napiKeyEnv = 'K'",
            "profiles.a.baseUrl: missing",
        ),
        (
            "[profiles.a]\nkind = 'ollama'\nmodel = 'm'\nbaseUrl = 'ftp://x'",
            "profiles.a.baseUrl: expected an http",
        ),
        ("[profiles.a]\nkind = 'ollama'\nmodel = 'm'\napiKey = 'x'", "profiles.a.apiKey: unknown"),
    ],
)
def test_X04_a_wrong_configuration_is_exit_3(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    code, stderr = ends("--config", str(path))
    assert code == 3
    assert str(path) in stderr
    assert told in stderr
    assert ends(environment={"TASK_X_CONFIG": str(path)})[0] == 3
    (tmp_path / "task-x").mkdir()
    path.rename(tmp_path / "task-x" / "config.toml")
    assert ends(environment={"XDG_CONFIG_HOME": str(tmp_path)})[0] == 3


def test_X04_a_missing_file_profile_or_key_is_exit_3(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(PROFILE)
    missing = str(tmp_path / "none.toml")
    for arguments, environment, told in (
        (("--config", missing), {}, missing),
        ((), {"TASK_X_CONFIG": missing}, missing),
        (("--config", str(path), "--profile", "no"), {}, "profiles.no"),
        (("--profile", "no"), {"XDG_CONFIG_HOME": str(tmp_path)}, "profiles.no"),
        (("--config", str(path), "--profile", "paid"), {}, "MY_KEY"),
    ):
        code, stderr = ends(*arguments, environment=environment)
        assert code == 3
        assert told in stderr


def test_X04_a_data_dir_that_cannot_be_used_is_exit_3(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    code, stderr = ends("--data-dir", str(file), "--session", "s")
    assert code == 3
    assert str(file) in stderr
    code, stderr = ends("--data-dir", str(file / "below"))
    assert code == 3
    assert str(file) in stderr


def test_X04_a_good_configuration_serves(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        'profile = "paid"\nexclude = ["dist/"]\nsandbox = false\n[limits]\nmaxCostUsd = 1.5\n'
        '[[prices]]\nmodel = "m"\ninputPerMtok = 1\noutputPerMtok = 2.5\n[bench]\nbaseline = "b"\n'
        + PROFILE
    )
    with Runtime("--config", str(path), environment={"MY_KEY": "sk-secret"}) as runtime:
        assert runtime.initialize()["capabilities"]["sandbox"] == "none"
        assert runtime.finish() == 0
        assert "sk-secret" not in runtime.stderr()


@pytest.mark.parametrize(
    ("level", "said"),
    [
        (None, [40, 30]),
        ("error", [40]),
        ("warn", [40, 30]),
        ("info", [40, 30, 20]),
        ("debug", [40, 30, 20, 10]),
        ("trace", [40, 30, 20, 10, 5]),
        ("loud", [40, 30]),
    ],
)
def test_P03_the_log_level(probe: StartProbe, level: str | None, said: list[int]) -> None:
    runtime = probe(environment={"TASK_X_LOG": level})
    runtime.result("probe/say", {})
    assert runtime.finish() == 0
    stderr = runtime.stderr()
    assert [n for n in (40, 30, 20, 10, 5) if f"level-{n}\n" in stderr] == said
    assert ("TASK_X_LOG" in stderr) == (level == "loud")


def test_P04_texts_are_not_logged_at_any_level(probe: StartProbe) -> None:
    runtime = probe(environment={"TASK_X_LOG": "trace"})
    secret = "the text of a prompt"
    assert runtime.result("probe/echo", {"text": secret})["text"] == secret
    runtime.error("probe/echo", {"text": secret, "seconds": secret})
    runtime.error("probe/echo", {"kind": secret})
    runtime.error(secret)
    runtime.write(b'{"' + secret.encode() + b'"\n')
    request_id = runtime.start("probe/sleep", {"seconds": 60, "text": secret})
    runtime.notify("$/cancelRequest", {"id": request_id})
    runtime.reply(request_id)
    assert runtime.finish() == 0
    assert secret not in runtime.stderr().replace(f"unknown method {secret!r}", "")


def test_P04_a_reader_of_stderr_that_stalls_delays_nobody(probe: StartProbe) -> None:
    runtime = probe(environment={"TASK_X_LOG": "debug"}, errors=False)
    for _ in range(3000):
        runtime.notify("no/such/notification/" + "x" * 100)
    assert runtime.result("probe/echo", {"text": "still here"}) == {"text": "still here"}
    runtime.notify("exit")
    assert runtime.exit_code() == 0


def test_X09_the_reason_is_in_the_last_lines_of_stderr(tmp_path: Path) -> None:
    _, stderr = ends("--config", str(tmp_path / "none.toml"))
    assert stderr.splitlines()[-1] == (
        f"task-x-runtime: {tmp_path}/none.toml: cannot be read: No such file or directory"
    )
    _, stderr = ends("--nonsense")
    assert stderr.splitlines()[-1] == "task-x-runtime: unknown argument '--nonsense' (see --help)"


def output(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stderr == ""
    return done.stdout


def test_version_and_help() -> None:
    assert output("-m", "taskx", "--version") == f"task-x-runtime {taskx.__version__}\n"
    text = output("-m", "taskx", "--help")
    for word in ("--data-dir", "--session", "--config", "--profile", "TASK_X_LOG", "example:"):
        assert word in text


def test_taskx_serve_is_the_same_as_task_x_runtime() -> None:
    command = (sys.executable, "-c", "from taskx.cli import taskx; taskx()")
    with Runtime("serve", command=command) as runtime:
        runtime.initialize()
        assert runtime.finish() == 0
    with Runtime("serve", "--nonsense", command=command) as runtime:
        assert runtime.exit_code() == 2
    with Runtime("nonsense", command=command) as runtime:
        assert runtime.exit_code() == 2
    assert output("-c", command[2], "--version") == f"taskx {taskx.__version__}\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_survived(closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m taskx {closed}', sys.executable],
        stdin=subprocess.DEVNULL,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0


def command(*arguments: str, stdout: str | None = None, **environment: str) -> tuple[int, str, str]:
    """A command for people: exit code, stdout and stderr."""
    kept = {name: value for name, value in os.environ.items() if "TASK_X" not in name}
    with open(stdout or os.devnull, "wb") as sink:
        done = subprocess.run(
            [sys.executable, "-c", "from taskx.cli import taskx; taskx()", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=sink if stdout else subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            env={**kept, "XDG_CONFIG_HOME": os.devnull, "TASK_X_CACHE": "off", **environment},
            check=False,
        )
    return done.returncode, done.stdout or "", done.stderr


def test_X04_commands_for_people_hold_to_the_configuration(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    (root / "dist").mkdir(parents=True)
    (root / "a.py").write_text("def wanted(): pass\n")
    (root / "dist" / "b.py").write_text("def wanted(): pass\n")
    path = tmp_path / "config.toml"
    path.write_text('exclude = ["dist/"]\n')
    arguments = ("symbols", "wanted", "--json", "--root", str(root))
    code, out, _ = command(*arguments)
    assert (code, out.count('"wanted"')) == (0, 2)
    code, out, _ = command(*arguments, TASK_X_CONFIG=str(path))
    assert (code, out.count('"wanted"')) == (0, 1)
    path.write_text("colour = 1\n")
    code, _, stderr = command(*arguments, TASK_X_CONFIG=str(path))
    assert code == 3
    assert f"{path}: colour: unknown key" in stderr
    code, out, _ = command("doctor", "--json", TASK_X_CONFIG=str(path))
    assert code == 1
    assert any("colour: unknown key" in problem for problem in json.loads(out)["problems"])


def test_X01_output_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    code, _, stderr = command("schema", "--json", stdout="/dev/full")
    assert code == 1
    assert "No space left on device" in stderr
    assert "Traceback" not in stderr
