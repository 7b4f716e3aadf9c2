"""The `ask_user` tool: what a model may ask, and how the answer reads to it.

Source: protocol v1, `agent/askUser`.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from taskx.engines.ports import Client
from taskx.errors import ToolError
from taskx.protocol.agent import AskUserParams, Question

MAX_QUESTIONS = 4
MIN_OPTIONS, MAX_OPTIONS = 2, 8

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["questions"],
    "properties": {
        "questions": {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_QUESTIONS,
            "items": {
                "type": "object",
                "required": ["id", "text", "kind", "options"],
                "properties": {
                    "id": {"type": "string"},
                    "text": {"type": "string"},
                    "kind": {"enum": ["radio", "checkbox"]},
                    "options": {
                        "type": "array",
                        "items": {"type": "string"},
                        "minItems": MIN_OPTIONS,
                        "maxItems": MAX_OPTIONS,
                        "uniqueItems": True,
                    },
                },
            },
        }
    },
}
DESCRIPTION = (
    "Ask the user one to four questions when a decision is theirs to make and the answer changes"
    " what you do. Each has two to eight distinct options; `radio` takes one answer, `checkbox`"
    " several. The user may dismiss the questions: then go on with your best judgement."
)


def parse(arguments: dict[str, Any]) -> list[Question]:
    """The questions of a call. Raises ToolError of kind `invalidInput` naming what is wrong."""
    try:
        questions = msgspec.convert(arguments.get("questions"), list[Question])
    except msgspec.ValidationError as error:
        raise ToolError("invalidInput", f"questions: {error}") from error
    if not 1 <= len(questions) <= MAX_QUESTIONS:
        raise ToolError("invalidInput", f"questions: expected 1 to {MAX_QUESTIONS} of them")
    if len({question.id for question in questions}) != len(questions):
        raise ToolError("invalidInput", "questions: expected distinct ids")
    for question in questions:
        if not question.text.strip():
            raise ToolError("invalidInput", f"question {question.id}: expected a text")
        if not MIN_OPTIONS <= len(question.options) <= MAX_OPTIONS:
            raise ToolError(
                "invalidInput",
                f"question {question.id}: expected {MIN_OPTIONS} to {MAX_OPTIONS} options",
            )
        if len(set(question.options)) != len(question.options):
            raise ToolError("invalidInput", f"question {question.id}: expected distinct options")
    return questions


async def ask(
    client: Client, task_id: str, call_id: str, arguments: dict[str, Any], timeout_ms: int
) -> dict[str, Any]:
    """Asks, and gives the result for the model: `{answered, answers}`."""
    questions = parse(arguments)
    params = AskUserParams(task_id=task_id, call_id=call_id, questions=questions)
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            answers = await client.ask_user(params)
    except TimeoutError:
        answers = None
    if answers is None:
        return {"answered": False, "answers": []}
    return {
        "answered": True,
        "answers": [
            {"question": question.text, "selected": selected(question, answers)}
            for question in questions
        ],
    }


def selected(question: Question, answers: dict[str, list[str]]) -> list[str]:
    """The offered options that were chosen, each once; the first alone for a radio question."""
    chosen = [
        option
        for option in dict.fromkeys(answers.get(question.id, []))
        if option in question.options
    ]
    return chosen[:1] if question.kind == "radio" else chosen
