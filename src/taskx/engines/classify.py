"""The kind of a task, from its prompt: which route takes it.

A few words decide, no model is asked: the verb a prompt leads with, what that verb is done to, and
words that tell a kind wherever they stand. Source: protocol v1, "prompt/refine" and `routes`.
"""

from __future__ import annotations

import re

from taskx.protocol.refine import TaskKind

_LOOKED_AT_CHARS = 2000

_POLITE = re.compile(
    r"^(?:(?:please|hey|hi|hello|now|then|also|ok|okay|so)\b[,!:]?\s*"
    r"|(?:can|could|would|will) you (?:please )?|i(?:'d| would) like (?:you )?to "
    r"|i (?:want|need) (?:you )?to |(?:let's|let us|we should|we need to|you should) "
    r"|help me (?:to )?)+"
)
_ASKING = re.compile(
    r"^(?:what|why|how|where|when|which|who|whose|is|are|was|does|do|did|should|explain|describe"
    r"|tell me|show me|summari[sz]e|can i|can we|could i)\b"
)
_LEADING: tuple[tuple[TaskKind, str], ...] = (
    ("debugging", r"fix|debug|diagnose|troubleshoot|investigate|find out why|repair|resolve"),
    (
        "refactoring",
        r"refactor|rename|extract|simplify|clean ?up|restructure|reorgani[sz]e|deduplicate|dedupe"
        r"|inline|split|decouple|move",
    ),
    ("review", r"review|audit|critique|look over|check over|proofread"),
    ("planning", r"plan|design|outline|propose|brainstorm|break down|estimate|architect"),
    ("documentation", r"document|annotate"),
    ("testing", r"test|cover"),
)
_MAKING = (
    r"add|implement|create|write|make|build|change|update|modify|remove|delete|drop|replace|convert"
    r"|migrate|port|support|extend|enable|disable|introduce|improve|optimi[sz]e|speed up|upgrade"
    r"|bump|generate|use|set|turn|allow|handle|wire|integrate|expose|edit|insert|rewrite|finish"
    r"|complete"
)
# Of a verb of making: what is made.
_MADE: tuple[tuple[TaskKind, str], ...] = (
    (
        "testing",
        r"(?:unit |integration |regression |e2e )?tests?\b|test cases?|test coverage|specs?\b",
    ),
    ("documentation", r"docs?\b|documentation|docstrings?|readme|changelog|comments?\b|tutorial"),
    ("planning", r"plan\b|roadmap|design doc|proposal|rfc\b"),
)
_ANYWHERE: tuple[tuple[TaskKind, str], ...] = (
    (
        "debugging",
        r"traceback|stack ?trace|segfaults?|exception|crash(?:es|ed|ing)?|regression|bugs?\b|broken"
        r"|(?:does|do|did)(?:n't| not) work|not working|fail(?:s|ed|ing|ure)?\b|panics?\b"
        r"|deadlocks?",
    ),
    ("refactoring", r"refactor(?:ing)?|clean ?up|duplicat(?:e|ed|ion)|technical debt"),
    ("review", r"code review|pull request|this diff|my changes"),
    ("testing", r"unit tests?|test coverage|pytest|vitest|jest\b"),
    ("documentation", r"documentation|docstrings?|readme"),
    ("planning", r"roadmap|step-by-step plan|milestones?"),
)
_OBJECT_CHARS = 60


def classify(prompt: str) -> TaskKind:
    """The kind of task that a prompt asks for; `other` when nothing tells."""
    text = " ".join(prompt[:_LOOKED_AT_CHARS].lower().split())
    text = _POLITE.sub("", text)
    if _ASKING.match(text):
        return "debugging" if _kind_in(text, _ANYWHERE[:1]) else "question"
    for kind, verbs in _LEADING:
        if re.match(rf"(?:{verbs})\b", text):
            return kind
    making = re.match(rf"(?:{_MAKING})\b", text)
    if making:
        made = text[making.end() : making.end() + _OBJECT_CHARS]
        # `add a flag to the tests` makes a flag: only what stands before a preposition is made.
        made = re.split(r"\b(?:to|for|in|into|from|with|on|that|so|when)\b", made, maxsplit=1)[0]
        return _kind_in(made, _MADE) or "codeModification"
    found = _kind_in(text, _ANYWHERE)
    if found:
        return found
    if text.endswith("?"):
        return "question"
    return "codeModification" if re.search(rf"\b(?:{_MAKING})\b", text) else "other"


def _kind_in(text: str, words_of: tuple[tuple[TaskKind, str], ...]) -> TaskKind | None:
    for kind, words in words_of:
        if re.search(rf"\b(?:{words})", text):
            return kind
    return None
