"""Requests in flight: cancelling, order, concurrency, calls to the client. Rows P16 to P21."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.process.client import Message, Runtime
from tests.process.conftest import StartProbe

MIB = 1024 * 1024


def cancelled(reply: Message) -> bool:
    error = reply["error"]
    return bool(error["code"] == -32800 and error["data"] == {"kind": "cancelled"})


def test_P16_a_cancelled_request_has_exactly_one_reply(probe: StartProbe) -> None:
    runtime = probe()
    runtime.notify("$/cancelRequest", {"id": 12345})
    runtime.notify("$/cancelRequest", {"id": None})
    runtime.notify("$/cancelRequest", [])
    request_id = runtime.start("probe/sleep", {"seconds": 60})
    runtime.notification("probe/started")
    for _ in range(3):
        runtime.notify("$/cancelRequest", {"id": request_id})
    assert cancelled(runtime.reply(request_id))
    runtime.notify("$/cancelRequest", {"id": request_id})
    assert runtime.finish() == 0
    assert len(runtime.replies(request_id)) == 1


def test_P16_a_request_cancelled_before_it_ran_has_its_reply(probe: StartProbe) -> None:
    runtime = probe()
    runtime.write(
        b'{"jsonrpc":"2.0","id":50,"method":"probe/sleep","params":{"seconds":60}}\n'
        b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":50}}\n'
    )
    assert cancelled(runtime.reply(50))
    assert runtime.finish() == 0
    assert runtime.stderr() == ""


def test_P16_a_handler_that_ignores_its_cancel_is_answered_as_cancelled(probe: StartProbe) -> None:
    runtime = probe()
    request_id = runtime.start("probe/stubborn", {"seconds": 60})
    runtime.notification("probe/started")
    runtime.notify("$/cancelRequest", {"id": request_id})
    assert cancelled(runtime.reply(request_id))
    # What it said after its cancel came before the reply.
    assert runtime.notifications("probe/progress") == [{"n": 99}]


def test_P16_requests_with_one_exclusive_name_take_turns(probe: StartProbe) -> None:
    runtime = probe()
    first = runtime.start("probe/exclusive", {"seconds": 60})
    second = runtime.start("probe/exclusive", {"seconds": 60})
    third = runtime.start("probe/exclusive", {"seconds": 0})
    runtime.notification("probe/started")
    runtime.notify("$/cancelRequest", {"id": second})
    assert cancelled(runtime.reply(second))
    assert runtime.notifications("probe/started") == [{"n": 0}]
    runtime.notify("$/cancelRequest", {"id": first})
    assert cancelled(runtime.reply(first))
    assert runtime.reply(third)["result"] == "slept"


def test_P17_shutdown_cancels_what_is_in_flight(probe: StartProbe) -> None:
    runtime = probe()
    request_id = runtime.start("probe/sleep", {"seconds": 60})
    runtime.notification("probe/started")
    assert runtime.result("shutdown") is None
    assert cancelled(runtime.reply(request_id))
    assert runtime.error("probe/echo", {})["code"] == -32600
    runtime.notify("exit")
    assert runtime.exit_code(timeout=3) == 0


@pytest.mark.parametrize("how", ["exit", "eof"])
def test_P17_L4_open_replies_are_waited_for(probe: StartProbe, how: str) -> None:
    runtime = probe()
    short = runtime.start("probe/sleep", {"seconds": 0.5})
    if how == "exit":
        runtime.notify("exit")
    else:
        runtime.close_stdin()
    assert runtime.exit_code() == 0
    assert runtime.replies(short)[0]["result"] == "slept"


def end(runtime: Runtime, how: str) -> None:
    match how:
        case "eof":
            runtime.close_stdin()
        case "exit":
            runtime.notify("exit")
        case "sigterm":
            runtime.signal(signal.SIGTERM)
        case "sigint":
            runtime.signal(signal.SIGINT)


@pytest.mark.parametrize("how", ["eof", "exit", "sigterm", "sigint"])
def test_P17_L4_L11_the_wait_for_open_replies_ends(probe: StartProbe, how: str) -> None:
    running = {work: probe() for work in ("sleep", "spin", "ask", "stubborn")}
    for work, runtime in running.items():
        assert runtime.start(f"probe/{work}", {"seconds": 60}) == 2
        if work == "ask":
            runtime.wait(lambda asked=runtime.requests: asked)
        else:
            runtime.notification("probe/started")
    started = time.monotonic()
    for runtime in running.values():
        end(runtime, how)
    for runtime in running.values():
        assert runtime.exit_code() == 0
    assert time.monotonic() - started < 7
    for work, runtime in running.items():
        (reply,) = runtime.replies(2)
        if work == "ask":
            assert reply["result"] == {"failed": "Disconnected"}
        else:
            assert cancelled(reply)


def test_P17_a_signal_before_initialize_ends_cleanly() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        with Runtime() as runtime:
            # The handler is there once the process has moved its streams, which fd 0 shows.
            null = os.stat(os.devnull)
            deadline = time.monotonic() + 10
            while os.stat(f"/proc/{runtime.process.pid}/fd/0").st_rdev != null.st_rdev:
                assert time.monotonic() < deadline
            runtime.signal(number)
            assert runtime.exit_code() == 0


def test_P18_a_slow_request_delays_no_other(probe: StartProbe) -> None:
    runtime = probe()
    slow = runtime.start("probe/sleep", {"seconds": 60})
    runtime.notification("probe/started")
    for n in range(50):
        assert runtime.result("probe/echo", {"text": str(n)}) == {"text": str(n)}
    assert runtime.replies(slow) == []


def test_P18_pings_are_answered_while_worker_threads_are_busy(probe: StartProbe) -> None:
    """Native threads that release the GIL and one of pure Python that fights for it."""
    runtime = probe()
    runtime.result("probe/echo", {})
    busy = runtime.start("probe/spin", {"seconds": 4})
    runtime.notification("probe/started")
    waits = []
    while not runtime.replies(busy):
        started = time.perf_counter()
        runtime.result("probe/echo", {})
        waits.append(time.perf_counter() - started)
    waits.sort()
    assert len(waits) > 20
    # The test client shares the machine's cores with the threads: the bound is for 9 of 10.
    assert waits[len(waits) * 9 // 10] < 0.05


def test_P18_a_burst_of_requests_is_answered_in_order(probe: StartProbe) -> None:
    runtime = probe()
    burst = b"".join(
        b'{"jsonrpc":"2.0","id":%d,"method":"probe/echo","params":{}}\n' % n
        for n in range(1000, 21000)
    )
    runtime.write(burst)
    runtime.wait(lambda: len(runtime.messages) >= 20001)
    assert [message["id"] for message in runtime.messages[1:]] == list(range(1000, 21000))


def test_P19_a_client_that_does_not_read_costs_bounded_memory(probe: StartProbe) -> None:
    """Deltas of 1 GiB in total: the stream waits; the runtime still ends at end of stdin."""
    runtime = probe(read=False, initialize=False)
    runtime.start("initialize", {"protocolVersion": 1})
    runtime.start("probe/stream", {"count": 16_384, "size": 65_536})
    highest = 0
    still = 0
    while still < 5:
        time.sleep(0.1)  # there is no message to wait for: nobody reads
        now = runtime.rss_bytes()
        still = still + 1 if now <= highest else 0
        highest = max(highest, now)
    assert highest < 300 * MIB
    started = time.monotonic()
    runtime.close_stdin()
    assert runtime.exit_code() == 0
    assert time.monotonic() - started < 8


def test_P19_a_stalled_client_that_reads_again_gets_everything_in_order(probe: StartProbe) -> None:
    """Past 64 MiB deltas are merged and progress is dropped; text and reply are whole."""
    runtime = probe(read=False, initialize=False)
    runtime.start("initialize", {"protocolVersion": 1})
    count, size = 1600, 65_536
    runtime.start("probe/stream", {"count": count, "size": size, "kind": "fast"})
    stalled_rss = 0
    while (now := runtime.rss_bytes()) > stalled_rss:
        stalled_rss = now
        time.sleep(0.2)  # until it has produced all: nobody reads
    reader = threading.Thread(target=runtime._receive, daemon=True)
    reader.start()
    assert runtime.reply(2, timeout=60)["result"] == count
    events = runtime.notifications("probe/event")
    text = "".join(event["event"]["text"] for event in events)
    assert text == "".join(f"{n:09d}" + "x" * size for n in range(count))
    assert len(events) < count
    progress = [params["n"] for params in runtime.notifications("probe/progress")]
    assert progress == sorted(progress)
    assert len(progress) < count
    assert runtime.messages[-1]["id"] == 2
    runtime.close_stdin()
    assert runtime.exit_code() == 0
    reader.join(10)


def test_P19_requests_of_a_client_that_does_not_read_wait_in_the_pipe(probe: StartProbe) -> None:
    runtime = probe(read=False, initialize=False)
    runtime.start("initialize", {"protocolVersion": 1})
    request = b'{"jsonrpc":"2.0","id":%d,"method":"probe/big","params":{"size":65536}}\n'

    def flood() -> None:
        for n in range(200_000):
            if not runtime.pour(request % n):
                return

    thread = threading.Thread(target=flood, daemon=True)
    thread.start()
    highest = 0
    still = 0
    while still < 5:
        time.sleep(0.1)  # there is no message to wait for: nobody reads
        now = runtime.rss_bytes()
        still = still + 1 if now <= highest else 0
        highest = max(highest, now)
    assert highest < 400 * MIB
    runtime.signal(signal.SIGTERM)
    assert runtime.exit_code() == 0
    thread.join(10)


def test_P19_F11_a_broken_pipe_ends_the_process_cleanly(probe: StartProbe) -> None:
    runtime = probe(read=False, initialize=False)
    runtime.start("initialize", {"protocolVersion": 1})
    runtime.start("probe/stream", {"count": 1_000_000, "size": 1000})
    assert runtime.process.stdout is not None
    runtime.process.stdout.read(100_000)
    runtime.process.stdout.close()
    assert runtime.exit_code() == 0
    assert "Traceback" not in runtime.stderr()


def test_P20_no_child_outlives_the_runtime(probe: StartProbe) -> None:
    """What `process` starts is covered with its tools; nothing else starts a child by itself."""
    runtime = probe()
    pid = runtime.process.pid
    assert runtime.result("probe/echo", {}) == {"text": ""}
    assert Path(f"/proc/{pid}/task/{pid}/children").read_text() == ""
    assert runtime.finish() == 0


def answers(*replies: Message) -> Any:
    """Sends these as the reply to a call, each a whole message without its id."""

    def answer(message: Message) -> Message | None:
        for reply in replies[:-1]:
            holder[0].send({"id": message["id"], **reply})
        return replies[-1]

    holder: list[Runtime] = []
    return answer, holder


GOOD = {"jsonrpc": "2.0", "result": "yes"}


@pytest.mark.parametrize(
    "replies",
    [
        (GOOD,),
        (GOOD, {"jsonrpc": "2.0", "result": "late"}),
        ({"jsonrpc": "2.0"}, GOOD),
        ({"jsonrpc": "2.0", "result": 1, "error": {"code": 1, "message": ""}}, GOOD),
        ({"jsonrpc": "2.0", "error": "no object"}, GOOD),
        ({"jsonrpc": "2.0", "error": {"code": "x", "message": "y"}}, GOOD),
        ({"jsonrpc": "1.0", "result": "no"}, GOOD),
        ({"jsonrpc": "2.0", "id": "elsewhere", "result": "no"}, GOOD),
        ({"jsonrpc": "2.0", "id": 1, "result": "no"}, GOOD),
        ({"jsonrpc": "2.0", "id": None, "result": "no"}, GOOD),
    ],
)
def test_P21_late_duplicate_and_malformed_replies_are_ignored(
    probe: StartProbe, replies: tuple[Message, ...]
) -> None:
    answer, holder = answers(*replies)
    runtime = probe(answer=answer)
    holder.append(runtime)
    assert runtime.result("probe/ask", {"text": "may I?"}) == {"answer": "yes"}
    assert runtime.requests[0]["params"] == {"text": "may I?"}
    assert runtime.result("probe/echo", {"text": "x"}) == {"text": "x"}
    errors = [message for message in runtime.messages if "error" in message]
    assert errors == []


def test_P21_an_error_reply_is_an_error(probe: StartProbe) -> None:
    error = {"error": {"code": -32601, "message": "unknown"}}
    runtime = probe(answer=lambda message: error)
    assert runtime.result("probe/ask", {}) == {"failed": "RemoteError"}


def test_P21_ids_of_calls_cannot_be_those_of_the_client(probe: StartProbe) -> None:
    """Even when a client uses the very id of a call for its own request."""
    runtime = probe()
    asking = runtime.start("probe/ask", {})
    call = runtime.wait(lambda: runtime.requests)[0]
    assert isinstance(call["id"], str)
    assert len(call["id"]) > 16
    runtime.start("probe/echo", {"text": "mine"}, request_id=call["id"])
    assert runtime.reply(call["id"])["result"] == {"text": "mine"}
    runtime.send({"jsonrpc": "2.0", "id": call["id"], "result": "yes"})
    assert runtime.reply(asking)["result"] == {"answer": "yes"}


def test_L6_a_call_of_a_cancelled_request_is_withdrawn(probe: StartProbe) -> None:
    runtime = probe()
    asking = runtime.start("probe/ask", {})
    call = runtime.wait(lambda: runtime.requests)[0]
    for _ in range(2):
        runtime.notify("$/cancelRequest", {"id": asking})
    assert cancelled(runtime.reply(asking))
    assert runtime.notification("$/cancelRequest") == {"id": call["id"]}
    runtime.send({"jsonrpc": "2.0", "id": call["id"], "result": "allow"})
    assert runtime.result("probe/echo", {"text": "x"}) == {"text": "x"}
    assert len(runtime.replies(asking)) == 1


def test_P17_a_second_signal_ends_the_wait(probe: StartProbe) -> None:
    runtime = probe()
    request_id = runtime.start("probe/sleep", {"seconds": 60})
    runtime.notification("probe/started")
    runtime.signal(signal.SIGTERM)
    runtime.signal(signal.SIGINT)
    assert runtime.exit_code(timeout=4) == 0
    assert cancelled(runtime.replies(request_id)[0])
