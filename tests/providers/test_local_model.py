"""A real model behind a real server (llama.cpp), through its OpenAI and its Anthropic routes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.process.client import Runtime
from tests.providers.kinds import Chat, ask, user
from tests.providers.parts import local_model


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with local_model() as address:
        yield address


def config(origin: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "model": "SmolLM2", "baseUrl": origin, "apiKey": "none", **fields}


KINDS = ("openaiCompatible", "anthropic")


@pytest.mark.parametrize("kind", KINDS)
def test_V09_real_model_streams_and_reports_usage(runtime: Runtime, origin: str, kind: str) -> None:
    request = ask(
        "Count from one to ten in words.", maxTokens=60, temperature=0, system="Be brief."
    )
    chat = Chat(runtime, config(origin, kind), request)
    result = chat.result
    deltas = [event for event in chat.raw_events if event["type"] == "textDelta"]
    assert len(deltas) > 5
    assert "".join(event["text"] for event in deltas) == result["text"]
    assert result["stopReason"] in ("endTurn", "maxTokens")
    assert 10 < result["usage"]["inputTokens"] < 100
    assert 5 < result["usage"]["outputTokens"] <= 60
    assert [event["type"] for event in chat.raw_events[-2:]] == ["usage", "done"]


@pytest.mark.parametrize("kind", KINDS)
def test_V09_real_model_stops_at_the_token_limit(runtime: Runtime, origin: str, kind: str) -> None:
    chat = Chat(runtime, config(origin, kind), ask("Tell me a long story.", maxTokens=5))
    assert chat.result["stopReason"] == "maxTokens"


@pytest.mark.parametrize("kind", KINDS)
def test_V11_real_model_takes_a_history(runtime: Runtime, origin: str, kind: str) -> None:
    answer = {"role": "assistant", "content": [{"type": "text", "text": "Hello Ada."}]}
    messages = [user("My name is Ada."), answer, user("Thanks."), user("What is my name?")]
    chat = Chat(runtime, config(origin, kind), {"messages": messages, "maxTokens": 30})
    assert chat.result["text"]


@pytest.mark.parametrize("kind", KINDS)
def test_V13_real_server_overflows_and_says_so(runtime: Runtime, origin: str, kind: str) -> None:
    chat = Chat(runtime, config(origin, kind), ask("word " * 6000))
    data = chat.error["data"]
    assert (data["kind"], data["retryable"]) == ("invalidRequest", False)
    assert data["contextOverflow"] is True
    assert "SmolLM2" in data["message"]


def test_V04_V07_real_server_tells_its_window(runtime: Runtime, origin: str) -> None:
    named = config(origin, "openaiCompatible")
    (model,) = runtime.result("provider/models", {"provider": named})["models"]
    assert model["contextWindow"] == 4096
    found = {**named, "model": model["id"]}
    assert runtime.result("provider/contextWindow", {"provider": found}) == {"tokens": 4096}


def test_V08_real_server_passes_the_test(runtime: Runtime, origin: str) -> None:
    named = config(origin, "openaiCompatible")
    result = runtime.result("provider/test", {"provider": named})
    assert result["models"]
    found = {**named, "model": result["models"][0]}
    assert runtime.result("provider/test", {"provider": found})["modelAvailable"] is True


@pytest.mark.parametrize("kind", KINDS)
def test_P16_real_server_is_free_again_at_once_after_a_cancel(
    runtime: Runtime, origin: str, kind: str
) -> None:
    # It serves one request at a time: the second answer can only come when the first has stopped.
    long = Chat(runtime, config(origin, kind), ask("Tell me a very long story.", maxTokens=3000))
    long.wait_for_event()
    runtime.notify("$/cancelRequest", {"id": long.id})
    assert long.error["code"] == -32800
    started = time.monotonic()
    assert Chat(runtime, config(origin, kind), ask("Hi", maxTokens=3)).result["text"]
    assert time.monotonic() - started < 10


def test_V09_newcomer_chats_from_the_terminal_in_one_command(origin: str) -> None:
    command = [sys.executable, "-c", "from taskx.cli import taskx; taskx()", "chat"]
    command += ["--provider", origin, "--max-tokens", "20", "What is the capital of France?"]
    done = subprocess.run(command, capture_output=True, timeout=60, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # What a model this small says is not the point; that its words arrive is.
    assert len(done.stdout.split()) > 1
    assert done.stderr == ""
