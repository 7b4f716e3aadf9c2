"""Compression keeps a history valid whatever its shape and the thresholds are."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from taskx.engines.agent import compression
from taskx.engines.agent.compression import EXCERPTS_HEAD, MARK, compress
from taskx.engines.agent.estimate import Estimator, text_tokens
from taskx.protocol.chat import (
    ContentPart,
    Message,
    TextPart,
    ToolResultPart,
    ToolUsePart,
)


def turn(number: int, calls: list[tuple[str, str, int, bool]]) -> list[Message]:
    """An assistant message with calls, and the user message that answers them."""
    uses: list[ContentPart] = [TextPart(text=f"step {number}")]
    results: list[ContentPart] = []
    for place, (tool, path, size, is_error) in enumerate(calls):
        call_id = f"c{number}.{place}"
        uses.append(ToolUsePart(id=call_id, name=tool, input={"path": path}))
        results.append(
            ToolResultPart(
                tool_use_id=call_id,
                tool_name=tool,
                content=(f"{path} " * size)[: max(size, 1)],
                is_error=is_error,
            )
        )
    return [Message(role="assistant", content=uses), Message(role="user", content=results)]


def refused(messages: list[Message]) -> str:
    """Why a strict endpoint would refuse this history; empty when it would not.

    The rules of the Messages API and of chat completions: the first role is user, roles alternate,
    every call is answered in the next message exactly once and nothing else is.
    """
    if messages[0].role != "user":
        return "the first message is not the user's"
    open_calls: list[str] = []
    for message, after in zip(messages, [*messages[1:], None], strict=True):
        if after is not None and after.role == message.role:
            return "roles do not alternate"
        answered = [
            part.tool_use_id for part in message.content if isinstance(part, ToolResultPart)
        ]
        if sorted(answered) != sorted(open_calls):
            return f"calls {open_calls} are answered by {answered}"
        open_calls = [part.id for part in message.content if isinstance(part, ToolUsePart)]
        if any(isinstance(part, TextPart) and not part.text for part in message.content):
            return "an empty text"
    return "a call without an answer" if open_calls else ""


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["read_file", "write_file", "search_text", "run_command"]),
        st.sampled_from(["a.py", "b.py", "c.py"]),
        st.integers(1, 9000),
        st.booleans(),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=150, deadline=None)
@example(
    turns=[[("read_file", "a.py", size, False)] for size in (1, 1, 1, 445)],
    percent=30,
    window=600,
    excerpts=False,
)
@given(
    turns=st.lists(CALLS, min_size=0, max_size=14),
    percent=st.integers(30, 95),
    window=st.integers(600, 40_000),
    excerpts=st.booleans(),
)
def test_A11_C1_a_compressed_history_is_never_refused(
    turns: list[list[tuple[str, str, int, bool]]], percent: int, window: int, excerpts: bool
) -> None:
    parts: list[ContentPart] = [TextPart(text="do it")]
    if excerpts:
        parts.insert(0, TextPart(text=EXCERPTS_HEAD + "x = 1\n" * 300))
    messages = [Message(role="user", content=parts)]
    for number, calls in enumerate(turns):
        messages += turn(number, calls)
    assert refused(messages) == ""

    estimator = Estimator()
    done = compress(messages, "system", [], estimator, window, percent / 100)
    assert refused(done.messages) == ""
    assert any(
        isinstance(part, TextPart) and part.text == "do it" for part in done.messages[0].content
    )
    assert done.after_tokens <= done.before_tokens or not done.changed
    again = compress(done.messages, "system", [], estimator, window, percent / 100)
    if done.after_tokens <= window * percent / 100:
        assert again.messages == done.messages
        assert not again.changed


def test_A11_a_history_that_fits_is_left_alone() -> None:
    messages = [Message(role="user", content=[TextPart(text="hello")])]
    done = compress(messages, "", [], Estimator(), 1000, 0.85)
    assert done.messages == messages
    assert not done.changed


def test_A11_a_later_read_replaces_an_earlier_one_and_errors_stay() -> None:
    messages = [Message(role="user", content=[TextPart(text="go")])]
    messages += turn(0, [("read_file", "a.py", 1500, False)])
    messages += turn(1, [("search_text", "b.py", 1500, True)])
    for number in range(2, 6):
        messages += turn(number, [("read_file", "a.py", 1500 + number, False)])
    pruned, count = compression.prune(messages)
    first = pruned[2].content[0]
    assert isinstance(first, ToolResultPart)
    assert first.content == f"{MARK} a.py was read or changed again later."
    assert pruned[4] == messages[4]
    assert count == 2
    assert pruned[-6:] == messages[-6:]


def test_A11_a_long_old_output_keeps_its_head_and_tail() -> None:
    messages = [Message(role="user", content=[TextPart(text="go")])]
    messages += turn(0, [("run_command", "x", 5000, False)])
    for number in range(1, 4):
        messages += turn(number, [("run_command", f"y{number}", 10, False)])
    pruned, _ = compression.prune(messages)
    part, before = pruned[2].content[0], messages[2].content[0]
    assert isinstance(part, ToolResultPart)
    assert isinstance(before, ToolResultPart)
    assert part.content.startswith(MARK)
    assert before.content[:1200] in part.content
    assert part.content.endswith(before.content[-400:])


def test_A11_folding_twice_keeps_one_summary() -> None:
    messages = [Message(role="user", content=[TextPart(text="go")])]
    for number in range(10):
        messages += turn(number, [("write_file", f"f{number}.py", 50, False)])
    once, folded = compression.fold(messages)
    assert folded > 0
    for number in range(10, 20):
        once += turn(number, [("write_file", f"f{number}.py", 50, False)])
    twice, _ = compression.fold(once)
    marked = [
        part.text
        for part in twice[0].content
        if isinstance(part, TextPart) and part.text.startswith(MARK)
    ]
    assert len(marked) == 1
    assert "write_file f0.py" in marked[0]
    assert "write_file f12.py" in marked[0]
    assert refused(twice) == ""


def test_A11_excerpts_are_dropped_last() -> None:
    excerpts = TextPart(text=EXCERPTS_HEAD + "y" * 4000)
    messages = [Message(role="user", content=[excerpts, TextPart(text="go")])]
    messages += turn(0, [("run_command", "x", 100, False)])
    roomy = compress(messages, "", [], Estimator(), 1300, 0.5)
    assert not roomy.dropped_retrieval
    tight = compress(messages, "", [], Estimator(), 900, 0.5)
    assert tight.dropped_retrieval
    assert tight.messages[0].content == [TextPart(text="go")]


def test_A11_results_among_the_last_messages_are_cut_before_giving_up() -> None:
    messages = [Message(role="user", content=[TextPart(text="go")])]
    messages += turn(0, [("run_command", "x", 40_000, False), ("run_command", "y", 900, False)])
    done = compress(messages, "", [], Estimator(), 2000, 0.85)
    assert done.fits
    assert refused(done.messages) == ""
    hopeless = compress(messages, "s" * 40_000, [], Estimator(), 2000, 0.85)
    assert not hopeless.fits


def test_C3_a_calibrated_log_of_sixty_percent_is_not_compressed() -> None:
    estimator = Estimator()
    log = "\n".join(f"[{number:05}] GET /index 200 0x{number:08x}" for number in range(5000))
    messages = [Message(role="user", content=[TextPart(text=log)])]
    raw = estimator.raw("", [], messages)
    counted = round(raw * 1.4)
    estimator.calibrate(raw, counted)
    window = round(counted / 0.6)
    done = compress(messages, "", [], estimator, window, 0.85)
    assert done.before_tokens == pytest.approx(counted, rel=0.01)
    assert not done.changed


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a" * 400, 100), ("中" * 100, 100), ("é" * 400, 100), ("ab中", 1.5), ("😀" * 10, 20)],
)
def test_A11_wide_characters_count_as_tokens(text: str, expected: float) -> None:
    assert text_tokens(text) == pytest.approx(expected)
