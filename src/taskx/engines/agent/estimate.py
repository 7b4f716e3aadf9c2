"""How many tokens a prompt will take: characters ÷ 4, corrected by what the model last counted.

Source: protocol v1, "Context compression"; an image counts about 1600 tokens ("Images").
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from taskx.protocol.chat import (
    ContentPart,
    ImagePart,
    Message,
    TextPart,
    ThinkingPart,
    ToolResultPart,
    ToolSpec,
)

CHARS_PER_TOKEN = 4
IMAGE_TOKENS = 1600
MESSAGE_TOKENS = 4
"""Role and separators of one message, in the chat formats whose templates are public."""

MAX_KNOWN = 4096
MIN_RATIO, MAX_RATIO = 0.25, 4.0
_FIRST_WIDE = "\u2e80"
"""From here on (CJK, Hangul, kana, emoji) tokenizers spend about one token a character."""


def text_tokens(text: str) -> float:
    """The estimate for one text; a wide character counts as a whole token."""
    if text.isascii():
        return len(text) / CHARS_PER_TOKEN
    encoded = text.encode("utf-16-le", "surrogatepass")
    # A high byte of 0x2E and above marks a wide code unit; emoji are two of them.
    wide = len(encoded[1::2].translate(None, delete=_NARROW_HIGH_BYTES))
    return wide + (len(encoded) // 2 - wide) / CHARS_PER_TOKEN


_NARROW_HIGH_BYTES = bytes(range(ord(_FIRST_WIDE) >> 8))


def part_tokens(part: ContentPart) -> float:
    match part:
        case TextPart() | ThinkingPart():
            return text_tokens(part.text)
        case ToolResultPart():
            return text_tokens(part.content)
        case ImagePart():
            return IMAGE_TOKENS
        case _:
            written = msgspec.json.encode(part.input)
            return (len(part.name) + len(written)) / CHARS_PER_TOKEN


class Estimator:
    """Estimates prompts of one model; `calibrate` after each response that reports its count.

    Sizes of messages are kept by identity: a history grows at its end, and its messages are
    immutable, so that a turn costs what is new.
    """

    def __init__(self) -> None:
        self.ratio = 1.0
        self._known: dict[int, tuple[Message, float]] = {}

    def message(self, message: Message) -> float:
        """The uncalibrated estimate of one message."""
        known = self._known.get(id(message))
        if known is not None:
            return known[1]
        tokens = MESSAGE_TOKENS + sum(part_tokens(part) for part in message.content)
        # The message is kept with its size: its id stays its own as long as it is here.
        self._known[id(message)] = (message, tokens)
        return tokens

    def raw(self, system: str, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> float:
        """The uncalibrated estimate of a whole prompt."""
        fixed = text_tokens(system) + sum(
            (len(tool.name) + len(tool.description) + len(msgspec.json.encode(tool.input_schema)))
            / CHARS_PER_TOKEN
            for tool in tools
        )
        return fixed + sum(self.message(message) for message in messages)

    def calibrated(self, raw: float) -> int:
        return round(raw * self.ratio)

    def calibrate(self, raw: float, counted: int) -> None:
        """Takes over what the model counted for a prompt whose raw estimate is known."""
        if raw > 0 and counted > 0:
            self.ratio = min(max(counted / raw, MIN_RATIO), MAX_RATIO)
        if len(self._known) > MAX_KNOWN:
            self._known.clear()  # messages that were compressed away would stay alive
