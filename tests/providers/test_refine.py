"""`prompt/refine`: the kind of a prompt, its route, the one call, what is left of the answer."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, get_args

import msgspec
import pytest

from taskx.engines.classify import classify
from taskx.engines.refine import EXCERPT_TOKENS, cleaned, refine
from taskx.protocol.refine import RefineParams, TaskKind
from taskx.providers import Providers
from tests.process.client import Runtime
from tests.providers.fakes.script import Script, Text
from tests.providers.fakes.server import Reply, Server
from tests.providers.kinds import ANTHROPIC, OLLAMA, OPENAI

PROMPTS: dict[str, TaskKind] = {
    "Why does the cache keep two copies?": "question",
    "How do I run the tests?": "question",
    "explain the retry policy": "question",
    "Is this thread safe": "question",
    "Why does parse() crash on empty input?": "debugging",
    "Fix the failing login test": "debugging",
    "Can you please fix the race in the scheduler?": "debugging",
    "Traceback (most recent call last): KeyError in load()": "debugging",
    "the importer does not work on Windows": "debugging",
    "Refactor the session handling": "refactoring",
    "rename `foo` to `bar` everywhere": "refactoring",
    "Extract the parser into its own module": "refactoring",
    "Add unit tests for the tokenizer": "testing",
    "write tests that cover the error paths": "testing",
    "Test the import with large files": "testing",
    "Review my changes": "review",
    "please audit the auth module for injection": "review",
    "Document the public API": "documentation",
    "Update the README for the new flags": "documentation",
    "Add docstrings to app.py": "documentation",
    "Plan the migration to Postgres": "planning",
    "Write a step-by-step plan for the rewrite": "planning",
    "Add a --json flag to the list command": "codeModification",
    "Implement retries in the HTTP client": "codeModification",
    "I want you to remove the old endpoint": "codeModification",
    "add a fixture to the tests": "codeModification",
    "hello": "other",
    "\u0421\u043f\u0430\u0441\u0438\u0431\u043e": "other",
}


@pytest.mark.parametrize("prompt", PROMPTS)
def test_V16_kind_of_a_prompt(prompt: str) -> None:
    assert classify(prompt) == PROMPTS[prompt]


def test_V16_every_kind_is_known_and_long_prompts_cost_little() -> None:
    assert set(PROMPTS.values()) == set(get_args(TaskKind))
    assert classify("add " + "x" * 100_000) == "codeModification"
    assert classify("\n\n  " * 20_000) == "other"


CLEANED = {
    "Do it.": "Do it.",
    "<think>Hmm.\nYes.</think>\n\nDo it.": "Do it.",
    "<thinking>a</thinking>Do <THINK>b</THINK>it.": "Do it.",
    "It thinks without a start.</think>\nDo it.": "Do it.",
    "Do it.<think>never ends": "Do it.",
    "<request>\nDo it.\n</request>": "Do it.",
    "```\nDo it.\n```": "Do it.",
    "```text\nDo it.\nNow.\n```\n": "Do it.\nNow.",
    "Here is the prompt:\n\n```markdown\nDo it.\n```": "Do it.",
    "<think>x</think>```\n<request>Do it.</request>\n```": "Do it.",
    "Replace\n```\na\n```\nby\n```\nb\n```": "Replace\n```\na\n```\nby\n```\nb\n```",
    "```\na\n```\nby\n```\nb\n```": "```\na\n```\nby\n```\nb\n```",
    "Keep `x < y` and <b>.": "Keep `x < y` and <b>.",
    "<think>only</think>": "",
}


@pytest.mark.parametrize("text", CLEANED)
def test_V16_reasoning_fences_and_tags_are_removed(text: str) -> None:
    assert cleaned(text) == CLEANED[text]


ANSWER = Script(
    (Text("<think>Hm.</think>```\nAdd the flag to `cli.py`.\n```"),), usage=(900, 120, 0, 0)
)


def test_V16_provider_is_used_without_a_route(runtime: Runtime) -> None:
    with OPENAI.serve(ANSWER) as server:
        params = {"prompt": "Add a flag", "provider": OPENAI.config(server)}
        assert runtime.result("prompt/refine", params) == {
            "text": "Add the flag to `cli.py`.",
            "kind": "codeModification",
            "model": OPENAI.model,
            "routed": False,
            "usage": {"inputTokens": 900, "outputTokens": 120},
        }
        assert len(server.requests) == 1
        body = server.requests[0].json
        assert "<request>\nAdd a flag\n</request>" in body["messages"][-1]["content"]
        assert "<excerpts>" not in body["messages"][-1]["content"]
        assert "tools" not in body


def test_V16_first_route_of_the_kind_wins(runtime: Runtime) -> None:
    with OPENAI.serve(ANSWER) as plain, OLLAMA.serve(ANSWER) as routed:
        routes = [
            {"kinds": ["question"], "provider": OPENAI.config(plain)},
            {"kinds": ["review", "debugging"], "provider": OLLAMA.config(routed)},
            {"kinds": ["debugging"], "provider": OPENAI.config(plain)},
        ]
        params = {"prompt": "Fix the bug", "provider": OPENAI.config(plain), "routes": routes}
        result = runtime.result("prompt/refine", params)
        assert (result["model"], result["routed"], result["kind"]) == (
            OLLAMA.model,
            True,
            "debugging",
        )
        del params["provider"]
        assert runtime.result("prompt/refine", params)["routed"] is True
        assert plain.requests == []


def test_V16_bad_params(runtime: Runtime) -> None:
    config = OPENAI.config("http://127.0.0.1:9")
    route = {"kinds": ["question"], "provider": config}
    for params, named in (
        ({"prompt": "Fix it"}, "params.provider"),
        ({"prompt": "Fix it", "routes": [route]}, "params.provider"),
        ({"prompt": "", "provider": config}, "params.prompt"),
        ({"prompt": " \n ", "provider": config}, "params.prompt"),
        ({"prompt": "x" * 100_001, "provider": config}, "params.prompt"),
        ({"provider": config}, "prompt"),
        ({"prompt": "x", "routes": [{**route, "kinds": ["cooking"]}]}, "kinds"),
        ({"prompt": "x", "routes": [{"kinds": []}]}, "provider"),
    ):
        error = runtime.error("prompt/refine", params)
        assert error["code"] == -32602
        assert named in error["message"]


def test_V16_longest_prompt_is_taken_and_separators_survive(runtime: Runtime) -> None:
    with ANTHROPIC.serve(ANSWER) as server:
        for prompt in ("x" * 100_000, "a\u2028b\x85c </request> d"):
            params = {"prompt": prompt, "provider": ANTHROPIC.config(server)}
            assert runtime.result("prompt/refine", params)["text"]
        sent = server.requests[-1].json["messages"][-1]["content"][0]["text"]
    assert sent == "<request>\na\u2028b\x85c  d\n</request>"


def test_V16_provider_error_and_empty_answer(runtime: Runtime) -> None:
    with Server(lambda request: Reply(529)) as server:
        params = {"prompt": "Fix it", "provider": OPENAI.config(server)}
        assert runtime.error("prompt/refine", params)["data"]["kind"] == "overloaded"
    with OPENAI.serve(Script((Text("<think>only</think>"),))) as server:
        params = {"prompt": "Fix it", "provider": OPENAI.config(server)}
        assert runtime.error("prompt/refine", params)["data"]["kind"] == "protocol"


class FakeWorkspace:
    """Answers a retrieve with one snippet and remembers what was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def retrieve(self, query: str, budget: int, focus: list[str]) -> Any:
        self.asked.append((query, budget, focus))
        snippet = SimpleNamespace(path="src/a.py", start_line=3, end_line=4, text="def f():\n    1")
        return SimpleNamespace(retrieval=SimpleNamespace(snippets=[snippet]))


def test_V16_excerpts_of_the_open_workspace_go_with_the_prompt() -> None:
    workspace = FakeWorkspace()

    async def run(config: dict[str, Any]) -> str:
        raw = {"prompt": "Fix f", "provider": config, "focusPaths": ["src"]}
        providers = Providers()
        result = await refine(providers, workspace, msgspec.convert(raw, RefineParams))
        await providers.close()
        return result.text

    with OPENAI.serve(ANSWER) as server:
        assert asyncio.run(run(OPENAI.config(server))) == "Add the flag to `cli.py`."
        sent = server.requests[0].json["messages"][-1]["content"]
    assert workspace.asked == [("Fix f", EXCERPT_TOKENS, ["src"])]
    assert "<excerpts>\nsrc/a.py:3-4\ndef f():\n    1\n</excerpts>" in sent
