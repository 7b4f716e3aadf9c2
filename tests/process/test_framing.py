"""Bytes on the wire. Rows P01, P02, P05 to P11, and F of the fault cases."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from typing import Any

import pytest

from tests import parts
from tests.process.client import Runtime
from tests.process.conftest import StartProbe

MIB = 1024 * 1024
LIMIT = 32 * MIB

INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'


def line_of(size: int, request_id: int) -> bytes:
    """A `probe/length` request of exactly `size` bytes without its LF."""
    head = b'{"jsonrpc":"2.0","id":%d,"method":"probe/length","params":{"text":"' % request_id
    return head + b"x" * (size - len(head) - 3) + b'"}}'


@pytest.mark.parametrize(
    "sent",
    [
        INITIALIZE + b"\n",
        INITIALIZE + b"\r\n",
        b"\xef\xbb\xbf" + INITIALIZE + b"\r\n",
        b"\n \t\n\r\n" + INITIALIZE + b"\n",
        b"  " + INITIALIZE + b"  \n",
    ],
    ids=["lf", "crlf", "bom", "blank-lines", "spaces"],
)
def test_P01_F8_line_ends_and_blanks(sent: bytes) -> None:
    with Runtime() as runtime:
        runtime.write(sent)
        assert runtime.reply(0)["result"]["protocolVersion"] == 1
        runtime.write(b'\r\n\n{"jsonrpc":"2.0","id":1,"method":"provider/capabilities"}\r\n')
        runtime.reply(1)
        assert runtime.finish() == 0
        assert len(runtime.lines) == 3
        assert not any(b"\r" in line for line in runtime.lines)


def test_P01_bom_counts_on_the_first_line_only() -> None:
    with Runtime() as runtime:
        runtime.initialize()
        runtime.write(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"shutdown"}\n')
        runtime.wait(lambda: len(runtime.messages) == 2)
        assert runtime.messages[1]["error"]["code"] == -32700


def test_F1_only_the_byte_0a_ends_a_line(probe: StartProbe) -> None:
    text = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg"
    runtime = probe()
    raw = json.dumps(
        {"jsonrpc": "2.0", "id": 7, "method": "probe/echo", "params": {"text": text}},
        ensure_ascii=False,
    )
    runtime.write(raw.encode() + b"\n")
    assert runtime.reply(7)["result"] == {"text": text}
    sent = runtime.lines[-1]
    assert b"\\u2028" in sent
    assert b"\\u2029" in sent
    assert len(sent.decode().replace("\u0085", "").splitlines()) == 1


@pytest.mark.parametrize("size", [64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, MIB, LIMIT - 100_000])
def test_F2_long_lines_are_served(probe: StartProbe, size: int) -> None:
    runtime = probe()
    line = line_of(size, 5)
    assert len(line) == size
    runtime.write(line + b"\n")
    assert runtime.reply(5)["result"] == len(json.loads(line)["params"]["text"])


def test_P05_F4_a_line_of_exactly_32_mib_is_served(probe: StartProbe) -> None:
    runtime = probe()
    line = line_of(LIMIT, 900)
    assert len(line) == LIMIT
    runtime.write(line + b"\n")
    assert runtime.reply(900)["result"] > LIMIT - 100
    assert runtime.finish() == 0


@pytest.mark.parametrize("ended", [True, False], ids=["with-lf", "without-lf"])
def test_P05_F4_a_longer_line_ends_the_session(probe: StartProbe, ended: bool) -> None:
    runtime = probe()
    open_request = runtime.start("probe/sleep", {"seconds": 1.5})
    before = runtime.rss_bytes("VmHWM")
    line = line_of(LIMIT + 1, 9) if ended else line_of(LIMIT + MIB, 9)
    # The process stops reading at the limit: what is beyond it stays in the pipe.
    pouring = threading.Thread(target=runtime.pour, args=(line + b"\n" * ended,))
    pouring.start()
    assert runtime.reply(None)["error"]["code"] == -32700
    grown = runtime.rss_bytes("VmHWM") - before
    assert runtime.exit_code() == 0
    pouring.join(10)
    assert runtime.replies(open_request)[0]["result"] == "slept"
    assert runtime.replies(9) == []
    assert grown < 3 * LIMIT


def test_P05_an_endless_line_is_not_buffered() -> None:
    with Runtime() as runtime:
        runtime.initialize()
        block = b"x" * MIB
        assert not all(runtime.pour(block) for _ in range(200))
        assert runtime.exit_code() == 0


def test_F5_one_byte_at_a_time(probe: StartProbe) -> None:
    text = "é€😀 ﬀ Ā"
    runtime = probe()
    raw = json.dumps(
        {"jsonrpc": "2.0", "id": 900, "method": "probe/echo", "params": {"text": text}},
        ensure_ascii=False,
    )
    for byte in raw.encode() + b"\n":
        runtime.write(bytes([byte]))
    assert runtime.reply(900)["result"] == {"text": text}


def test_F7_half_a_surrogate_pair_gets_a_reply(probe: StartProbe) -> None:
    runtime = probe()
    runtime.write(
        b'{"jsonrpc":"2.0","id":900,"method":"probe/echo",'
        b'"params":{"text":"\\ud83d \\ud83d\\ude00 \\udc00"}}\n'
    )
    assert runtime.reply(900)["result"] == {"text": "\ufffd \U0001f600 \ufffd"}


def test_F7_no_lone_surrogate_reaches_the_wire(probe: StartProbe) -> None:
    runtime = probe()
    result = runtime.result("probe/surrogate", {})
    assert result == {"half\ufffd": "a\U0001f600b\ufffd"}
    assert b"\\ud" not in runtime.lines[-1].lower()


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"nonsense",
        b'{"jsonrpc":"2.0","id":1,"method":"x"} trailing',
        b'{"jsonrpc":"2.0","id":1,"method":"shutdown","params":NaN}',
        b'{"jsonrpc":"2.0","id":1,"method":"shutdown","params":{"a":"\\u0041","b":Infinity}}',
        b'{"jsonrpc":"2.0","id":1,"method":"shutdown","params":{"a":"\\u0041","b":1e999}}',
        b"[" * 100_000,
        b'{"a":"\\u0041","b":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"jsonrpc":"2.0","id":' + b"7" * 5000 + b',"method":"shutdown"}',
        b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}',
        b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\xbd"}',
        b'{"a":"tab\tinside"}',
    ],
    ids=lambda line: repr(line[:30]),
)
def test_P08_F9_what_is_not_json_is_a_parse_error_and_the_session_goes_on(line: bytes) -> None:
    with Runtime() as runtime:
        runtime.initialize()
        runtime.write(line + b"\n")
        message = runtime.reply(None)
        assert message["id"] is None
        assert message["error"]["code"] == -32700
        assert runtime.result("provider/capabilities") is not None


@pytest.mark.parametrize(
    ("message", "reply_id"),
    [
        ({"jsonrpc": "1.0", "id": 1, "method": "shutdown"}, 1),
        ({"id": "a", "method": "shutdown"}, "a"),
        ({"jsonrpc": 2.0, "method": "shutdown"}, None),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, 1),
        ({"jsonrpc": "2.0", "id": 1}, 1),
        ({"jsonrpc": "2.0", "id": None, "method": "shutdown"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "shutdown"}, None),
        ({"jsonrpc": "2.0", "id": 1.0, "method": "shutdown"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "shutdown"}, None),
        ({"jsonrpc": "2.0", "id": {}, "method": "shutdown"}, None),
        ({"jsonrpc": "2.0", "id": [1], "method": "shutdown"}, None),
        ({"jsonrpc": "2.0", "id": 2**64, "method": "shutdown"}, None),
        ([], None),
        ([{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}], None),
        ("shutdown", None),
        (5, None),
        (None, None),
        ({}, None),
    ],
)
def test_P07_P09_what_is_not_a_request_is_refused(message: Any, reply_id: Any) -> None:
    with Runtime() as runtime:
        runtime.initialize()
        before = len(runtime.messages)
        runtime.send(message)
        runtime.result("provider/capabilities")
        replies = runtime.messages[before:-1]
        assert [(reply["id"], reply["error"]["code"]) for reply in replies] == [(reply_id, -32600)]


def test_P07_L10_a_number_and_a_string_are_different_ids(probe: StartProbe) -> None:
    runtime = probe()
    for request_id in (7, "7"):
        runtime.start("probe/sleep", {"seconds": 60}, request_id=request_id)
    runtime.start("probe/echo", {"text": "again"}, request_id=7)
    assert runtime.reply(7)["error"]["code"] == -32600
    runtime.notify("$/cancelRequest", {"id": 7})
    runtime.wait(lambda: len(runtime.replies(7)) == 2)
    assert runtime.replies(7)[1]["error"]["code"] == -32800
    assert runtime.replies("7") == []
    runtime.notify("$/cancelRequest", {"id": "7"})
    assert runtime.reply("7")["error"]["code"] == -32800
    assert runtime.result("probe/echo", {"text": "x"}) == {"text": "x"}


def test_P10_unknown_methods_and_notifications() -> None:
    with Runtime(environment={"TASK_X_LOG": "debug"}) as runtime:
        runtime.initialize()
        assert runtime.error("no/such/method")["code"] == -32601
        assert runtime.error("exit")["code"] == -32601  # a notification, not a request
        before = len(runtime.messages)
        runtime.notify("no/such/notification", {"a": 1})
        runtime.notify("provider/capabilities")  # a request, not a notification
        runtime.result("provider/capabilities")
        assert len(runtime.messages) == before + 1
        assert runtime.finish() == 0
        assert "no/such/notification" in runtime.stderr()


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"seconds": "x"}, ["params.seconds", "`float`", "`str`"]),
        ({"kind": "slow"}, ["params.kind", "`plain`", "`fast`"]),
        ({"count": None}, ["params.count", "`int`", "`null`"]),
        ([], ["params", "`object`", "`array`"]),
        ([1], ["params", "`object`", "`array`"]),
        ("text", ["params", "`object`", "`str`"]),
    ],
)
def test_P11_wrong_params_name_field_and_expectation(
    probe: StartProbe, params: Any, told: list[str]
) -> None:
    error = probe().error("probe/echo", params)
    assert error["code"] == -32602
    assert [word for word in told if word not in error["message"]] == []


def test_P11_array_params_are_refused_where_there_are_none() -> None:
    with Runtime() as runtime:
        runtime.initialize()
        assert runtime.error("provider/capabilities", [])["code"] == -32602
        assert runtime.result("provider/capabilities", {"ignored": 1}) is not None


def test_P02_stdout_carries_the_protocol_only(probe: StartProbe) -> None:
    runtime = probe()
    runtime.result("probe/noise", {})
    assert runtime.finish() == 0
    assert [b"jsonrpc" in line for line in runtime.lines] == [True] * 3
    for word in ("stray print", "stray write", "stray text", "stray child"):
        assert word in runtime.stderr()


def test_P06_a_result_over_32_mib_is_an_error(probe: StartProbe) -> None:
    runtime = probe()
    error = runtime.error("probe/big", {"size": LIMIT})
    assert error["code"] == -32603
    assert "33554432" in error["message"]
    assert len(runtime.result("probe/big", {"size": LIMIT - 1000})) == LIMIT - 1000
    assert max(map(len, runtime.lines)) <= LIMIT


def test_internal_errors_are_logged_and_not_told(probe: StartProbe) -> None:
    runtime = probe()
    error = runtime.error("probe/broken", {})
    assert error["code"] == -32603
    assert "secret" not in json.dumps(error)
    assert runtime.error("probe/refused", {}) == {
        "code": -32005,
        "message": "read it first",
        "data": {"kind": "stale", "message": "read it first"},
    }
    assert runtime.finish() == 0
    assert "RuntimeError: secret detail" in runtime.stderr()


def test_results_may_be_cached_bytes(probe: StartProbe) -> None:
    assert probe().result("probe/fragment", {}) == {"cached": True}


def test_requests_from_a_regular_file_and_replies_to_one(tmp_path: Any) -> None:
    """A pipe is the rule; a file on either side works as well."""
    asked = tmp_path / "in"
    asked.write_bytes(INITIALIZE + b'\n{"jsonrpc":"2.0","id":1,"method":"provider/capabilities"}\n')
    with open(asked, "rb") as stdin, open(tmp_path / "out", "wb") as stdout:
        done = subprocess.run(
            [sys.executable, "-m", "taskx"], stdin=stdin, stdout=stdout, timeout=30, check=True
        )
    assert done.returncode == 0
    replies = [json.loads(line) for line in (tmp_path / "out").read_bytes().splitlines()]
    assert [reply["id"] for reply in replies] == [0, 1]


def test_sockets_as_standard_streams() -> None:
    """What Node.js gives a child; also without blocking, as some parents leave them."""
    for blocking in (True, False):
        ours, theirs = socket.socketpair()
        theirs.setblocking(blocking)
        ours.settimeout(20)
        with subprocess.Popen(
            [sys.executable, "-m", "taskx"], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE
        ) as process:
            theirs.close()
            ours.sendall(INITIALIZE + b"\n")
            with ours.makefile("rb") as replies:
                assert json.loads(replies.readline())["id"] == 0
                ours.sendall(b'{"jsonrpc":"2.0","id":1,"method":"shutdown"}\n')
                assert json.loads(replies.readline()) == {"jsonrpc": "2.0", "id": 1, "result": None}
            ours.close()
            assert process.wait(20) == 0


READER = """
const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", (line) => console.log(JSON.parse(line).result.text.length));
"""


def test_F1_a_reader_that_honours_unicode_line_ends_gets_whole_messages(probe: StartProbe) -> None:
    runtime = probe()
    text = "a\u2028b\u2029c\u0085d"
    assert runtime.result("probe/echo", {"text": text}) == {"text": text}
    done = subprocess.run(
        [parts.node(), "-e", READER],
        input=runtime.lines[-1] + b"\n",
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert done.stdout == b"7\n"
