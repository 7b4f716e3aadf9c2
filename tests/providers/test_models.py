"""What `provider/*` says of an endpoint's models."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
import pytest

from taskx.protocol.providers import ModelInfo, ProviderConfig
from taskx.providers import Providers, catalog
from tests.process.client import Runtime
from tests.providers.fakes import anthropic, ollama
from tests.providers.fakes.script import HELLO
from tests.providers.fakes.server import Reply, Server, json_reply
from tests.providers.kinds import ANTHROPIC, COMPATIBLE, KINDS, OLLAMA, OPENAI


def ask_models(runtime: Runtime, config: dict[str, Any]) -> list[dict[str, Any]]:
    models: list[dict[str, Any]] = runtime.result("provider/models", {"provider": config})["models"]
    return models


def test_V03_models_of_each_kind_are_sorted(runtime: Runtime) -> None:
    rows = [{"id": name} for name in ("z/model", "a/model", "M/model")]
    wanted = {
        "anthropic": sorted(anthropic.MODELS),
        "openaiCompatible": ["M/model", "a/model", "z/model"],
        "ollama": [ollama.MODEL],
    }
    for name, names in wanted.items():
        kind = KINDS[name]
        options = {"models": rows} if name == "openaiCompatible" else {}
        with kind.serve(HELLO, **options) as server:
            config = kind.config(server)
            assert runtime.result("provider/listModels", {"provider": config}) == {"models": names}
            assert [info["id"] for info in ask_models(runtime, config)] == names


def test_V03_at_most_500_models_the_first_after_sorting(runtime: Runtime) -> None:
    names = [f"m{number:04}" for number in range(777)]
    rows = [{"id": name} for name in reversed(names)]
    with COMPATIBLE.serve(HELLO, models=rows) as server:
        config = COMPATIBLE.config(server)
        assert runtime.result("provider/listModels", {"provider": config})["models"] == names[:500]
        assert [info["id"] for info in ask_models(runtime, config)] == names[:500]


def test_V03_pages_of_anthropic_are_followed(runtime: Runtime) -> None:
    pages = [
        {"data": [{"id": "b"}, {"id": "c"}], "has_more": True, "last_id": "c"},
        {"data": [{"id": "a"}], "has_more": False, "last_id": "a"},
    ]
    with Server() as server:
        server.replies.extend(json_reply(200, page) for page in pages)
        config = ANTHROPIC.config(server)
        listed = runtime.result("provider/listModels", {"provider": config})["models"]
        assert listed == ["a", "b", "c"]
        assert [request.query for request in server.requests] == [
            "limit=1000",
            "limit=1000&after_id=c",
        ]


LISTINGS: dict[str, tuple[Any, list[str]]] = {
    "bare array": ([{"id": "b"}, {"id": "a"}], ["a", "b"]),
    "models and data": ({"models": [{"name": "x"}], "data": [{"id": "y"}]}, ["y"]),
    "null": ({"data": None, "object": "list"}, []),
    "empty": ({"data": []}, []),
    "rows without an id": ({"data": [{"id": "a"}, {}, {"id": 7}, None, "x", {"id": ""}]}, ["a"]),
    "twice the same": ({"data": [{"id": "a"}, {"id": "a"}]}, ["a"]),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_V03_listing_of_another_shape(runtime: Runtime, name: str) -> None:
    listing, names = LISTINGS[name]
    with Server(lambda request: json_reply(200, listing)) as server:
        config = COMPATIBLE.config(server)
        assert runtime.result("provider/listModels", {"provider": config})["models"] == names


# A row of a compatible listing -> its window.
WINDOWS: dict[str, tuple[dict[str, Any], int | None]] = {
    "context_length": ({"context_length": 1000, "context_window": 2000}, 1000),
    "max_context_length": ({"max_context_length": 3000, "max_model_len": 1}, 3000),
    "context_window": ({"context_window": 4000, "max_model_len": 5000}, 4000),
    "max_model_len": ({"max_model_len": 5000, "max_token_size": 6000}, 5000),
    "max_token_size": ({"max_token_size": 6000}, 6000),
    "top_provider": ({"top_provider": {"context_length": 7000}}, 7000),
    "llama.cpp": ({"meta": {"n_ctx": 8000, "n_ctx_train": 9000}}, 8000),
    "none": ({}, None),
    "zero": ({"context_length": 0}, None),
    "a string": ({"context_length": "8192"}, None),
    "a truth": ({"context_length": True}, None),
    "far too much": ({"context_length": 10**9}, None),
    "null, then a number": ({"context_length": None, "max_model_len": 5000}, 5000),
    "a list": ({"top_provider": [1]}, None),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_V04_window_fields_of_compatible_endpoints(runtime: Runtime, name: str) -> None:
    row, window = WINDOWS[name]
    with COMPATIBLE.serve(HELLO, models=[{"id": COMPATIBLE.model, **row}]) as server:
        config = COMPATIBLE.config(server)
        info = ask_models(runtime, config)[0]
        assert info.get("contextWindow") == window
        tokens = runtime.result("provider/contextWindow", {"provider": config})["tokens"]
        assert tokens == (window or 32768)


def test_V04_window_of_anthropic_and_ollama(runtime: Runtime) -> None:
    with ANTHROPIC.serve(HELLO) as server:
        infos = {info["id"]: info for info in ask_models(runtime, ANTHROPIC.config(server))}
        assert infos["claude-opus-4-6"]["contextWindow"] == 1_000_000
        assert infos["claude-3-haiku-20240307"]["contextWindow"] == 200_000  # the estimate
    models = {"a:latest": ollama.shown(window=12345), "b:latest": ollama.shown(window=0)}
    with OLLAMA.serve(HELLO, models=models) as server:
        infos = {info["id"]: info for info in ask_models(runtime, OLLAMA.config(server))}
        assert infos["a:latest"]["contextWindow"] == 12345
        assert "contextWindow" not in infos["b:latest"]


# A row of a listing -> capabilities.
REPORTED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "all": (
        {
            "supported_parameters": ["reasoning", "temperature", "tools"],
            "architecture": {"input_modalities": ["image", "text"]},
        },
        ["tools", "vision", "thinking"],
    ),
    "older name": ({"supported_parameters": ["include_reasoning"]}, ["thinking"]),
    "text only": (
        {"supported_parameters": [], "architecture": {"input_modalities": ["text"]}},
        [],
    ),
    "embedding": ({"architecture": {"output_modalities": ["embeddings"]}}, ["embedding"]),
    "unknown": ({}, []),
    "wrong types": ({"supported_parameters": "tools", "architecture": [1]}, []),
}


@pytest.mark.parametrize("name", REPORTED)
def test_V05_capabilities_as_openrouter_reports_them(runtime: Runtime, name: str) -> None:
    row, wanted = REPORTED[name]
    with COMPATIBLE.serve(HELLO, models=[{"id": "gpt-4o", **row}]) as server:
        assert ask_models(runtime, COMPATIBLE.config(server))[0]["capabilities"] == wanted


FAMILIES: dict[tuple[str, str], list[str]] = {
    ("anthropic", "claude-opus-4-6"): ["tools", "vision", "thinking"],
    ("anthropic", "claude-3-7-sonnet-20250219"): ["tools", "vision", "thinking"],
    ("anthropic", "claude-3-5-haiku-20241022"): ["tools", "vision"],
    ("anthropic", "claude-2.1"): [],
    ("anthropic", "other"): [],
    ("openai", "gpt-4.1-mini"): ["tools", "vision"],
    ("openai", "gpt-4o-2024-08-06"): ["tools", "vision"],
    ("openai", "gpt-5.1"): ["tools", "vision", "thinking"],
    ("openai", "o3"): ["tools", "vision", "thinking"],
    ("openai", "o3-mini"): ["tools", "thinking"],
    ("openai", "o1-mini"): ["thinking"],
    ("openai", "gpt-3.5-turbo"): ["tools"],
    ("openai", "gpt-3.5-turbo-instruct"): [],
    ("openai", "text-embedding-3-small"): ["embedding"],
    ("openai", "whisper-1"): [],
    ("openai", "gpt-image-1"): [],
    ("openaiCompatible", "gpt-4o"): [],
    ("ollama", "qwen3"): [],
}


@pytest.mark.parametrize("given", FAMILIES, ids=str)
def test_V05_capabilities_by_family(given: tuple[Any, str]) -> None:
    assert catalog.family_capabilities(*given) == FAMILIES[given]


def test_V05_V06_ollama_says_what_its_models_can_and_are(runtime: Runtime) -> None:
    models = {
        "qwen3:latest": ollama.shown(("completion", "thinking", "tools", "vision", "insert")),
        "embed:latest": ollama.shown(("embedding",), window=2048, size="22M", quantization="F16"),
        "plain:latest": ollama.shown(("completion",), size="", quantization="unknown"),
    }
    with OLLAMA.serve(HELLO, models=models) as server:
        assert ask_models(runtime, OLLAMA.config(server)) == [
            {
                "id": "embed:latest",
                "contextWindow": 2048,
                "capabilities": ["embedding"],
                "details": "22M · F16",
            },
            {"id": "plain:latest", "contextWindow": 40960, "capabilities": []},
            {
                "id": "qwen3:latest",
                "contextWindow": 40960,
                "capabilities": ["tools", "vision", "thinking"],
                "details": "8.2B · Q4_K_M",
            },
        ]


def test_V06_the_first_100_are_asked_8_at_a_time_and_one_failure_is_no_failure(
    runtime: Runtime,
) -> None:
    models = {f"m{number:03}:latest": ollama.shown() for number in range(120)}
    api = ollama.Api(HELLO, models=models)
    lock = threading.Lock()
    eight = threading.Event()
    state = {"now": 0, "most": 0, "asked": 0}

    def counted(request: Any) -> Reply:
        if request.path != "/api/show":
            return api(request)
        with lock:
            state["now"] += 1
            state["asked"] += 1
            state["most"] = max(state["most"], state["now"])
            if state["now"] >= 8:
                eight.set()
        assert eight.wait(10), "never 8 at a time"
        reply = api(request)
        with lock:
            state["now"] -= 1
        return Reply(500) if request.json["model"] == "m007:latest" else reply

    with Server(counted) as server:
        infos = ask_models(runtime, OLLAMA.config(server))
    assert (state["asked"], state["most"]) == (100, 8)
    known = [info["id"] for info in infos if "contextWindow" in info]
    assert known == [name for name in sorted(models)[:100] if name != "m007:latest"]
    assert len(infos) == 120


def test_V06_a_hundred_models_take_thirteen_round_trips(runtime: Runtime) -> None:
    """Each trip is held back until eight requests are in it; fewer at a time would never be."""
    models = {f"m{number:03}:latest": ollama.shown() for number in range(100)}
    api = ollama.Api(HELLO, models=models)
    trip = threading.Barrier(8)
    lock = threading.Lock()
    state = {"asked": 0, "trips": 0}

    def held(request: Any) -> Reply:
        if request.path == "/api/show":
            with lock:
                state["asked"] += 1
                last = state["asked"] > 96
            if not last and trip.wait(10) == 0:
                state["trips"] += 1
        return api(request)

    with Server(held) as server:
        infos = ask_models(runtime, OLLAMA.config(server))
    assert [info["contextWindow"] for info in infos] == [40960] * 100
    assert state == {"asked": 100, "trips": 12}  # and one more for the last four


ESTIMATES: dict[tuple[str, str], int] = {
    ("anthropic", "claude-opus-4-6"): 1_000_000,
    ("anthropic", "claude-opus-4.6"): 1_000_000,
    ("anthropic", "claude-sonnet-5"): 1_000_000,
    ("anthropic", "claude-sonnet-4-10-20270101"): 1_000_000,
    ("anthropic", "anthropic.claude-opus-4-7-v1:0"): 1_000_000,
    ("anthropic", "claude-sonnet-4-5-20250929"): 200_000,
    ("anthropic", "claude-opus-4-20250514"): 200_000,
    ("anthropic", "claude-3-5-sonnet-20241022"): 200_000,
    ("anthropic", "claude-instant-1.2"): 200_000,
    ("anthropic", "other"): 200_000,
    ("openai", "gpt-4.1-nano"): 1_000_000,
    ("openai", "gpt-5.1-codex"): 272_000,
    ("openai", "gpt-4o"): 128_000,
    ("openai", "o3"): 128_000,
    ("openaiCompatible", "gpt-5"): 32_768,
    ("ollama", "qwen3"): 32_768,
}


@pytest.mark.parametrize("given", ESTIMATES, ids=str)
def test_V07_estimated_window(given: tuple[Any, str]) -> None:
    assert catalog.estimated_window(*given) == ESTIMATES[given]


def test_V07_an_endpoint_that_fails_leaves_the_estimate(runtime: Runtime) -> None:
    for kind, tokens in {"anthropic": 1_000_000, "openai": 1_000_000, "ollama": 32_768}.items():
        with Server(lambda request: Reply(500)) as server:
            config = KINDS[kind].config(server)
            found = runtime.result("provider/contextWindow", {"provider": config})
            assert found == {"tokens": tokens}


def test_V07_an_alias_of_anthropic_is_asked_by_name(runtime: Runtime) -> None:
    with ANTHROPIC.serve(HELLO) as server:
        config = ANTHROPIC.config(server, model="claude-opus-latest")
        assert runtime.result("provider/contextWindow", {"provider": config})["tokens"] == 999_000


async def _windows_over_time(server: Server) -> list[tuple[int, int]]:
    """(window, requests so far) at moments around the five minutes."""
    clock = iter([0.0, 299.9, 300.1, 300.1, 300.1])
    providers = Providers(clock=lambda: next(clock))
    config = msgspec.convert(OLLAMA.config(server), ProviderConfig)
    other = msgspec.convert(OLLAMA.config(server, model="b:latest"), ProviderConfig)
    seen = [
        (await providers.context_window(asked), len(server.requests))
        for asked in (config, config, config, other)
    ]
    await providers.close()
    return seen


def test_V07_answer_is_kept_for_five_minutes() -> None:
    import asyncio

    models = {ollama.MODEL: ollama.shown(window=5000), "b:latest": ollama.shown(window=6000)}
    with OLLAMA.serve(HELLO, models=models) as server:
        seen = asyncio.run(_windows_over_time(server))
    assert seen == [(5000, 1), (5000, 1), (5000, 2), (6000, 3)]


def provider_test(runtime: Runtime, config: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = runtime.result("provider/test", {"provider": config})
    assert 0 <= result.pop("latencyMs") < 10_000
    return result


ALL = {
    "streaming": True,
    "tools": True,
    "vision": True,
    "thinking": True,
    "listModels": True,
    "promptCache": False,
}


def test_V08_test_of_each_kind(runtime: Runtime) -> None:
    with ANTHROPIC.serve(HELLO) as server:
        assert provider_test(runtime, ANTHROPIC.config(server)) == {
            "models": sorted(anthropic.MODELS),
            "modelAvailable": True,
            "capabilities": {**ALL, "promptCache": True},
        }
    with OPENAI.serve(HELLO) as server:
        result = provider_test(runtime, OPENAI.config(server, model="nope"))
        assert (result["modelAvailable"], result["capabilities"]) == (False, ALL)
    models = {"gemma3:latest": ollama.shown(("completion", "vision"))}
    with OLLAMA.serve(HELLO, models=models) as server:
        assert provider_test(runtime, OLLAMA.config(server, model="gemma3")) == {
            "models": ["gemma3:latest"],
            "modelAvailable": True,
            "capabilities": {**ALL, "tools": False, "thinking": False},
        }
        missing = provider_test(runtime, OLLAMA.config(server, model="nope"))
        assert missing["modelAvailable"] is False


def test_V08_endpoint_without_a_listing_gets_a_one_token_chat(runtime: Runtime) -> None:
    with COMPATIBLE.serve(HELLO, models=None) as server:
        assert provider_test(runtime, COMPATIBLE.config(server)) == {
            "models": [],
            "modelAvailable": None,
            "capabilities": ALL,
        }
        assert server.requests[-1].json["max_tokens"] == 1


def test_V08_wrong_key_is_an_auth_error(runtime: Runtime) -> None:
    for name in ("anthropic", "openai", "openaiCompatible"):
        with KINDS[name].serve(HELLO) as server:
            config = KINDS[name].config(server, apiKey="wrong-key-0000111122223333")
            error = runtime.error("provider/test", {"provider": config})
            assert (error["code"], error["data"]["kind"]) == (-32001, "auth")
            assert "wrong-key" not in str(error)


def test_V03_unknown_model_infos_are_left_out() -> None:
    assert msgspec.to_builtins(ModelInfo(id="x")) == {"id": "x", "capabilities": []}
