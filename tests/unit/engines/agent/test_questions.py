"""What `ask_user` accepts, and what becomes of the answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from taskx.engines.agent import questions
from taskx.errors import ToolError
from taskx.protocol.agent import ApprovalParams, AskUserParams, Decision


class Person:
    """Answers as the test says; None dismisses."""

    def __init__(self, answers: dict[str, list[str]] | None) -> None:
        self.answers = answers

    async def ask_user(self, params: AskUserParams) -> dict[str, list[str]] | None:
        return self.answers

    async def request_approval(self, params: ApprovalParams) -> Decision:
        raise AssertionError(params)

    async def writable(self) -> None:
        return None


def question(**changes: Any) -> dict[str, Any]:
    fields = {"id": "q", "text": "Which?", "kind": "radio", "options": ["a", "b"]}
    return {**fields, **changes}


def ask(given: Any, answers: dict[str, list[str]] | None) -> dict[str, Any]:
    return asyncio.run(questions.ask(Person(answers), "t", "c", {"questions": given}, 1000))


REFUSED: list[tuple[Any, str]] = [
    ([], "1 to 4"),
    ([question(id=str(number)) for number in range(5)], "1 to 4"),
    ([question(options=["a"])], "2 to 8 options"),
    ([question(options=list("abcdefghi"))], "2 to 8 options"),
    ([question(options=["a", "a"])], "distinct options"),
    ([question(), question()], "distinct ids"),
    ([question(text=" ")], "expected a text"),
    ([question(kind="slider")], "questions"),
    ("no list", "questions"),
]


@pytest.mark.parametrize(("given", "text"), REFUSED)
def test_A04_A6_a_malformed_question_is_told_to_the_model(given: Any, text: str) -> None:
    with pytest.raises(ToolError, match=text) as caught:
        ask(given, None)
    assert caught.value.kind == "invalidInput"


ANSWERS: list[tuple[str, dict[str, list[str]], list[str]]] = [
    ("radio", {"q": ["b"]}, ["b"]),
    ("radio", {"q": ["b", "a"]}, ["b"]),
    ("radio", {"q": ["z", "a"]}, ["a"]),
    ("checkbox", {"q": ["b", "a", "b", "z"]}, ["b", "a"]),
    ("checkbox", {}, []),
]


@pytest.mark.parametrize(("kind", "answers", "selected"), ANSWERS)
def test_A04_answers_outside_the_list_are_dropped(
    kind: str, answers: dict[str, list[str]], selected: list[str]
) -> None:
    assert ask([question(kind=kind)], answers) == {
        "answered": True,
        "answers": [{"question": "Which?", "selected": selected}],
    }


def test_A04_a_dismissal_is_an_answer() -> None:
    assert ask([question()], None) == {"answered": False, "answers": []}
