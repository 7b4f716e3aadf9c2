"""What goes wrong at endpoints, and the `ProviderError` it becomes, through the real process."""

from __future__ import annotations

import json
import re
import socket
import ssl
import subprocess
import threading
import time
import zlib
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import brotli
import httpx
import msgspec
import pytest

from taskx.errors import PROVIDER_KINDS, ProviderError
from taskx.protocol.providers import ProviderConfig
from taskx.providers.endpoint import Endpoint
from taskx.providers.http import translated
from tests.process.client import Runtime
from tests.providers.fakes import anthropic, ollama, openai
from tests.providers.fakes.script import HELLO, expected
from tests.providers.fakes.server import Reply, Server, json_reply
from tests.providers.fakes.sse import event, json_line
from tests.providers.kinds import ANTHROPIC, COMPATIBLE, KINDS, OLLAMA, OPENAI, STREAMS, Chat, ask

SSE = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}


def fault(runtime: Runtime, kind: str, *replies: Reply, **config: Any) -> dict[str, Any]:
    """The `ProviderError` of a chat that gets these replies; its message is checked."""
    with Server() as server:
        server.replies.extend(replies)
        settings = KINDS[kind].config(server, **config)
        error = Chat(runtime, settings, ask()).error
        assert len(server.requests) == 1, "a stream is never retried by itself"
    assert error["code"] == -32001, error
    data: dict[str, Any] = error["data"]
    check_words(data, settings, error["message"])
    return data


def check_words(data: dict[str, Any], settings: dict[str, Any], message: str) -> None:
    """A message a user can act on: names host and model, and no secret."""
    assert data["message"] == message
    assert settings["baseUrl"].split("/")[2] in message
    assert settings["model"] in message
    assert settings.get("apiKey", "no key") not in str(data)
    assert data["retryable"] is PROVIDER_KINDS[data["kind"]]
    assert "\n" not in message
    assert len(message) < 800


