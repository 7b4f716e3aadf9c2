"""`chat/send` through the real process: the four kinds, and streams as real servers send them."""

from __future__ import annotations

import gzip
import json
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any

import brotli
import pytest

from tests.process.client import Runtime
from tests.providers.fakes import ollama, openai
from tests.providers.fakes.script import (
    CACHED,
    CALLS,
    EVERY_KIND,
    HELLO,
    REASONED,
    THOUGHTFUL_CALL,
    Call,
    Redacted,
    Script,
    Text,
    Think,
    expected,
    wire_usage,
)
from tests.providers.fakes.server import Reply, Server
from tests.providers.fakes.sse import LINE_ENDS, event
from tests.providers.kinds import (
    ANTHROPIC,
    COMPATIBLE,
    KINDS,
    OLLAMA,
    OPENAI,
    STREAMS,
    Chat,
    ask,
    user,
)

SSE = {"content-type": "text/event-stream"}
PNG = "iVBORw0KGgoAAAANSUhEUg=="


@pytest.mark.parametrize("name", EVERY_KIND)
@pytest.mark.parametrize("kind", KINDS)
def test_V09_chat_of_each_kind(runtime: Runtime, kind: str, name: str) -> None:
    script = EVERY_KIND[name]
    with KINDS[kind].serve(script) as server:
        chat = Chat(runtime, KINDS[kind].config(server), ask())
        assert chat.events == expected(script)
        result = chat.result
    content = result.pop("content", None)
    assert result == {
        "text": "".join(step.text for step in script.steps if isinstance(step, Text)),
        "toolCalls": [
            {"id": step.id, "name": step.name, "input": step.input}
            for step in script.steps
            if isinstance(step, Call)
        ],
        "stopReason": script.stop,
        "usage": wire_usage(script.usage) if script.usage else None,
    }
    assert (content is not None) == any(isinstance(step, Think) for step in script.steps)


def test_V09_all_events_come_before_the_reply(runtime: Runtime) -> None:
    with OPENAI.serve(HELLO) as server:
        chat = Chat(runtime, OPENAI.config(server), ask())
        assert chat.result
        mine = [
            message
            for message in list(runtime.messages)
            if message.get("id") == chat.id or message.get("params", {}).get("requestId") == chat.id
        ]
    assert "result" in mine[-1]
    assert mine[-2]["params"]["event"]["type"] == "done"


STOPS = {
    "anthropic": {
        "end_turn": "endTurn",
        "max_tokens": "maxTokens",
        "model_context_window_exceeded": "maxTokens",
        "stop_sequence": "stopSequence",
        "refusal": "contentFilter",
        "pause_turn": "unknown",
    },
    "openai": {
        "stop": "endTurn",
        "length": "maxTokens",
        "content_filter": "contentFilter",
        "something_new": "unknown",
    },
    "ollama": {"stop": "endTurn", "length": "maxTokens", "something_new": "unknown"},
}


@pytest.mark.parametrize(
    ("kind", "reason"), [(kind, reason) for kind, stops in STOPS.items() for reason in stops]
)
def test_V09_stop_reasons(runtime: Runtime, kind: str, reason: str) -> None:
    frames = b"".join(STREAMS[kind](HELLO, b"\n"))
    sent = {"anthropic": b'"end_turn"', "openai": b'"stop"', "ollama": b'"stop"'}[kind]
    assert sent in frames
    with Server() as server:
        server.replies.append(Reply(200, SSE, frames.replace(sent, json.dumps(reason).encode())))
        chat = Chat(runtime, KINDS[kind].config(server), ask())
        assert chat.result["stopReason"] == STOPS[kind][reason]


# V11: parts of messages, as each API wants them.

HISTORY = {
    "system": "Be brief.",
    "tools": [
        {
            "name": "read_file",
            "description": "Reads.",
            "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
        }
    ],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look:"},
                {"type": "image", "mediaType": "image/png", "data": PNG},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Reading."},
                {"type": "toolUse", "id": "call.1", "name": "read_file", "input": {"path": "a"}},
                {"type": "toolUse", "id": "call.2", "name": "read_file", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Also this."},
                {"type": "toolResult", "toolUseId": "call.1", "toolName": "read_file",
                 "content": "one"},
                {"type": "toolResult", "toolUseId": "call.2", "toolName": "read_file",
                 "content": "", "isError": True},
            ],
        },
        user("And then?"),
        user("   "),
    ],
}  # fmt: skip
SCHEMA = HISTORY["tools"][0]["inputSchema"]  # type: ignore[index]
FUNCTION = {"name": "read_file", "description": "Reads.", "parameters": SCHEMA}
MARK = {"cache_control": {"type": "ephemeral"}}

