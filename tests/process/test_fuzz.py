"""Damaged and odd messages by the thousand: each gets its reply, none is an internal error."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.process.client import Runtime

ODD: list[Any] = [
    None, True, 0, -1, 1.5, 2**63, 2**64, "", "2.0", "initialize", "shutdown ", "\u2028", "\u00e9",
    [], [1], {}, {"a": 1}, [[]], "x" * 300, {"id": 1}, {"protocolVersion": 1},
]  # fmt: skip

METHODS = ["provider/capabilities", "initialize", "no/such", "$/cancelRequest", "context/inspect"]


def odd_message(rng: random.Random, request_id: int) -> Any:
    """A request with some members replaced, dropped or added."""
    message: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": request_id,
        "method": rng.choice(METHODS),
        "params": {},
    }
    for _ in range(rng.randrange(3)):
        key = rng.choice(["jsonrpc", "id", "method", "params", "result", "error", "extra"])
        if rng.random() < 0.3:
            message.pop(key, None)
        else:
            message[key] = rng.choice(ODD)
    return rng.choice(ODD) if rng.random() < 0.05 else message


def damaged(rng: random.Random, line: bytes) -> bytes:
    """The line with a few bytes changed, cut or doubled; it stays one line."""
    data = bytearray(line)
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(3):
            case 0:
                data[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del data[at : at + rng.randrange(8)]
            case 2:
                data[at:at] = data[at : at + 8]
    return bytes(data).replace(b"\n", b" ")


@pytest.mark.parametrize("seed", range(4))
def test_P08_P09_damaged_messages_never_harm(seed: int) -> None:
    rng = random.Random(seed)
    lines = []
    for n in range(1000, 4000):
        line = json.dumps(odd_message(rng, n)).encode()
        lines.append(damaged(rng, line) if rng.random() < 0.5 else line)
    with Runtime() as runtime:
        runtime.initialize()
        runtime.write(b"\n".join(lines) + b"\n")
        last = runtime.start("provider/capabilities", request_id="after all that")
        assert runtime.reply(last, timeout=60)["result"]
        codes = {reply["error"]["code"] for reply in runtime.messages if "error" in reply}
        assert codes <= {-32700, -32600, -32601, -32602, -32003, -32004}
        assert {-32700, -32600, -32601} <= codes
        assert len(runtime.messages) <= len(lines) + 2
        runtime.notify("exit")
        assert runtime.exit_code() == 0
        assert runtime.stderr() == ""
