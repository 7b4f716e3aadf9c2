"""`taskx chat` at a terminal and in a pipe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.providers.fakes.script import CALLS, HELLO, REASONED
from tests.providers.kinds import ANTHROPIC, COMPATIBLE, COMPATIBLE_KEY, OLLAMA, OPENAI

TEXT = HELLO.steps[0].text + "\n"


def taskx_chat(
    *arguments: str, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if "API_KEY" not in key}
    return subprocess.run(
        [sys.executable, "-c", "from taskx.cli import taskx; taskx()", "chat", *arguments],
        input=stdin,
        capture_output=True,
        timeout=30,
        encoding="utf-8",
        env={**kept, "PYTHONIOENCODING": "utf-8", **environment},
        check=False,
    )


def test_V09_url_is_enough_and_the_first_model_is_taken() -> None:
    rows = [{"id": "b"}, {"id": "a"}]
    with COMPATIBLE.serve(HELLO, models=rows, key="none") as server:
        done = taskx_chat("--provider", server.origin + "/api/v1", "hi", OPENAI_API_KEY="sk-mine")
        assert (done.returncode, done.stdout, done.stderr) == (0, TEXT, "")
        assert server.requests[-1].json["model"] == "a"
        assert not any("sk-mine" in str(request.headers) for request in server.requests)


def test_V09_kinds_with_a_key_from_the_environment() -> None:
    with ANTHROPIC.serve(HELLO) as server:
        done = taskx_chat(
            "--provider", "anthropic", "--base-url", server.origin, "--model", ANTHROPIC.model,
            "--api-key-env", "MY_KEY", stdin="from a pipe", MY_KEY=ANTHROPIC.key or "",
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, TEXT)
        assert server.requests[0].json["messages"][0]["content"][0]["text"] == "from a pipe"
    with OLLAMA.serve(REASONED) as server:
        done = taskx_chat("--provider", "ollama", "--base-url", server.origin, "--thinking",
                          "high", "hi")  # fmt: skip
        assert done.stdout == REASONED.steps[1].text + "\n"
        assert done.stderr == REASONED.steps[0].text


def test_V09_profile_of_the_configuration(tmp_path: Path) -> None:
    with COMPATIBLE.serve(CALLS) as server:
        file = tmp_path / "config.toml"
        file.write_text(
            f'[profiles.work]\nkind = "openaiCompatible"\nmodel = "some/model"\n'
            f'baseUrl = "{server.origin}/api/v1"\napiKeyEnv = "WORK_KEY"\n'
        )
        arguments = ("--provider", "work", "--config", str(file), "--json", "hi")
        done = taskx_chat(*arguments, WORK_KEY=COMPATIBLE_KEY)
        result = json.loads(done.stdout)
        assert [call["name"] for call in result["toolCalls"]] == ["read_file", "list_files"]
        done = taskx_chat(*arguments)
        assert (done.returncode, "WORK_KEY" in done.stderr) == (2, True)


FAILURES = {
    "no key": (("--provider", "openai", "hi"), 2, "OPENAI_API_KEY"),
    "unknown": (("--provider", "nope", "hi"), 2, "nope"),
    "bad URL": (
        ("--provider", "ftp://x", "--model", "m", "--api-key-env", "K", "hi"),
        2,
        "baseUrl",
    ),
    "plain http": (("--provider", "http://x.example", "--api-key-env", "K", "hi"), 2, "https"),
    "nothing to ask": (("--provider", "ollama", "--model", "m"), 2, "PROMPT"),
    "refused": (
        ("--provider", "ollama", "--model", "m", "--base-url", "http://127.0.0.1:1", "hi"),
        1,
        "refused the connection",
    ),
    "no provider": (("hi",), 2, "--provider"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_V13_failure_says_what_to_do_and_holds_no_key(name: str) -> None:
    arguments, code, words = FAILURES[name]
    done = taskx_chat(*arguments, K="key-secret-9")
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr + done.stdout


def test_V13_wrong_key_is_told() -> None:
    with OPENAI.serve(HELLO) as server:
        done = taskx_chat("--provider", "openai", "--base-url", server.origin, "--model", "gpt-4o",
                          "--api-key-env", "K", "hi", K="sk-wrong-123456789")  # fmt: skip
    assert done.returncode == 1
    assert "check it" in done.stderr
    assert "sk-wrong" not in done.stderr