SENT: dict[str, dict[str, Any]] = {
    "anthropic": {
        "system": [{"type": "text", "text": "Be brief.", **MARK}],
        "tools": [
            {"name": "read_file", "description": "Reads.", "input_schema": SCHEMA, **MARK}
        ],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look:"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": PNG},
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Reading."},
                    {"type": "tool_use", "id": "call_1", "name": "read_file",
                     "input": {"path": "a"}},
                    {"type": "tool_use", "id": "call_2", "name": "read_file", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "call_1", "content": "one"},
                    {"type": "tool_result", "tool_use_id": "call_2", "content": "failed",
                     "is_error": True},
                    {"type": "text", "text": "Also this."},
                    {"type": "text", "text": "And then?", **MARK},
                ],
            },
        ],
    },
    "openai": {
        "tools": [{"type": "function", "function": FUNCTION}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look:"},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                ],
            },
            {
                "role": "assistant",
                "content": "Reading.",
                "tool_calls": [
                    {"id": "call.1", "type": "function",
                     "function": {"name": "read_file", "arguments": '{"path":"a"}'}},
                    {"id": "call.2", "type": "function",
                     "function": {"name": "read_file", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "call.1", "content": "one"},
            {"role": "tool", "tool_call_id": "call.2", "content": "failed"},
            {"role": "user", "content": "Also this.\n\nAnd then?"},
        ],
    },
    "ollama": {
        "tools": [{"type": "function", "function": FUNCTION}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Look:", "images": [PNG]},
            {
                "role": "assistant",
                "content": "Reading.",
                "tool_calls": [
                    {"id": "call.1",
                     "function": {"name": "read_file", "arguments": {"path": "a"}}},
                    {"id": "call.2", "function": {"name": "read_file", "arguments": {}}},
                ],
            },
            {"role": "tool", "tool_name": "read_file", "tool_call_id": "call.1",
             "content": "one"},
            {"role": "tool", "tool_name": "read_file", "tool_call_id": "call.2",
             "content": "failed"},
            {"role": "user", "content": "Also this.\n\nAnd then?"},
        ],
    },
}  # fmt: skip
SENT["openaiCompatible"] = SENT["openai"]


@pytest.mark.parametrize("kind", KINDS)
def test_V11_parts_are_mapped_as_each_api_wants_them(runtime: Runtime, kind: str) -> None:
    with KINDS[kind].serve(HELLO) as server:
        chat = Chat(runtime, KINDS[kind].config(server), HISTORY)
        assert chat.events == expected(HELLO)
        body = server.requests[0].json
    assert {name: body[name] for name in SENT[kind]} == SENT[kind]
    assert body["stream"] is True


# Reasoning, kept and sent back.


def follow_up(runtime: Runtime, server: Server, kind: str) -> dict[str, Any]:
    """Answers the first answer's calls, with its content as history; returns the second body."""
    chat = Chat(runtime, KINDS[kind].config(server), ask())
    content = chat.result["content"]
    results = [
        {"type": "toolResult", "toolUseId": part["id"], "toolName": part["name"], "content": "ok"}
        for part in content
        if part["type"] == "toolUse"
    ]
    messages = [
        user("hi"),
        {"role": "assistant", "content": content},
        {"role": "user", "content": results or [{"type": "text", "text": "go on"}]},
    ]
    again = Chat(runtime, KINDS[kind].config(server), {"messages": messages})
    assert again.result, again.reply
    body: dict[str, Any] = server.requests[-1].json
    return body


def test_V09_thinking_of_anthropic_goes_back_byte_for_byte(runtime: Runtime) -> None:
    script = Script(
        (
            Think("First… \U0001f914", signature="c2ln+/bmF0dXJl=="),
            Redacted("cmVkYWN0ZWQ+/w=="),
            Text("I look."),
            Think("", signature="ZW1wdHk="),
            Call("toolu_1", "read_file", {"path": "a"}),
        ),
        stop="toolUse",
    )
    with ANTHROPIC.serve(script) as server:
        body = follow_up(runtime, server, "anthropic")
    assert body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "First… \U0001f914", "signature": "c2ln+/bmF0dXJl=="},
        {"type": "redacted_thinking", "data": "cmVkYWN0ZWQ+/w=="},
        {"type": "text", "text": "I look."},
        {"type": "thinking", "thinking": "", "signature": "ZW1wdHk="},
        {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a"}},
    ]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_P11_reasoning_of_a_call_goes_back_to_servers_that_refuse_without(
    runtime: Runtime, field: str
) -> None:
    with COMPATIBLE.serve(THOUGHTFUL_CALL, reasoning_field=field, needs_reasoning=True) as server:
        body = follow_up(runtime, server, "openaiCompatible")
    assert body["messages"][1][field] == "I need the file."
    assert body["messages"][1]["tool_calls"][0]["id"] == "call_9"


