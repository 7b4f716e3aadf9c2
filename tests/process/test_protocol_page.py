"""The JSON examples of docs/protocol.md, run in order against the real process.

A fenced block is marked by the word after `json`:

- `json request`: `{method, params}`; sent. Its reply must be shown by one of:
- `json result`, `json error`: the member of the reply.
- `json notification`: `{method, params}` that the runtime sends, before or after the reply.
- `json send`: a notification that the client sends.
- `json shape`: JSON that is not run.

In what is expected, `"…"` stands for any value, as the last item of an array for any more items,
and as a key for any more fields. A comment `<!-- example: start|initialized|open -->` starts a new
process: not initialized, initialized, or with the workspace open. `/home/me/shop` is a copy of
tests/fixtures/shop, `/home/me/.local/share/my-editor` an empty folder, `http://127.0.0.1:8080` a
fake of an OpenAI-compatible server whose models say "Hello".
"""

from __future__ import annotations

import json
import re
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from taskx.protocol.methods import METHODS
from tests.process.client import Runtime
from tests.providers.fakes import openai
from tests.providers.fakes.script import Script, Text
from tests.providers.fakes.server import Server

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "protocol.md"
ANY = "…"

_BLOCK = re.compile(r"^```json ?(\w*)\n(.*?)^```$|^<!-- example: (\w+) -->$", re.M | re.S)


def sections() -> dict[str, list[tuple[int, str, str]]]:
    """Heading of the place -> its blocks (line, mark, text), from one `example` comment on."""
    text = PAGE.read_text()
    found: dict[str, list[tuple[int, str, str]]] = {}
    current: list[tuple[int, str, str]] = []
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match.group(3):
            current = found.setdefault(f"line-{line}", [])
            current.append((line, match.group(3), ""))
        else:
            current.append((line, match.group(1), match.group(2)))
    return found


def matches(expected: Any, actual: Any) -> bool:
    if expected == ANY:
        return True
    if isinstance(expected, dict) and isinstance(actual, dict):
        more = ANY in expected
        keys = set(expected) - {ANY}
        return (
            keys <= set(actual)
            and (more or keys == set(actual))
            and all(matches(expected[key], actual[key]) for key in keys)
        )
    if isinstance(expected, list) and isinstance(actual, list):
        more = bool(expected) and expected[-1] == ANY
        items = expected[:-1] if more else expected
        return (
            len(actual) >= len(items)
            and (more or len(actual) == len(items))
            and all(map(matches, items, actual))
        )
    return type(expected) is type(actual) and bool(expected == actual)


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ("…", {"a": 1}, True),
        ({"a": "…"}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1, "…": "…"}, {"a": 1, "b": 2}, True),
        ([1, "…"], [1, 2, 3], True),
        ([1], [1, 2], False),
        (True, 1, False),
    ],
)
def test_what_stands_for_what(expected: Any, actual: Any, same: bool) -> None:
    assert matches(expected, actual) is same


MODELS: list[dict[str, Any]] = [
    {"id": "small"},
    {
        "id": "large",
        "context_length": 131072,
        "supported_parameters": ["tools", "reasoning"],
        "architecture": {"input_modalities": ["text", "image"]},
    },
]


def model_server() -> Server:
    script = Script((Text("Hello", pieces=2),))
    return Server(openai.Api(script, key="none", models=MODELS, official=False))


class Page:
    """One section being run."""

    def __init__(self, folder: Path, models: Server) -> None:
        workspace = folder / "shop"
        shutil.copytree(TESTS / "fixtures" / "shop", workspace)
        self._places = {
            "/home/me/shop": str(workspace),
            "/home/me/.local/share/my-editor": str(folder / "data"),
            "http://127.0.0.1:8080": models.origin,
        }
        self._workspace = str(workspace)
        self.runtime = Runtime()
        self._method = ""
        self._reply: dict[str, Any] | None = None

    def start(self, how: str) -> None:
        if how in ("initialized", "open"):
            self.runtime.initialize()
        if how == "open":
            self.runtime.result("workspace/open", {"root": self._workspace})

    def run(self, mark: str, text: str) -> None:
        for shown, real in self._places.items():
            text = text.replace(shown, real)
        block = json.loads(text)
        match mark:
            case "request":
                assert self._reply is None, "the reply of the request before is not shown"
                self._method = block["method"]
                self._reply = self.runtime.request(self._method, block.get("params"))
            case "result" | "error":
                assert self._reply is not None, "there is no request before"
                assert matches(block, self._reply.get(mark)), self._reply
                if mark == "result":
                    msgspec.convert(self._reply["result"], METHODS[self._method].result)
                self._reply = None
            case "notification":
                self.runtime.notification(
                    block["method"], lambda params: matches(block.get("params"), params)
                )
            case "send":
                self.runtime.notify(block["method"], block.get("params"))
            case "shape":
                pass
            case _:
                raise AssertionError(f"unknown mark {mark!r}")


@pytest.mark.parametrize("section", sections())
def test_P01_every_example_of_the_page_is_true(section: str, tmp_path: Path) -> None:
    blocks = sections()[section]
    with ExitStack() as stack:
        page = Page(tmp_path, stack.enter_context(model_server()))
        stack.enter_context(page.runtime)
        page.start(blocks[0][1])
        for line, mark, text in blocks[1:]:
            try:
                page.run(mark, text)
            except AssertionError as error:
                raise AssertionError(f"docs/protocol.md:{line}: {error}") from error


def test_every_json_block_of_the_page_is_marked() -> None:
    for line, mark, text in (block for blocks in sections().values() for block in blocks):
        if text:
            assert mark, f"docs/protocol.md:{line}: mark it as request, result, error or shape"
