"""The fakes, checked by the vendors' own SDKs: the same scripts, and the same refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.providers.fakes.script import CALLS, HELLO, REASONED, Call, Script, Text, Think
from tests.providers.kinds import KINDS, OPENAI
from tests.providers.parts import sdk

KEYED = {"anthropic": "anthropic", "openai": "openai", "ollama": "ollama"}
STOPS = {
    "anthropic": {"endTurn": "end_turn", "toolUse": "tool_use"},
    "openai": {"endTurn": "stop", "toolUse": "tool_calls"},
    "ollama": {"endTurn": "stop", "toolUse": "stop"},
}


def ask_sdk(name: str, script: Script, history: list[Any] | None = None, **config: Any) -> Any:
    kind = KINDS[name]
    with kind.serve(script) as server:
        arguments = [name, server.origin, config.get("key", kind.key or "-"), kind.model]
        return sdk(*arguments, *([json.dumps(history)] if history else []))


@pytest.mark.parametrize("script", [HELLO, REASONED, CALLS], ids=["hello", "reasoned", "calls"])
@pytest.mark.parametrize("name", KEYED)
def test_V09_official_sdk_reads_from_the_fake_what_the_script_says(
    name: str, script: Script
) -> None:
    seen = ask_sdk(name, script)
    calls = [step for step in script.steps if isinstance(step, Call)]
    with_ids = name != "ollama"
    assert seen["text"] == "".join(s.text for s in script.steps if isinstance(s, Text))
    assert seen["thinking"] == "".join(s.text for s in script.steps if isinstance(s, Think))
    assert seen["calls"] == [
        [call.id, call.name, call.input] if with_ids else [call.name, call.input] for call in calls
    ]
    assert seen["stop"] == STOPS[name][script.stop]
    assert script.usage is not None
    assert seen["usage"] == list(script.usage[:2])
    assert seen["same"] is True
    assert KINDS[name].model in seen["models"]


UNPAIRED: dict[str, list[Any]] = {
    "anthropic": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "a", "name": "read_file", "input": {}}],
        },
        {"role": "user", "content": "no result"},
    ],
    "openai": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
        },
        {"role": "user", "content": "no result"},
    ],
}
REFUSED: dict[str, tuple[str, list[Any]]] = {
    "anthropic, unpaired call": ("anthropic", UNPAIRED["anthropic"]),
    "anthropic, role": ("anthropic", [{"role": "system", "content": "x"}]),
    "anthropic, blank text": ("anthropic", [{"role": "user", "content": "  "}]),
    "anthropic, empty content": ("anthropic", [{"role": "user", "content": []}]),
    "anthropic, forged signature": (
        "anthropic",
        [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "x", "signature": "forged"}],
            },
            {"role": "user", "content": "go on"},
        ],
    ),
    "openai, unpaired call": ("openai", UNPAIRED["openai"]),
    "openai, result without a call": (
        "openai",
        [
            {"role": "user", "content": "hi"},
            {"role": "tool", "tool_call_id": "a", "content": "x"},
        ],
    ),
    "openai, role": ("openai", [{"role": "model", "content": "x"}]),
    "openai, empty content": ("openai", [{"role": "user", "content": []}]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_V11_fake_refuses_what_the_real_api_refuses(name: str) -> None:
    kind, history = REFUSED[name]
    seen = ask_sdk(kind, HELLO, history)
    assert (seen["error"], seen["status"]) == ("BadRequestError", 400)


def test_V13_fake_refuses_a_wrong_key_and_an_unknown_model() -> None:
    for name in ("anthropic", "openai"):
        assert ask_sdk(name, HELLO, key="wrong-key-000000")["error"] == "AuthenticationError"
        with KINDS[name].serve(HELLO) as server:
            seen = sdk(name, server.origin, KINDS[name].key or "", "no-such-model")
        assert (seen["error"], seen["status"]) == ("NotFoundError", 404)
    with KINDS["ollama"].serve(HELLO) as server:
        seen = sdk("ollama", server.origin, "-", "no-such-model")
    assert (seen["error"], seen["status"]) == ("ResponseError", 404)


def test_V09_history_of_the_runtime_is_one_the_sdk_could_have_sent() -> None:
    """The message an SDK reads is taken back by the fake as history, as ours is."""
    first = ask_sdk("openai", CALLS)
    history: list[Any] = [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": first["text"],
            "tool_calls": [
                {"id": call[0], "type": "function",
                 "function": {"name": call[1], "arguments": json.dumps(call[2])}}
                for call in first["calls"]
            ],
        },
        *[{"role": "tool", "tool_call_id": call[0], "content": "ok"} for call in first["calls"]],
    ]  # fmt: skip
    assert ask_sdk("openai", HELLO, history)["text"] == HELLO.steps[0].text
    assert OPENAI.model in first["models"]