def test_P11_reasoning_of_a_finished_turn_stays_here(runtime: Runtime) -> None:
    with COMPATIBLE.serve(REASONED) as server:  # the fake refuses it there
        body = follow_up(runtime, server, "openaiCompatible")
    assert body["messages"][1] == {"role": "assistant", "content": "The answer is 42."}


def test_P11_thinking_of_ollama_goes_back_with_its_call(runtime: Runtime) -> None:
    with OLLAMA.serve(THOUGHTFUL_CALL) as server:
        body = follow_up(runtime, server, "ollama")
    assert body["messages"][1]["thinking"] == "I need the file."


def test_P11_reasoning_of_one_kind_is_not_sent_to_another(runtime: Runtime) -> None:
    for source, target in (("openaiCompatible", "anthropic"), ("anthropic", "ollama")):
        with KINDS[source].serve(THOUGHTFUL_CALL) as server:
            content = Chat(runtime, KINDS[source].config(server), ask()).result["content"]
        assert content[0]["type"] == "thinking"
        result = {"type": "toolResult", "toolUseId": "call_9", "content": "ok"}
        messages = [
            user("hi"),
            {"role": "assistant", "content": content},
            {"role": "user", "content": [result]},
        ]
        with KINDS[target].serve(HELLO) as server:
            chat = Chat(runtime, KINDS[target].config(server), {"messages": messages})
            assert chat.events == expected(HELLO)
            assert "I need the file" not in server.requests[0].body.decode()


def test_V09_structured_reasoning_of_openrouter_goes_back_whole(runtime: Runtime) -> None:
    def detail(**fields: Any) -> bytes:
        return event(openai.chunk({"reasoning_details": [fields]}))

    one = {"type": "reasoning.text", "index": 0, "format": "anthropic-claude-v1"}
    frames = [
        detail(**one, text="Hm"),
        detail(**one, text="m."),
        detail(**one, signature="c2ln"),
        detail(type="reasoning.encrypted", index=1, data="ZW5j"),
    ]
    frames += openai.stream(Script((Call("c1", "f", {}),), stop="toolUse"))
    with COMPATIBLE.serve(HELLO) as server:
        server.replies.append(Reply(200, SSE, frames))
        chat = Chat(runtime, COMPATIBLE.config(server), ask())
        kept = chat.result["content"][0]["data"]["details"]
    assert kept == [
        {**one, "text": "Hmm.", "signature": "c2ln"},
        {"type": "reasoning.encrypted", "index": 1, "data": "ZW5j"},
    ]


def test_V09_effort_is_asked_for_in_each_vendors_words(runtime: Runtime) -> None:
    wanted: dict[str, dict[str, Any]] = {
        "anthropic": {
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": "high"},
        },
        "openai": {"reasoning_effort": "high"},
        "ollama": {"think": True},
    }
    for kind, fields in wanted.items():
        with KINDS[kind].serve(HELLO) as server:
            chat = Chat(runtime, KINDS[kind].config(server), ask(thinking="high"))
            assert chat.events == expected(HELLO)
            body = server.requests[0].json
            assert {name: body[name] for name in fields} == fields
    with ANTHROPIC.serve(HELLO) as server:
        config = ANTHROPIC.config(server, model="claude-sonnet-4-5-20250929")
        request = ask(thinking="medium", temperature=0.3)
        assert Chat(runtime, config, request).events == expected(HELLO)
        body = server.requests[0].json
        assert body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
        assert body["temperature"] == 1


