"""`ProviderConfig` and `ChatRequest`: what is refused, and in which words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from taskx.protocol import capabilities
from taskx.protocol.chat import MAX_IMAGE_CHARS
from taskx.protocol.providers import ProviderConfig
from taskx.providers.endpoint import Endpoint
from taskx.providers.kinds import CAPABILITIES_OF, REQUIRES_KEY
from tests.process.client import Runtime
from tests.providers.fakes.script import HELLO, expected
from tests.providers.kinds import ANTHROPIC, KINDS, OPENAI, Chat, ask, user

LOCAL = "http://127.0.0.1:9"
KEYED = {"kind": "openaiCompatible", "model": "m", "baseUrl": LOCAL, "apiKey": "key-secret-1"}

# What is changed in a valid config (None removes) -> what the message names.
BAD_CONFIGS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown kind": ({"kind": "gemini"}, "params.provider.kind"),
    "no kind": ({"kind": None}, "kind"),
    "no model": ({"model": None}, "model"),
    "empty model": ({"model": ""}, "params.provider.model"),
    "long model": ({"model": "m" * 257}, "params.provider.model"),
    "control character": ({"model": "a\nb"}, "`model`"),
    "delete character": ({"model": "a\x7fb"}, "`model`"),
    "no base URL": ({"baseUrl": None}, "`baseUrl`"),
    "file URL": ({"baseUrl": "file:///etc/passwd"}, "`baseUrl`"),
    "no scheme": ({"baseUrl": "127.0.0.1:8080"}, "`baseUrl`"),
    "no host": ({"baseUrl": "http:///v1"}, "`baseUrl`"),
    "bad port": ({"baseUrl": "http://127.0.0.1:99999/"}, "`baseUrl`"),
    "bad address": ({"baseUrl": "http://[::1/"}, "`baseUrl`"),
    "user in URL": ({"baseUrl": "http://me@127.0.0.1:9"}, "`baseUrl`"),
    "password in URL": ({"baseUrl": "http://me:pass-secret@127.0.0.1:9"}, "`baseUrl`"),
    "space in URL": ({"baseUrl": "http://127.0.0.1:9/a b"}, "`baseUrl`"),
    "fragment": ({"baseUrl": "http://127.0.0.1:9/#x"}, "`baseUrl`"),
    "no key": ({"apiKey": None}, "`apiKey`"),
    "empty key": ({"apiKey": ""}, "`apiKey`"),
    "key with a line end": ({"apiKey": "key-secret-1\r\nx: y"}, "`apiKey`"),
    "key with a letter beyond ASCII": ({"apiKey": "kéy-secret"}, "`apiKey`"),
    "key over plain http": ({"baseUrl": "http://models.example/v1"}, "`baseUrl`"),
    "key over plain http to a private host": ({"baseUrl": "http://10.0.0.1/v1"}, "`baseUrl`"),
    "looks like loopback": ({"baseUrl": "http://127.0.0.1.evil.example/"}, "`baseUrl`"),
    "timeout of the wrong type": ({"timeoutMs": "1000"}, "params.provider.timeoutMs"),
    "unknown field": ({"headers": {}}, "headers"),
}


@pytest.mark.parametrize("name", BAD_CONFIGS)
def test_V01_bad_config_is_invalid_params_and_names_the_field(runtime: Runtime, name: str) -> None:
    changes, named = BAD_CONFIGS[name]
    config = {key: value for key, value in {**KEYED, **changes}.items() if value is not None}
    for method in ("provider/listModels", "provider/contextWindow"):
        error = runtime.error(method, {"provider": config})
        assert error["code"] == -32602
        assert named in error["message"]
        assert "secret" not in error["message"]


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_V01_key_is_required_for_kinds_that_need_one(runtime: Runtime, kind: str) -> None:
    error = runtime.error("chat/send", {"provider": {"kind": kind, "model": "m"}, "request": ask()})
    assert error["code"] == -32602
    assert "`apiKey`" in error["message"]


GOOD_CONFIGS: dict[str, dict[str, Any]] = {
    "https": {**KEYED, "baseUrl": "https://models.example/v1"},
    "loopback names": {**KEYED, "baseUrl": "http://localhost:1234"},
    "loopback IPv6": {**KEYED, "baseUrl": "http://[::1]:1234/v1"},
    "other loopback address": {**KEYED, "baseUrl": "http://127.8.0.1/v1"},
    "ollama without a key, plain http": {"kind": "ollama", "model": "m", "baseUrl": "http://box"},
    "longest model": {**KEYED, "model": "m" * 256},
    "defaults": {"kind": "anthropic", "model": "m", "apiKey": "k"},
}


@pytest.mark.parametrize("name", GOOD_CONFIGS)
def test_V01_good_config_is_taken(name: str) -> None:
    config = msgspec.convert(GOOD_CONFIGS[name], ProviderConfig)
    assert Endpoint.of(config).model == config.model


TIMEOUTS = {-5: 1.0, 0: 1.0, 999: 1.0, 1000: 1.0, 120_000: 120.0, 600_001: 600.0, 10**12: 600.0}


@pytest.mark.parametrize("given", TIMEOUTS)
def test_V01_timeout_is_clamped(given: int) -> None:
    config = msgspec.convert({**KEYED, "timeoutMs": given}, ProviderConfig)
    assert config.timeout_s == TIMEOUTS[given]
    assert msgspec.convert(KEYED, ProviderConfig).timeout_s == 120


# kind, base URL -> the address of a chat, and of the listing.
ADDRESSES = {
    ("openai", None): "https://api.openai.com/v1",
    ("openaiCompatible", "http://127.0.0.1:9"): "http://127.0.0.1:9/v1",
    ("openaiCompatible", "http://127.0.0.1:9/"): "http://127.0.0.1:9/v1",
    ("openaiCompatible", "http://127.0.0.1:9/v1/"): "http://127.0.0.1:9/v1",
    ("openaiCompatible", "https://x.example/api/v1"): "https://x.example/api/v1",
    ("openaiCompatible", "https://x.example/a?v=1"): "https://x.example/a",
    ("anthropic", None): "https://api.anthropic.com",
    ("anthropic", "https://x.example/v1"): "https://x.example",
    ("anthropic", "https://x.example/anthropic/v1/"): "https://x.example/anthropic",
    ("ollama", None): "http://127.0.0.1:11434",
    ("ollama", "http://127.0.0.1:9/api"): "http://127.0.0.1:9",
    ("ollama", "http://127.0.0.1:9/v1/"): "http://127.0.0.1:9",
    ("ollama", "http://[::1]:9/proxy"): "http://[::1]:9/proxy",
}


@pytest.mark.parametrize("given", ADDRESSES, ids=str)
def test_V01_base_url_is_completed(given: tuple[str, str | None]) -> None:
    kind, url = given
    raw: dict[str, Any] = {"kind": kind, "model": "m", "apiKey": "k"}
    endpoint = Endpoint.of(msgspec.convert({**raw, "baseUrl": url} if url else raw, ProviderConfig))
    assert endpoint.base == ADDRESSES[given]
    if url and "?" in url:
        assert endpoint.url("/models", "limit=1").endswith("/models?v=1&limit=1")


def test_V01_no_repr_holds_the_key() -> None:
    config = msgspec.convert(KEYED, ProviderConfig)
    shown = f"{config!r} {config} {config.public()} {Endpoint.of(config)!r} {[config]}"
    assert "secret" not in shown
    assert "127.0.0.1" in shown


def test_V02_capabilities_equal_those_of_initialize(runtime: Runtime) -> None:
    with Runtime() as other:
        promised = other.initialize()["providers"]
    assert runtime.result("provider/capabilities") == promised
    assert [entry["kind"] for entry in promised] == list(KINDS)
    typed = [
        {
            "kind": kind,
            "capabilities": msgspec.to_builtins(CAPABILITIES_OF[kind]),
            "requiresApiKey": REQUIRES_KEY[kind],
        }
        for kind in CAPABILITIES_OF
    ]
    assert typed == capabilities.PROVIDERS


PNG = "iVBORw0KGgoAAAANSUhEUg=="


def image(media_type: str = "image/png", data: str = PNG) -> dict[str, Any]:
    return {"type": "image", "mediaType": media_type, "data": data}


def with_parts(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(parts)}]}


TOOL = {"name": "f", "inputSchema": {"type": "object", "properties": {}}}
# A request -> what the message names.
BAD_REQUESTS: dict[str, tuple[dict[str, Any], str]] = {
    "no messages": ({}, "messages"),
    "empty messages": ({"messages": []}, "params.request.messages"),
    "first role": ({"messages": [{**user("x"), "role": "assistant"}]}, "messages[0].role"),
    "unknown role": ({"messages": [{**user("x"), "role": "system"}]}, "role"),
    "no parts": ({"messages": [{"role": "user", "content": []}]}, "content"),
    "text for parts": ({"messages": [{"role": "user", "content": "hi"}]}, "content"),
    "unknown part": (with_parts({"type": "video"}), "content"),
    "call by the user": (with_parts({"type": "toolUse", "id": "1", "name": "f", "input": {}}),
                         "toolUse"),
    "no schema": (ask(tools=[{"name": "f"}]), "inputSchema"),
    "schema is no object": (ask(tools=[{"name": "f", "inputSchema": []}]), "inputSchema"),
    "schema of another type": (ask(tools=[{"name": "f", "inputSchema": {"type": "string"}}]),
                               "`inputSchema`"),
    "properties are no object": (
        ask(tools=[{"name": "f", "inputSchema": {"type": "object", "properties": []}}]),
        "inputSchema.properties"),
    "bad tool name": (ask(tools=[{**TOOL, "name": "a b"}]), "name"),
    "same tool twice": (ask(tools=[TOOL, TOOL]), "`tools`"),
    "no tokens": (ask(maxTokens=0), "maxTokens"),
    "negative temperature": (ask(temperature=-0.1), "temperature"),
    "high temperature": (ask(temperature=2.1), "temperature"),
    "window of nothing": (ask(contextWindow=0), "contextWindow"),
    "unknown effort": (ask(thinking="extreme"), "thinking"),
    "bitmap": (with_parts(image("image/bmp")), "mediaType"),
    "data URL": (with_parts(image(data=f"data:image/png;base64,{PNG}")), "data"),
    "base64 with a line end": (with_parts(image(data=f"{PNG[:8]}\n{PNG[8:]}")), "data"),
    "no image": (with_parts(image(data="")), "data"),
    "large image": (with_parts(image(data="A" * (MAX_IMAGE_CHARS + 1))), "data"),
    "nine images": (with_parts(*[image()] * 9), "8 images"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_REQUESTS)
def test_V10_V12_bad_request_is_invalid_params(runtime: Runtime, name: str) -> None:
    request, named = BAD_REQUESTS[name]
    error = runtime.error("chat/send", {"provider": KEYED, "request": request})
    assert error["code"] == -32602
    assert named in error["message"], error["message"]
    assert len(error["message"]) < 400


def test_V12_eight_images_of_all_types_and_the_largest_are_taken(runtime: Runtime) -> None:
    names = ("png", "jpeg", "gif", "webp") * 2
    parts = [image(f"image/{name}") for name in names]
    with OPENAI.serve(HELLO) as server:
        chat = Chat(runtime, OPENAI.config(server), with_parts(*parts))
        assert chat.result["text"] == HELLO.steps[0].text
        largest = image(data="A" * MAX_IMAGE_CHARS)
        assert Chat(runtime, OPENAI.config(server), with_parts(largest)).result


def test_V10_defaults_and_the_window_of_ollama(runtime: Runtime) -> None:
    fields = {"anthropic": "max_tokens", "openai": "max_completion_tokens",
              "openaiCompatible": "max_tokens"}  # fmt: skip
    for kind in KINDS.values():
        with kind.serve(HELLO) as server:
            # What the official host gets is data of the vendor; a fake is no official host.
            chat = Chat(runtime, kind.config(server), ask(contextWindow=16384))
            assert chat.events == expected(HELLO)
            body = server.requests[0].json
        if kind.name == "ollama":
            assert body["options"] == {"num_predict": 4096, "num_ctx": 16384}
        else:
            names = {fields[kind.name], "max_tokens"}
            assert [body[name] for name in names if name in body] == [4096]
        assert "temperature" not in body


def test_V10_temperature_is_clamped_to_what_the_vendor_takes(runtime: Runtime) -> None:
    with ANTHROPIC.serve(HELLO) as server:
        config = ANTHROPIC.config(server)
        assert Chat(runtime, config, ask(temperature=2)).events == expected(HELLO)
        assert server.requests[0].json["temperature"] == 1
    with OPENAI.serve(HELLO) as server:
        assert Chat(runtime, OPENAI.config(server), ask(temperature=2)).events == expected(HELLO)
        assert server.requests[0].json["temperature"] == 2