STATUSES = {
    400: "invalidRequest",
    401: "auth",
    402: "permissionDenied",
    403: "permissionDenied",
    404: "notFound",
    405: "invalidRequest",
    408: "timeout",
    409: "server",
    413: "invalidRequest",
    418: "invalidRequest",
    422: "invalidRequest",
    425: "rateLimited",
    429: "rateLimited",
    500: "server",
    501: "server",
    502: "server",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("kind", KINDS)
def test_V13_status_decides_the_kind(runtime: Runtime, kind: str, status: int) -> None:
    for reply in (Reply(status), Reply(status, {"content-type": "text/html"}, b"<h1>Oops</h1>")):
        data = fault(runtime, kind, reply)
        assert (data["kind"], data["status"]) == (STATUSES[status], status)
        assert str(status) in data["message"]


# kind, reply -> kind of error, and whether the context overflowed.
VENDOR_ERRORS: dict[str, tuple[str, Reply, str, bool]] = {
    "anthropic auth": (
        "anthropic", anthropic.error(400, "authentication_error", "invalid x-api-key"), "auth",
        False),
    "anthropic billing": (
        "anthropic", anthropic.error(400, "billing_error", "credit balance is too low"),
        "permissionDenied", False),
    "anthropic overloaded": (
        "anthropic", anthropic.error(500, "overloaded_error", "Overloaded"), "overloaded", False),
    "anthropic overflow": (
        "anthropic",
        anthropic.error(400, "invalid_request_error",
                        "prompt is too long: 210000 tokens > 200000 maximum"),
        "invalidRequest", True),
    "anthropic overflow with max_tokens": (
        "anthropic",
        anthropic.error(400, "invalid_request_error",
                        "input length and `max_tokens` exceed context limit: 1 + 2 > 3"),
        "invalidRequest", True),
    "anthropic other 400": (
        "anthropic",
        anthropic.error(400, "invalid_request_error", "max_tokens: 99 > 8, the maximum"),
        "invalidRequest", False),
    "openai key": ("openai", openai.error(401, "Incorrect API key", code="invalid_api_key"),
                   "auth", False),
    "openai quota": (
        "openai", openai.error(429, "You exceeded your current quota", "insufficient_quota",
                               "insufficient_quota"), "permissionDenied", False),
    "openai rate": (
        "openai", openai.error(429, "Rate limit reached", "requests", "rate_limit_exceeded"),
        "rateLimited", False),
    "openai model": (
        "openai", openai.error(400, "The model does not exist", code="model_not_found"),
        "notFound", False),
    "openai overflow": (
        "openai",
        openai.error(400, "This model's maximum context length is 8192 tokens.",
                     code="context_length_exceeded"), "invalidRequest", True),
    "llama.cpp overflow": (
        "openaiCompatible",
        json_reply(400, {"error": {"code": 400, "type": "exceed_context_size_error",
                                   "message": "the request exceeds the available context size",
                                   "n_prompt_tokens": 9000, "n_ctx": 4096}}),
        "invalidRequest", True),
    "llama.cpp loading": (
        "openaiCompatible",
        json_reply(503, {"error": {"code": 503, "type": "unavailable_error",
                                   "message": "Loading model"}}), "overloaded", False),
    "vLLM overflow": (
        "openaiCompatible",
        json_reply(400, {"object": "error", "code": 400, "type": "BadRequestError",
                         "message": "This model's maximum context length is 4096 tokens."}),
        "invalidRequest", True),
    "OpenRouter balance": (
        "openaiCompatible",
        json_reply(402, {"error": {"code": 402, "message": "Insufficient credits"}}),
        "permissionDenied", False),
    "OpenRouter passes on": (
        "openaiCompatible",
        json_reply(502, {"error": {"code": 429, "message": "Provider returned error",
                                   "metadata": {"raw": "slow down"}}}), "rateLimited", False),
    "Google array": (
        "openaiCompatible",
        json_reply(400, [{"error": {"code": 400, "status": "UNAUTHENTICATED", "message": "no"}}]),
        "auth", False),
    "Google overflow": (
        "openaiCompatible",
        json_reply(400, {"error": {
            "code": 400, "status": "INVALID_ARGUMENT",
            "message": "The input token count (9) exceeds the maximum number of tokens (8)."}}),
        "invalidRequest", True),
    "Mistral overflow": (
        "openaiCompatible",
        json_reply(400, {"object": "error", "type": "invalid_request_error", "message":
                         "Prompt contains 9 tokens, too large for model with 8 maximum context "
                         "length"}), "invalidRequest", True),
    "Moonshot overflow": (
        "openaiCompatible",
        json_reply(400, {"error": {"type": "invalid_request_error", "message":
                                   "Invalid request: Your request exceeded model token limit: 8"}}),
        "invalidRequest", True),
    "xAI overflow": (
        "openaiCompatible",
        json_reply(400, {"code": "Client specified an invalid argument", "error":
                         "This model's maximum prompt length is 8 but the request contains 9"}),
        "invalidRequest", True),
    "LM Studio overflow": (
        "openaiCompatible",
        json_reply(400, {"error": "Trying to keep the first 9 tokens when context the overflows. "
                                  "However, the model is loaded with context length of only 8"}),
        "invalidRequest", True),
    "FastAPI": (
        "openaiCompatible",
        json_reply(422, {"detail": [{"loc": ["body", "x"], "msg": "field required"}]}),
        "invalidRequest", False),
    "ollama model": ("ollama", ollama.error(404, "model 'x' not found"), "notFound", False),
    "ollama overflow": (
        "ollama", ollama.error(400, "the input length exceeds the context length"),
        "invalidRequest", True),
    "ollama tools": ("ollama", ollama.error(400, "x does not support tools"), "invalidRequest",
                     False),
}  # fmt: skip


@pytest.mark.parametrize("name", VENDOR_ERRORS)
def test_V13_vendors_error_type_wins_and_overflow_is_told_apart(
    runtime: Runtime, name: str
) -> None:
    kind, reply, wanted, overflow = VENDOR_ERRORS[name]
    data = fault(runtime, kind, reply)
    assert (data["kind"], data["status"]) == (wanted, reply.status)
    assert data.get("contextOverflow", False) is overflow
    assert isinstance(reply.body, bytes)
    words = re.findall(r'"(?:message|raw|msg|error)": "([^"]+)"', reply.body.decode())
    assert words
    assert any(word in data["message"] for word in words)


def soon(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


# Reply -> the least and the most of `retryAfterMs`; None for none.
WAITS: dict[str, tuple[str, Reply, tuple[int, int] | None]] = {
    "seconds": ("openai", openai.error(429, "x", headers={"retry-after": "3"}), (3000, 3000)),
    "fraction": ("openai", openai.error(429, "x", headers={"retry-after": "0.5"}), (500, 500)),
    "zero": ("openai", openai.error(429, "x", headers={"retry-after": "0"}), (0, 0)),
    "date": ("openai", openai.error(429, "x", headers={"retry-after": soon(36_000)}),
             (30_000_000, 36_001_000)),
    "past date": ("openai", openai.error(503, "x", headers={"retry-after": soon(-100)}), (0, 0)),
    "milliseconds": (
        "openai", openai.error(429, "x", headers={"retry-after-ms": "250", "retry-after": "9"}),
        (250, 250)),
    "nonsense": ("openai", openai.error(429, "x", headers={"retry-after": "soon"}), None),
    "body": ("openai", openai.error(429, "Rate limit reached. Please try again in 2.9s."),
             (2900, 2900)),
    "body, milliseconds": ("openai", openai.error(429, "Please try again in 20ms."), (20, 20)),
    "body, minutes": ("openai", openai.error(429, "Please try again in 7m12.5s. Visit"),
                      (432_500, 432_500)),
    "body, words": ("openaiCompatible", openai.error(429, "Please retry after 5 seconds"),
                    (5000, 5000)),
    "used up tokens": (
        "openai",
        openai.error(429, "x", headers={"x-ratelimit-remaining-tokens": "0",
                                        "x-ratelimit-reset-tokens": "6m0s",
                                        "x-ratelimit-remaining-requests": "4",
                                        "x-ratelimit-reset-requests": "1h"}), (360_000, 360_000)),
    "anthropic reset": (
        "anthropic",
        anthropic.error(429, "rate_limit_error", "x", {
            "anthropic-ratelimit-requests-remaining": "0",
            "anthropic-ratelimit-requests-reset":
                (datetime.now(UTC) + timedelta(hours=10)).isoformat()}), (30_000_000, 36_000_000)),
    "OpenRouter in the body": (
        "openaiCompatible",
        json_reply(429, {"error": {"code": 429, "message": "x", "metadata": {"headers": {
            "X-RateLimit-Remaining": "0",
            "X-RateLimit-Reset": str(int(time.time() * 1000) + 36_000_000)}}}}),
        (30_000_000, 36_000_000)),
    "Google retry info": (
        "openaiCompatible",
        json_reply(429, {"error": {"code": 429, "message": "x", "details": [
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]}}),
        (34_000, 34_000)),
    "none": ("openai", openai.error(429, "x"), None),
    "not retryable": ("openai", openai.error(400, "x", headers={"retry-after": "3"}), None),
}  # fmt: skip


@pytest.mark.parametrize("name", WAITS)
def test_P10_stated_wait_is_in_the_error(runtime: Runtime, name: str) -> None:
    kind, reply, bounds = WAITS[name]
    data = fault(runtime, kind, reply)
    if bounds is None:
        assert "retryAfterMs" not in data
    else:
        assert bounds[0] <= data["retryAfterMs"] <= bounds[1]


# Bodies with status 200 that are no stream -> kind of error, for all kinds of endpoint.
SUCCESSES: dict[str, tuple[Reply, str, int | None]] = {
    "HTML": (Reply(200, {"content-type": "text/html"}, b"\n<!DOCTYPE html><html>"), "protocol",
             200),
    "HTML said to be a stream": (Reply(200, SSE, [b"<", b"html>"]), "protocol", 200),
    "text": (Reply(200, {"content-type": "text/plain"}, b"hello there"), "protocol", 200),
    "empty": (Reply(200, SSE), "network", None),
    "only blanks": (Reply(200, SSE, b"\n \n"), "network", None),
    "JSON error": (Reply(200, JSON, b'{"error": {"message": "oh no", "code": 429}}'),
                   "rateLimited", 200),
    "JSON error as text": (Reply(200, JSON, b'{"error": "oh no"}'), "server", 200),
    "JSON of something else": (Reply(200, JSON, b'{"hello": 1}'), "protocol", 200),
    "cut JSON": (Reply(200, JSON, b'{"choices": [{'), "protocol", 200),
}  # fmt: skip


@pytest.mark.parametrize("name", SUCCESSES)
@pytest.mark.parametrize("kind", KINDS)
def test_V13_success_that_is_none(runtime: Runtime, kind: str, name: str) -> None:
    reply, wanted, status = SUCCESSES[name]
    data = fault(runtime, kind, reply)
    if kind == "ollama" and name in ("text", "cut JSON", "JSON of something else"):
        # A line of its stream may be any object, and its last may be cut.
        wanted, status = "network", None
    assert data["kind"] == wanted
    if "JSON error" not in name or kind != "ollama":
        assert data.get("status") == status


IN_STREAM: dict[str, tuple[str, bytes, str]] = {
    "anthropic": (
        "anthropic",
        event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
              "error"), "overloaded"),
    "openai": ("openai", event({"error": {"message": "oops", "type": "server_error"}}), "server"),
    "OpenRouter": (
        "openaiCompatible",
        event({"id": "x", "error": {"code": 502, "message": "Provider disconnected"},
               "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}),
        "server"),
    "OpenRouter, rate": (
        "openaiCompatible", event({"error": {"code": 429, "message": "slow"}}), "rateLimited"),
    "an event named error": ("openaiCompatible", event({"message": "bad"}, "error"), "server"),
    "a field named error": (
        "openaiCompatible", b'error: {"code":500,"message":"bad","type":"server_error"}\n\n',
        "server"),
    "overflow": (
        "openaiCompatible",
        event({"error": {"code": 400, "message": "maximum context length is 8"}}),
        "invalidRequest"),
    "text": ("openaiCompatible", event({"error": "bad things"}), "server"),
    "no JSON": ("openaiCompatible", event("{nope"), "protocol"),
    "a list": ("openaiCompatible", event([1]), "protocol"),
    "ollama": ("ollama", json_line({"error": "model runner has unexpectedly stopped"}), "server"),
    "ollama, no JSON": ("ollama", b"{nope\n", "protocol"),
}  # fmt: skip


@pytest.mark.parametrize("name", IN_STREAM)
def test_V14_error_in_mid_stream_with_status_200(runtime: Runtime, name: str) -> None:
    kind, bad, wanted = IN_STREAM[name]
    frames = STREAMS[kind](HELLO, b"\n")
    first = frames[: next(n for n, part in enumerate(frames, 1) if b"Hello" in part)]
    with Server() as server:
        server.replies.append(Reply(200, SSE, [b"".join(first) + bad]))
        chat = Chat(runtime, KINDS[kind].config(server), ask())
        error = chat.error
        # What came before it in the same packet was delivered.
        assert chat.raw_events[0]["type"] == "textDelta"
    assert error["data"]["kind"] == wanted
    assert error["data"].get("contextOverflow", False) is (name == "overflow")


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize("kind", KINDS)
def test_P7_V13_connection_lost_in_mid_stream(runtime: Runtime, kind: str, end: Any) -> None:
    frames = STREAMS[kind](HELLO, b"\n")
    for reply in (
        Reply(200, SSE, frames[:2], end=end),
        Reply(200, SSE, b"".join(frames[:2]), end=end, chunked=False),
        Reply(200, {**SSE, "content-length": "99999"}, b"".join(frames[:2]), end=end),
    ):
        assert fault(runtime, kind, reply)["kind"] == "network"


@pytest.mark.parametrize("kind", KINDS)
def test_V13_connection_lost_before_an_answer_or_no_http(runtime: Runtime, kind: str) -> None:
    assert fault(runtime, kind, Reply(0, end="close"))["kind"] == "network"
    assert fault(runtime, kind, Reply(0, end="reset"))["kind"] == "network"
    ssh = Reply(0, body=b"SSH-2.0-OpenSSH_9.2\r\n\r\n", end="close")
    assert fault(runtime, kind, ssh)["kind"] == "protocol"


@pytest.mark.parametrize("kind", KINDS)
def test_V13_refused_and_unknown_host_and_failed_tls(runtime: Runtime, kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    settings = KINDS[kind].config(f"http://127.0.0.1:{port}")
    data = Chat(runtime, settings, ask()).error["data"]
    check_words(data, settings, data["message"])
    assert (data["kind"], "refused" in data["message"]) == ("network", True)

    settings = KINDS[kind].config("https://no-such-host.invalid")
    data = Chat(runtime, settings, ask()).error["data"]
    check_words(data, settings, data["message"])
    assert (data["kind"], "resolve" in data["message"]) == ("network", True)

    with Server() as server:  # speaks no TLS
        settings = KINDS[kind].config(server.origin.replace("http:", "https:"))
        data = Chat(runtime, settings, ask()).error["data"]
        check_words(data, settings, data["message"])
        assert (data["kind"], "TLS" in data["message"]) == ("network", True)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    """A server's TLS for 127.0.0.1, and the file that makes it trusted."""
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", str(key), "-out", str(cert)],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context, cert


def test_V13_certificate_that_is_not_trusted(
    runtime: Runtime, certificate: tuple[ssl.SSLContext, Path]
) -> None:
    with Server(openai.Api(HELLO), tls=certificate[0]) as server:
        data = Chat(runtime, OPENAI.config(server), ask()).error["data"]
    assert data["kind"] == "network"
    assert "certificate" in data["message"]


def test_V13_ca_bundle_of_the_environment(certificate: tuple[ssl.SSLContext, Path]) -> None:
    tls, file = certificate
    with Server(openai.Api(HELLO), tls=tls) as server:
        with Runtime(environment={"SSL_CERT_FILE": str(file)}) as trusting:
            trusting.initialize()
            chat = Chat(trusting, OPENAI.config(server), ask())
            assert chat.events == expected(HELLO)
        with Runtime(environment={"SSL_CERT_FILE": "/nowhere/ca.pem"}) as misled:
            misled.initialize()
            data = Chat(misled, OPENAI.config(server), ask()).error["data"]
    assert data["kind"] == "invalidConfig"
    assert "SSL_CERT_FILE" in data["message"]


def test_V13_proxy_of_the_environment() -> None:
    def proxy(request: Any) -> Reply:
        assert request.path.startswith("http://models.test:81/")
        request.path = request.path.removeprefix("http://models.test:81")
        return api(request)

    api = ollama.Api(HELLO)
    config = {"kind": "ollama", "model": ollama.MODEL, "baseUrl": "http://models.test:81"}
    with Server(proxy) as server:
        environment = {"HTTP_PROXY": server.origin, "NO_PROXY": ""}
        with Runtime(environment={**environment, "http_proxy": None, "no_proxy": None}) as proxied:
            proxied.initialize()
            assert Chat(proxied, config, ask()).events == expected(HELLO)
    bad = {"HTTP_PROXY": "gopher://me:proxy-secret@x", "http_proxy": None}
    with Runtime(environment={**bad, "TASK_X_LOG": "trace"}) as lost:
        lost.initialize()
        error = Chat(lost, config, ask()).error
        assert error["data"]["kind"] == "invalidConfig"
        assert "proxy-secret" not in str(error) + lost.stderr()


def test_V14_redirects_within_the_origin_only(runtime: Runtime) -> None:
    with Server() as other, OPENAI.serve(HELLO) as server:
        here = Reply(307, {"location": "/v1/chat/completions"})
        server.replies.append(here)
        assert Chat(runtime, OPENAI.config(server), ask()).events == expected(HELLO)
        server.replies.append(Reply(308, {"location": f"{server.origin}/v1/models"}))
        assert runtime.result("provider/listModels", {"provider": OPENAI.config(server)})
        for status in (301, 302, 303, 307, 308):
            target = f"{other.origin}/v1/chat/completions"
            server.replies.append(Reply(status, {"location": target}))
            data = Chat(runtime, OPENAI.config(server), ask()).error["data"]
            assert (data["kind"], data["status"]) == ("invalidConfig", status)
            assert other.origin.split("/")[2] in data["message"]
            server.replies.append(Reply(status, {"location": f"{other.origin}/v1/models"}))
            error = runtime.error("provider/listModels", {"provider": OPENAI.config(server)})
            assert error["data"]["kind"] == "invalidConfig"
        server.replies.extend([here] * 9)
        assert Chat(runtime, OPENAI.config(server), ask()).error["data"]["kind"] == "protocol"
        assert other.requests == []


@pytest.mark.parametrize("kind", KINDS)
def test_P12_silence_is_a_timeout(runtime: Runtime, kind: str) -> None:
    frames = STREAMS[kind](HELLO, b"\n")
    for reply in (
        Reply(0, end="hang"),
        Reply(200, SSE, end="hang", chunked=True),
        Reply(200, SSE, frames[:2], end="hang"),
    ):
        started = time.monotonic()
        data = fault(runtime, kind, reply, timeoutMs=1000)
        assert data["kind"] == "timeout"
        assert 0.9 < time.monotonic() - started < 8  # and not the 120 s of the default


class Ticks:
    """An iterable of bytes with a pause before each piece."""

    def __init__(self, pause_s: float, pieces: list[bytes]) -> None:
        self._pause_s = pause_s
        self._pieces = pieces

    def __iter__(self) -> Any:
        for piece in self._pieces:
            threading.Event().wait(self._pause_s)
            yield piece


def test_P12_P13_every_byte_restarts_the_idle_gap(runtime: Runtime) -> None:
    frames = b"".join(STREAMS["openaiCompatible"](HELLO, b"\n"))
    slow = Ticks(0.4, [b": still here\n\n"] * 3 + [frames])
    with Server() as server:
        server.replies.append(Reply(200, SSE, slow))
        config = COMPATIBLE.config(server, timeoutMs=1000)
        assert Chat(runtime, config, ask()).events == expected(HELLO)
    late = Ticks(0.7, [b"".join(STREAMS["ollama"](HELLO, b"\n"))])
    with Server() as server:  # the first token comes just in time
        server.replies.append(Reply(200, SSE, late))
        assert Chat(runtime, OLLAMA.config(server, timeoutMs=1000), ask()).events == expected(HELLO)


def test_P7_silence_after_the_finish_reason_is_a_whole_answer(runtime: Runtime) -> None:
    frames = [part for part in openai.stream(HELLO, usage=False) if b"[DONE]" not in part]
    with Server() as server:
        server.replies.append(Reply(200, SSE, frames, end="hang"))
        chat = Chat(runtime, COMPATIBLE.config(server, timeoutMs=1000), ask())
        assert chat.result["text"] == HELLO.steps[0].text


def test_V14_bodies_are_bounded(runtime: Runtime) -> None:
    zeros = b"\0" * (64 << 20)
    bombs = {"gzip": zlib.compressobj(wbits=31), "br": brotli.Compressor()}
    packed = {
        "gzip": bombs["gzip"].compress(zeros) + bombs["gzip"].flush(),
        "br": bombs["br"].process(zeros) + bombs["br"].finish(),
    }
    for encoding, body in packed.items():
        assert len(body) < 100_000
        headers = {**JSON, "content-encoding": encoding}
        with Server(lambda request, h=headers, b=body: Reply(200, h, b)) as server:  # type: ignore[misc]
            for method in ("provider/listModels", "chat/send"):
                params = {"provider": COMPATIBLE.config(server), "request": ask()}
                error = runtime.error(method, params)
                assert error["data"]["kind"] == "protocol"
    assert runtime.rss_bytes("VmHWM") < 250 << 20
    with Server() as server:
        server.replies.append(Reply(500, JSON, b"x" * (5 << 20)))
        error = runtime.error("provider/listModels", {"provider": COMPATIBLE.config(server)})
        assert error["data"]["kind"] == "server"
        assert len(error["message"]) < 800


def test_V13_body_that_is_not_what_its_encoding_says(runtime: Runtime) -> None:
    for encoding in ("gzip", "deflate", "br", "zstd"):
        reply = Reply(200, {**SSE, "content-encoding": encoding}, b"data: not packed\n\n")
        assert fault(runtime, "openai", reply)["kind"] == "protocol"


def test_V13_no_exception_of_httpx_is_unmapped() -> None:
    def below(base: type[Exception]) -> set[type[Exception]]:
        return {base}.union(*(below(sub) for sub in base.__subclasses__()))

    config = msgspec.convert(OPENAI.config("http://127.0.0.1:9"), ProviderConfig)
    request = httpx.Request("GET", "http://127.0.0.1:9/?sk-secret-secret")
    foreign = below(httpx.HTTPError) | below(httpx.StreamError) | {httpx.InvalidURL}
    for kind in foreign:
        if kind is httpx.HTTPStatusError:
            raised: Exception = kind("sk-secret", request=request, response=httpx.Response(500))  # type: ignore[call-arg]
        else:
            raised = (
                kind("sk-secret")
                if kind not in below(httpx.StreamError)
                else Exception.__new__(kind)
            )
        error = translated(raised, Endpoint.of(config))
        assert isinstance(error, ProviderError)
        assert error.kind in ("network", "timeout", "protocol", "invalidConfig")
        assert "secret" not in error.message
        if issubclass(kind, httpx.TimeoutException):
            assert error.kind == "timeout"
        if issubclass(kind, httpx.NetworkError | httpx.ProxyError):
            assert error.kind == "network"


def test_V13_key_quoted_by_the_server_is_not_passed_on(runtime: Runtime) -> None:
    for kind in ("anthropic", "openai", "openaiCompatible"):
        key = KINDS[kind].key
        body = {"error": {"message": f"bad key {key} (Bearer {key}), see sk-proj-ab***********xyz"}}
        with Server() as server:
            server.replies.append(json_reply(401, body))
            error = Chat(runtime, KINDS[kind].config(server), ask()).error
        assert key is not None
        assert key not in json.dumps(error)
        assert "xyz" not in error["message"]
        assert "bad key" in error["message"]


def test_V13_a_stream_is_not_retried(runtime: Runtime) -> None:
    with Server(lambda request: Reply(503)) as server:
        assert Chat(runtime, ANTHROPIC.config(server), ask()).error["data"]["kind"] == "overloaded"
        assert len(server.requests) == 1