# Usage


def test_K1_cached_tokens_are_counted_once_whatever_the_counting(runtime: Runtime) -> None:
    wanted = {"inputTokens": 1000, "outputTokens": 5, "cacheReadTokens": 800}
    for kind in ("anthropic", "openai", "openaiCompatible"):
        with KINDS[kind].serve(CACHED) as server:
            chat = Chat(runtime, KINDS[kind].config(server), ask())
            assert chat.result["usage"] == wanted, kind
            assert [one for one in chat.events if one["type"] == "usage"] == [
                {"type": "usage", "usage": wanted}
            ]
    written = Script((Text("x"),), usage=(1000, 5, 300, 600))
    with ANTHROPIC.serve(written) as server:
        usage = Chat(runtime, ANTHROPIC.config(server), ask()).result["usage"]
    assert usage == {**wanted, "cacheReadTokens": 300, "cacheWriteTokens": 600}


# V14, P: what real servers send. Chunks of the OpenAI format -> folded events and the usage.


def say(text: str | None, finish: str | None = None, **fields: Any) -> bytes:
    return event(openai.chunk({"content": text}, finish, **fields))


def calls(*deltas: dict[str, Any]) -> bytes:
    return event(openai.chunk({"tool_calls": list(deltas)}))


def call(arguments: str, **fields: Any) -> dict[str, Any]:
    name = fields.pop("name", None)
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return {**fields, "function": function}


DONE = event("[DONE]")
STOP = say("", "stop")
CALLED = event(openai.chunk({}, "tool_calls"))
USED = {"usage": {"prompt_tokens": 7, "completion_tokens": 2}}
USAGE = {"type": "usage", "usage": {"inputTokens": 7, "outputTokens": 2}}
END = {"type": "done", "stopReason": "endTurn"}
TOOLS = {"type": "done", "stopReason": "toolUse"}
HI = {"type": "textDelta", "text": "Hi!"}
A = {"type": "toolCall", "id": "a", "name": "f", "input": {"x": 1}}
B = {"type": "toolCall", "id": "b", "name": "g", "input": {"y": 2}}

