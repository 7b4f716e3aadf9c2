"""Runs one scripted exchange with a vendor's own SDK and prints what it saw as JSON.

sdk_peer.py anthropic|openai|ollama ORIGIN KEY MODEL [history]
"""

from __future__ import annotations

import json
import sys
from typing import Any

TOOL = {"type": "object", "properties": {"path": {"type": "string"}}}


def run_anthropic(origin: str, key: str, model: str, history: list[Any] | None) -> dict[str, Any]:
    import anthropic

    client = anthropic.Anthropic(base_url=origin, api_key=key, max_retries=0)
    tools = [{"name": "read_file", "description": "Reads.", "input_schema": TOOL}]
    messages = history or [{"role": "user", "content": "hi"}]
    with client.messages.stream(
        model=model, max_tokens=2048, messages=messages, tools=tools
    ) as stream:
        deltas = "".join(stream.text_stream)
        final = stream.get_final_message()
    once = client.messages.create(model=model, max_tokens=2048, messages=messages, tools=tools)
    return {
        "text": deltas,
        "thinking": "".join(part.thinking for part in final.content if part.type == "thinking"),
        "calls": [
            [part.id, part.name, part.input] for part in final.content if part.type == "tool_use"
        ],
        "stop": final.stop_reason,
        "usage": [final.usage.input_tokens, final.usage.output_tokens],
        "content": [part.model_dump(exclude_none=True) for part in final.content],
        "same": [part.model_dump() for part in once.content]
        == [part.model_dump() for part in final.content],
        "models": [row.id for row in client.models.list()],
    }


def run_openai(origin: str, key: str, model: str, history: list[Any] | None) -> dict[str, Any]:
    import openai

    client = openai.OpenAI(base_url=f"{origin}/v1", api_key=key, max_retries=0)
    tools = [
        {"type": "function", "function": {"name": "read_file", "description": "Reads.",
                                          "parameters": TOOL}}
    ]  # fmt: skip
    text, thinking, stop, usage = "", "", None, None
    calls: dict[int, list[Any]] = {}
    messages = history or [{"role": "user", "content": "hi"}]
    chunks = client.chat.completions.create(
        model=model, messages=messages, tools=tools, stream=True,
        stream_options={"include_usage": True},
    )  # fmt: skip
    for chunk in chunks:
        if chunk.usage:
            usage = [chunk.usage.prompt_tokens, chunk.usage.completion_tokens]
        for choice in chunk.choices:
            text += choice.delta.content or ""
            thinking += getattr(choice.delta, "reasoning_content", None) or ""
            stop = choice.finish_reason or stop
            for call in choice.delta.tool_calls or ():
                found = calls.setdefault(call.index, ["", "", ""])
                found[0] = call.id or found[0]
                found[1] = call.function.name or found[1]
                found[2] += call.function.arguments or ""
    once = client.chat.completions.create(model=model, messages=messages, tools=tools)
    message = once.choices[0].message
    return {
        "text": text,
        "thinking": thinking,
        "calls": [[call[0], call[1], json.loads(call[2])] for call in calls.values()],
        "stop": stop,
        "usage": usage,
        "same": (message.content or "") == text
        and [call.id for call in message.tool_calls or ()] == [call[0] for call in calls.values()],
        "models": [row.id for row in client.models.list()],
    }


def run_ollama(origin: str, key: str, model: str, history: list[Any] | None) -> dict[str, Any]:
    import ollama

    client = ollama.Client(host=origin)
    tools = [
        {"type": "function", "function": {"name": "read_file", "description": "Reads.",
                                          "parameters": TOOL}}
    ]  # fmt: skip
    messages = history or [{"role": "user", "content": "hi"}]
    text, thinking, calls, last = "", "", [], None
    for line in client.chat(model=model, messages=messages, tools=tools, stream=True):
        text += line.message.content or ""
        thinking += line.message.thinking or ""
        calls += [
            [call.function.name, dict(call.function.arguments)]
            for call in line.message.tool_calls or ()
        ]
        last = line
    assert last is not None
    once = client.chat(model=model, messages=messages, tools=tools)
    shown = client.show(model)
    return {
        "text": text,
        "thinking": thinking,
        "calls": calls,
        "stop": last.done_reason,
        "usage": [last.prompt_eval_count, last.eval_count],
        "same": (once.message.content or "") == text,
        "models": [row.model for row in client.list().models],
        "capabilities": shown.capabilities,
    }


def time_openai(origin: str, key: str, model: str, history: list[Any] | None) -> dict[str, Any]:
    """CPU seconds for reading one stream."""
    import asyncio
    import time

    import openai

    async def read() -> float:
        client = openai.AsyncOpenAI(base_url=f"{origin}/v1", api_key=key, max_retries=0)
        started = time.process_time()
        chunks = await client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": "hi"}], stream=True
        )
        async for _ in chunks:
            pass
        return time.process_time() - started

    return {"seconds": asyncio.run(read())}


def main() -> None:
    kind, origin, key, model, *rest = sys.argv[1:]
    run = {
        "anthropic": run_anthropic,
        "openai": run_openai,
        "ollama": run_ollama,
        "openai-cpu": time_openai,
    }[kind]
    try:
        seen = run(origin, key, model, json.loads(rest[0]) if rest else None)
    except Exception as error:
        seen = {"error": type(error).__name__, "status": getattr(error, "status_code", None),
                "message": str(error)}  # fmt: skip
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
