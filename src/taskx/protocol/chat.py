"""`chat/send` on the wire: messages and their parts, stream events, the result.

The same types are what the agent engine sends and receives; see `taskx.providers`.
Source: protocol v1, "chat/send", "ChatRequest", "Images".
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from taskx.protocol.base import UNSET, Event, UnsetType, Wire
from taskx.protocol.providers import ProviderConfig

Json = dict[str, Any]
Role = Literal["user", "assistant"]
StopReason = Literal["endTurn", "maxTokens", "toolUse", "stopSequence", "contentFilter", "unknown"]
Effort = Literal["off", "low", "medium", "high"]
ImageType = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]

DEFAULT_MAX_TOKENS = 4096
MAX_IMAGES = 8
MAX_IMAGE_CHARS = 7_000_000

ImageData = Annotated[
    str, msgspec.Meta(min_length=1, max_length=MAX_IMAGE_CHARS, pattern=r"\A[A-Za-z0-9+/]+={0,2}\Z")
]


class ImageInput(Wire, frozen=True, kw_only=True):
    """An image beside a prompt. `data` is base64 without a `data:` prefix."""

    media_type: ImageType
    data: ImageData


class TextPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="text"):
    text: str


class ToolUsePart(Wire, frozen=True, kw_only=True, tag_field="type", tag="toolUse"):
    id: Annotated[str, msgspec.Meta(min_length=1)]
    name: Annotated[str, msgspec.Meta(min_length=1)]
    input: Json


class ToolResultPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="toolResult"):
    tool_use_id: Annotated[str, msgspec.Meta(min_length=1)]
    tool_name: str = ""
    content: str
    is_error: bool = False


class ImagePart(Wire, frozen=True, kw_only=True, tag_field="type", tag="image"):
    media_type: ImageType
    data: ImageData


class ThinkingPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="thinking"):
    """Reasoning of an assistant message, kept so that it can be sent back where it is needed.

    `data` belongs to the endpoint it came from and is returned to it unchanged: signed and
    redacted blocks of Anthropic, the field a compatible server used. Others never see it.
    """

    text: str
    data: Json | UnsetType = UNSET


ContentPart = TextPart | ToolUsePart | ToolResultPart | ImagePart | ThinkingPart


class Message(Wire, frozen=True, kw_only=True):
    role: Role
    content: Annotated[list[ContentPart], msgspec.Meta(min_length=1)]

    def __post_init__(self) -> None:
        allowed = _ASSISTANT_PARTS if self.role == "assistant" else _USER_PARTS
        for part in self.content:
            if not isinstance(part, allowed):
                raise ValueError(
                    f"`content`: a part of type `{part.__struct_config__.tag}` "
                    f"cannot stand in a message of role `{self.role}`"
                )


_ASSISTANT_PARTS = (TextPart, ToolUsePart, ThinkingPart)
_USER_PARTS = (TextPart, ToolResultPart, ImagePart)


class ToolSpec(Wire, frozen=True, kw_only=True):
    """A tool a model may call. `input_schema` is a JSON Schema of type object."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=128, pattern=r"\A[A-Za-z0-9_-]+\Z")]
    description: str = ""
    input_schema: Json

    def __post_init__(self) -> None:
        if self.input_schema.get("type", "object") != "object":
            raise ValueError("`inputSchema`: expected a JSON Schema of type `object`")
        for key, kind in (("properties", dict), ("required", list)):
            if not isinstance(self.input_schema.get(key, kind()), kind):
                raise ValueError(f"`inputSchema.{key}`: expected `{_JSON_NAMES[kind]}`")


_JSON_NAMES: dict[type, str] = {dict: "object", list: "array"}


class ChatRequest(Wire, frozen=True, kw_only=True):
    messages: Annotated[list[Message], msgspec.Meta(min_length=1)]
    system: str | UnsetType = UNSET
    tools: list[ToolSpec] = msgspec.field(default_factory=list)
    max_tokens: Annotated[int, msgspec.Meta(ge=1)] = DEFAULT_MAX_TOKENS
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | UnsetType = UNSET
    context_window: Annotated[int, msgspec.Meta(ge=1)] | UnsetType = UNSET
    """The window to ask of APIs that take one (Ollama `num_ctx`)."""
    thinking: Effort | UnsetType = UNSET
    """How much to reason first, for models that can; absent leaves it to the endpoint."""

    def __post_init__(self) -> None:
        if self.messages[0].role != "user":
            raise ValueError("`messages[0].role`: expected `user`")
        images = sum(isinstance(part, ImagePart) for part in self.messages[-1].content)
        if images > MAX_IMAGES:
            raise ValueError(f"`messages`: expected at most {MAX_IMAGES} images in a message")
        names = [tool.name for tool in self.tools]
        if len(set(names)) != len(names):
            raise ValueError("`tools`: expected distinct names")


class ChatSendParams(Wire, frozen=True, kw_only=True):
    provider: ProviderConfig
    request: ChatRequest


class Usage(Wire, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens of one model call. `input_tokens` counts the whole prompt, cached parts included."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class TextDelta(Event, frozen=True, kw_only=True, tag="textDelta"):
    text: str


class ThinkingDelta(Event, frozen=True, kw_only=True, tag="thinkingDelta"):
    text: str


class ThinkingBlock(Event, frozen=True, kw_only=True, tag="thinking"):
    """A finished block of reasoning, for the history. Not sent on the wire as an event."""

    part: ThinkingPart


class ToolCall(Event, frozen=True, kw_only=True, tag="toolCall"):
    """A complete call: its arguments are parsed."""

    id: str
    name: str
    input: Json


class BrokenToolCall(Event, frozen=True, kw_only=True, tag="brokenToolCall"):
    """A call whose arguments were cut off or are no JSON object. It must never be executed."""

    id: str
    name: str
    reason: Literal["truncated", "malformed"]
    arguments: str
    """What arrived, at most 2000 characters."""


class UsageEvent(Event, frozen=True, kw_only=True, tag="usage"):
    """Sent once a stream, when the endpoint reports counts."""

    usage: Usage


class Done(Event, frozen=True, kw_only=True, tag="done"):
    stop_reason: StopReason


class WarningEvent(Event, frozen=True, kw_only=True, tag="warning"):
    """Something the caller should know of a call that goes on."""

    message: str


ChatEvent = (
    TextDelta
    | ThinkingDelta
    | ThinkingBlock
    | ToolCall
    | BrokenToolCall
    | UsageEvent
    | WarningEvent
    | Done
)


class ChatEventParams(Wire, frozen=True, kw_only=True):
    """Params of the notification `chat/event`."""

    request_id: int | str
    event: ChatEvent


class ToolCallResult(Wire, frozen=True, kw_only=True):
    """A complete call, in a result."""

    id: str
    name: str
    input: Json


class BrokenToolCallResult(Wire, frozen=True, kw_only=True):
    id: str
    name: str
    reason: Literal["truncated", "malformed"]
    arguments: str


class ChatResult(Wire, frozen=True, kw_only=True):
    """All events of one call, folded."""

    text: str
    tool_calls: list[ToolCallResult]
    stop_reason: StopReason
    usage: Usage | None
    """None when the endpoint reported no counts."""
    broken_tool_calls: list[BrokenToolCallResult] | UnsetType = UNSET
    content: list[ContentPart] | UnsetType = UNSET
    """The whole assistant message in order, when it holds reasoning that must be kept."""