ACCENTS: dict[str, tuple[list[bytes], list[dict[str, Any]]]] = {
    "empty choices first (Azure)": (
        [event({"choices": [], "prompt_filter_results": []}), say("Hi!"), STOP, DONE], [HI, END]),
    "null choices": ([event({"choices": None}), say("Hi!"), STOP, DONE], [HI, END]),
    "usage in a last chunk without choices": (
        [say("Hi!"), STOP, event({"choices": [], **USED}), DONE], [HI, USAGE, END]),
    "usage beside content": ([say("Hi!", **USED), STOP, DONE], [HI, USAGE, END]),
    "usage in every chunk": ([say("H", usage={"prompt_tokens": 7, "completion_tokens": 1}),
                              say("i!", **USED), say("", "stop", **USED), DONE], [HI, USAGE, END]),
    "usage null": ([say("Hi!", usage=None), STOP, event({"choices": [], **USED}), DONE],
                   [HI, USAGE, END]),
    "usage of Groq": ([say("Hi!"), say("", "stop", x_groq=USED), DONE], [HI, USAGE, END]),
    "several choices": (
        [event({"choices": [{"index": 1, "delta": {"content": "no"}},
                            {"index": 0, "delta": {"content": "Hi!"}}]}), STOP, DONE], [HI, END]),
    "choice without an index": ([event({"choices": [{"delta": {"content": "Hi!"}}]}), STOP, DONE],
                                [HI, END]),
    "null content and null delta": (
        [say(None), event({"choices": [{"index": 0, "delta": None}]}), say("Hi!"), STOP, DONE],
        [HI, END]),
    "comments and keep-alives": (
        [b": ping\n\n", b":\n", b"event: x\n\n", b"retry: 3\n\n", say("Hi!"),
         b": OPENROUTER PROCESSING\n\n", STOP, DONE], [HI, END]),
    "no space after data": ([say("Hi!").replace(b"data: ", b"data:"), STOP, b"data:[DONE]\n\n"],
                            [HI, END]),
    "done mark with null finish": ([say("Hi!"), DONE], [HI, END]),
    "finish reason and no done mark": ([say("Hi!"), STOP], [HI, END]),
    "no blank line after the done mark": ([say("Hi!"), STOP, b"data: [DONE]"], [HI, END]),
    "chunks after the done mark": ([say("Hi!"), STOP, DONE, say("no")], [HI, END]),
    "chunks without a blank line between": (
        [(say("H") + say("i!") + STOP).replace(b"\n\n", b"\n") + b"\n", DONE], [HI, END]),
    "error null": ([say("Hi!", error=None), STOP, DONE], [HI, END]),
    "content as parts (Mistral)": (
        [event(openai.chunk({"content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
            {"type": "text", "text": "Hi!"}]})), STOP, DONE],
        [{"type": "thinkingDelta", "text": "Hm."}, HI, END]),
    "both names of reasoning (vLLM)": (
        [event(openai.chunk({"reasoning": "Hm.", "reasoning_content": "Hm."})), say("Hi!"), STOP,
         DONE], [{"type": "thinkingDelta", "text": "Hm."}, HI, END]),
    "refusal": ([event(openai.chunk({"refusal": "Hi!"})), STOP, DONE], [HI, END]),
    "emoji cut in two escapes": (
        [b'data: {"choices":[{"index":0,"delta":{"content":"a\\ud83d"}}]}\n\n',
         b'data: {"choices":[{"index":0,"delta":{"content":"\\udc4bb"}}]}\n\n', STOP, DONE],
        [{"type": "textDelta", "text": "a\U0001f44bb"}, END]),
    "half an emoji": (
        [b'data: {"choices":[{"index":0,"delta":{"content":"a\\ud83db"}}]}\n\n', STOP, DONE],
        [{"type": "textDelta", "text": "a\ufffdb"}, END]),
    "call with an index": (
        [calls(call("", index=0, id="a", name="f")), calls(call('{"x"', index=0)),
         calls(call(":1}", index=0)), CALLED, DONE], [A, TOOLS]),
    "two calls without index, by id": (
        [calls(call('{"x"', id="a", name="f")), calls(call(":1}")),
         calls(call('{"y"', id="b", name="g")), calls(call(":2}")), CALLED, DONE], [A, B, TOOLS]),
    "two calls without index, id in every delta": (
        [calls(call('{"x"', id="a", name="f"), call('{"y"', id="b", name="g")),
         calls(call(":1}", id="a"), call(":2}", id="b")), CALLED, DONE], [A, B, TOOLS]),
    "name after the first fragment": (
        [calls(call('{"x"', id="a")), calls(call("", name="f")), calls(call(":1}")), CALLED, DONE],
        [A, TOOLS]),
    "every call numbered 0": (
        [calls(call('{"x":1}', index=0, id="a", name="f")),
         calls(call('{"y":2}', index=0, id="b", name="g")), CALLED, DONE], [A, B, TOOLS]),
    "name repeated in every delta": (
        [calls(call('{"x"', index=0, id="a", name="f")), calls(call(":1}", index=0, name="f")),
         CALLED, DONE], [A, TOOLS]),
    "name in parts": (
        [calls(call("", index=0, id="a", name="read_")),
         calls(call("{}", index=0, name="file")), CALLED, DONE],
        [{"type": "toolCall", "id": "a", "name": "read_file", "input": {}}, TOOLS]),
    "interleaved calls": (
        [calls(call('{"x"', index=0, id="a", name="f")),
         calls(call('{"y"', index=1, id="b", name="g")),
         calls(call(":1}", index=0)), calls(call(":2}", index=1)), CALLED, DONE], [A, B, TOOLS]),
    "empty arguments": (
        [calls(call("", index=0, id="a", name="f")), CALLED, DONE],
        [{**A, "input": {}}, TOOLS]),
    "null arguments": (
        [calls(call("null", index=0, id="a", name="f")), CALLED, DONE],
        [{**A, "input": {}}, TOOLS]),
    "arguments as an object": (
        [event(openai.chunk({"tool_calls": [
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": {"x": 1}}}]})),
         CALLED, DONE], [A, TOOLS]),
    "arguments encoded twice": (
        [calls(call(json.dumps('{"x": 1}'), index=0, id="a", name="f")), CALLED, DONE], [A, TOOLS]),
    "calls ended with stop": (
        [calls(call('{"x":1}', index=0, id="a", name="f")), STOP, DONE], [A, TOOLS]),
    "malformed arguments": (
        [calls(call("{x: 1}", index=0, id="a", name="f")), CALLED, DONE],
        [{"type": "brokenToolCall", "id": "a", "name": "f", "reason": "malformed",
          "arguments": "{x: 1}"}, TOOLS]),
    "arguments that are a list": (
        [calls(call("[1]", index=0, id="a", name="f")), CALLED, DONE],
        [{"type": "brokenToolCall", "id": "a", "name": "f", "reason": "malformed",
          "arguments": "[1]"}, TOOLS]),
    "arguments cut by the token limit": (
        [calls(call('{"path": "a", "content": "x', index=0, id="a", name="f")),
         event(openai.chunk({}, "length")), DONE],
        [{"type": "brokenToolCall", "id": "a", "name": "f", "reason": "truncated",
          "arguments": '{"path": "a", "content": "x'},
         {"type": "done", "stopReason": "maxTokens"}]),
    "half an emoji in arguments": (
        [b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":'
         b'{"name":"f","arguments":"{\\"x\\":\\"\\\\ud83d\\"}"}}]}}]}\n\n', CALLED, DONE],
        [{**A, "input": {"x": "\ufffd"}}, TOOLS]),
}  # fmt: skip


@pytest.mark.parametrize("name", ACCENTS)
def test_V14_P3_P6_P9_accents_of_openai_compatible_servers(runtime: Runtime, name: str) -> None:
    frames, wanted = ACCENTS[name]
    with Server() as server:
        server.replies.append(Reply(200, SSE, frames))
        server.replies.append(Reply(200, SSE, b"".join(frames), end="close"))
        for _ in range(2):
            chat = Chat(runtime, COMPATIBLE.config(server), ask())
            assert chat.events == wanted
            result = chat.result
    broken = [one for one in wanted if one["type"] == "brokenToolCall"]
    assert [{**one, "type": "brokenToolCall"} for one in result.get("brokenToolCalls", [])] == (
        broken
    )
    assert len(result["toolCalls"]) == sum(one["type"] == "toolCall" for one in wanted)


def test_V14_calls_without_any_id_get_distinct_ones(runtime: Runtime) -> None:
    frames = [calls(call('{"x":1}', name="f")), calls(call('{"y":2}', name="f")), CALLED, DONE]
    with Server() as server:
        server.replies.append(Reply(200, SSE, frames))
        found = Chat(runtime, COMPATIBLE.config(server), ask()).result["toolCalls"]
    assert [one["input"] for one in found] == [{"x": 1}, {"y": 2}]
    assert len({one["id"] for one in found} - {""}) == 2


def test_P9_arguments_cut_in_anthropic_and_ollama_streams(runtime: Runtime) -> None:
    frames = b"".join(STREAMS["anthropic"](CALLS, b"\n"))
    text = frames.decode().replace('"tool_use", "stop_sequence"', '"max_tokens", "stop_sequence"')
    start = text.index("event: content_block_delta", text.index('"call_2"'))
    end = text.index("event: content_block_stop", start)
    cut = {"type": "content_block_delta", "index": 2,
           "delta": {"type": "input_json_delta", "partial_json": '{"pa'}}  # fmt: skip
    text = text[:start] + event(cut, "content_block_delta").decode() + text[end:]
    with Server() as server:
        server.replies.append(Reply(200, SSE, text.encode()))
        chat = Chat(runtime, ANTHROPIC.config(server), ask())
        result = chat.result
    assert [one["id"] for one in result["toolCalls"]] == ["call_1"]
    assert result["brokenToolCalls"] == [
        {"id": "call_2", "name": "list_files", "reason": "truncated", "arguments": '{"pa'}
    ]
    assert result["stopReason"] == "maxTokens"


def test_P14_ollama_call_in_a_line_before_the_last_is_tool_use(runtime: Runtime) -> None:
    with OLLAMA.serve(CALLS) as server:  # its last line says `stop`
        chat = Chat(runtime, OLLAMA.config(server), ask())
        assert chat.result["stopReason"] == "toolUse"
    looks = Script((Text('<tool_call>{"name": "f", "arguments": {}}</tool_call>'),))
    with OLLAMA.serve(looks) as server:
        chat = Chat(runtime, OLLAMA.config(server), ask())
        assert (chat.result["toolCalls"], chat.result["stopReason"]) == ([], "endTurn")


def test_P15_long_prompt_to_ollama_asks_for_room_and_a_cut_is_told(runtime: Runtime) -> None:
    long = "word " * 16_000  # about 20 000 tokens
    with OLLAMA.serve(Script((Text("ok"),), usage=(4000, 1, 0, 0))) as server:
        chat = Chat(runtime, OLLAMA.config(server), ask(long))
        assert chat.result["text"] == "ok"
        assert server.requests[0].json["options"]["num_ctx"] == 32768
        warnings = [one for one in chat.events if one["type"] == "warning"]
        assert len(warnings) == 1
        assert "4000" in warnings[0]["message"]
    with OLLAMA.serve(Script((Text("ok"),), usage=(20_000, 1, 0, 0))) as server:
        chat = Chat(runtime, OLLAMA.config(server), ask(long))
        assert [one["type"] for one in chat.events] == ["textDelta", "usage", "done"]
    with OLLAMA.serve(HELLO) as server:
        assert Chat(runtime, OLLAMA.config(server), ask("short", maxTokens=100)).result
        assert "num_ctx" not in server.requests[0].json["options"]


@pytest.mark.parametrize("newline", LINE_ENDS)
@pytest.mark.parametrize("kind", KINDS)
def test_P1_one_byte_at_a_time_through_the_process(
    runtime: Runtime, kind: str, newline: str
) -> None:
    text = b"".join(STREAMS[kind](CALLS, LINE_ENDS[newline]))
    with Server() as server:
        server.replies.append(Reply(200, SSE, [bytes([byte]) for byte in text]))
        assert Chat(runtime, KINDS[kind].config(server), ask()).events == expected(CALLS)


@pytest.mark.parametrize("kind", KINDS)
def test_P7_result_comes_at_the_end_mark_although_the_socket_stays_open(
    runtime: Runtime, kind: str
) -> None:
    with Server() as server:
        server.replies.append(Reply(200, SSE, STREAMS[kind](HELLO, b"\r"), end="hang"))
        started = time.monotonic()
        assert Chat(runtime, KINDS[kind].config(server), ask()).events == expected(HELLO)
        assert time.monotonic() - started < 5  # the idle timeout is 120 s
        assert server.closed.wait(10)


@pytest.mark.parametrize("kind", KINDS)
def test_V14_connection_is_used_again_after_a_stream(runtime: Runtime, kind: str) -> None:
    with KINDS[kind].serve(HELLO) as server:
        for _ in range(5):
            assert Chat(runtime, KINDS[kind].config(server), ask()).events == expected(HELLO)
        assert server.n_connections < 5


def _gzip(parts: list[bytes]) -> list[bytes]:
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    packed = [packer.compress(part) + packer.flush(zlib.Z_SYNC_FLUSH) for part in parts]
    return [*packed, packer.flush()]


def _brotli(parts: list[bytes]) -> list[bytes]:
    packer = brotli.Compressor()
    packed = [packer.process(part) + packer.flush() for part in parts]
    return [*packed, packer.finish()]


ENCODINGS: dict[str, tuple[str, Callable[[list[bytes]], list[bytes]]]] = {
    "gzip": ("gzip", _gzip),
    "gzip in one": ("gzip", lambda parts: [gzip.compress(b"".join(parts))]),
    "deflate": ("deflate", lambda parts: [zlib.compress(b"".join(parts))]),
    "raw deflate": ("deflate", lambda parts: [zlib.compress(b"".join(parts))[2:-4]]),
    "brotli": ("br", _brotli),
}


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_V14_compressed_streams(runtime: Runtime, kind: str, name: str) -> None:
    encoding, pack = ENCODINGS[name]
    packed = pack(STREAMS[kind](HELLO, b"\n"))
    with Server() as server:
        server.replies.append(Reply(200, {**SSE, "content-encoding": encoding}, packed))
        assert Chat(runtime, KINDS[kind].config(server), ask()).events == expected(HELLO)
        assert "br" in server.requests[0].headers["accept-encoding"]


def test_V14_compressed_delta_is_delivered_before_the_next_is_sent(runtime: Runtime) -> None:
    for pack, encoding in ((_gzip, "gzip"), (_brotli, "br")):
        go_on = threading.Event()
        first, *rest = pack([say("Hi!"), STOP + DONE])
        with Server() as server:
            body = [first, go_on, *rest]
            server.replies.append(Reply(200, {**SSE, "content-encoding": encoding}, body))
            chat = Chat(runtime, COMPATIBLE.config(server), ask())
            chat.wait_for_event()
            go_on.set()
            assert chat.events == [HI, END]


@pytest.mark.parametrize("kind", KINDS)
def test_V14_answer_in_one_piece_to_a_request_for_a_stream(runtime: Runtime, kind: str) -> None:
    def unstreamed(request: Any) -> Reply:
        request.body = json.dumps({**request.json, "stream": False}).encode()
        request.body = request.body.replace(b', "stream_options": {"include_usage": true}', b"")
        reply: Reply = api(request)
        return reply

    for script in (REASONED, CALLS):
        api = KINDS[kind].make_api(script)
        with Server(unstreamed) as server:
            chat = Chat(runtime, KINDS[kind].config(server), ask())
            assert chat.events == expected(script)


def test_V13_refused_parameter_is_left_out_and_remembered(runtime: Runtime) -> None:
    refuses = ("temperature", "stream_options", "max_tokens")
    with COMPATIBLE.serve(HELLO, refuses=refuses) as server:
        config = COMPATIBLE.config(server)
        without_counts = Script(HELLO.steps, usage=None)
        for n_requests in (4, 5):
            chat = Chat(runtime, config, ask(temperature=0.5))
            assert chat.events == expected(without_counts)
            assert len(server.requests) == n_requests
        body = server.requests[-1].json
        assert not set(refuses) & body.keys()
        assert body["max_completion_tokens"] == 4096
    with OPENAI.serve(HELLO) as server:
        for model in ("gpt-5.1", "o3"):
            config = OPENAI.config(server, model=model)
            assert Chat(runtime, config, ask(temperature=0.5)).events == expected(HELLO)
        assert len(server.requests) == 2  # its families are known
    plain = {ollama.MODEL: ollama.shown(("completion",))}
    with OLLAMA.serve(HELLO, models=plain) as server:
        chat = Chat(runtime, OLLAMA.config(server), ask(thinking="high"))
        assert chat.events == expected(HELLO)
        assert ["think" in request.json for request in server.requests] == [True, False]


@pytest.mark.parametrize("kind", KINDS)
def test_P16_cancelling_closes_the_connection_at_once(runtime: Runtime, kind: str) -> None:
    frames = STREAMS[kind](HELLO, b"\n")
    first = frames[: next(n for n, part in enumerate(frames, 1) if b"Hello" in part)]
    with Server() as server:
        server.replies.append(Reply(200, SSE, first, end="hang"))
        chat = Chat(runtime, KINDS[kind].config(server), ask())
        chat.wait_for_event()
        started = time.monotonic()
        runtime.notify("$/cancelRequest", {"id": chat.id})
        error = chat.error
        assert (error["code"], error["data"]["kind"]) == (-32800, "cancelled")
        assert server.closed.wait(10)
        assert time.monotonic() - started < 5
    with Server() as server:  # before the headers
        server.replies.append(Reply(0, body=b"", end="hang"))
        chat = Chat(runtime, KINDS[kind].config(server), ask())
        assert server.hanging.wait(10)
        runtime.notify("$/cancelRequest", {"id": chat.id})
        assert chat.error["code"] == -32800
        assert server.closed.wait(10)


def test_V14_streams_of_one_endpoint_do_not_disturb_each_other(runtime: Runtime) -> None:
    go_on = threading.Event()
    with OPENAI.serve(HELLO) as server:
        server.replies.append(Reply(200, SSE, [say("Hi!"), go_on, STOP, DONE]))
        server.replies.append(Reply(200, SSE, [say("Hi!")], end="hang"))
        slow = Chat(runtime, OPENAI.config(server), ask())
        slow.wait_for_event()
        gone = Chat(runtime, OPENAI.config(server), ask())
        gone.wait_for_event()
        runtime.notify("$/cancelRequest", {"id": gone.id})
        assert gone.error["code"] == -32800
        assert Chat(runtime, OPENAI.config(server), ask()).events == expected(HELLO)
        go_on.set()
        assert slow.events == [HI, END]
