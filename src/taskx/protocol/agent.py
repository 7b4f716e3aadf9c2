"""`agent/*` on the wire: what a run takes, its events and its summary.

Source: protocol v1, "Agent, tools, and extensions", "EditorContext", "Costs", "Team mode".
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from taskx.protocol.base import UNSET, Event, UnsetType, Wire
from taskx.protocol.chat import MAX_IMAGES, ImageInput
from taskx.protocol.providers import ProviderConfig
from taskx.protocol.refine import MAX_PROMPT_CHARS, Route

Json = dict[str, Any]
ChatMode = Literal["ask", "plan", "agent", "team"]
PolicyMode = Literal["readOnly", "manual", "acceptEdits", "auto"]
Role = Literal["research", "implementation", "testing", "review", "documentation"]
Status = Literal["running", "completed", "failed", "cancelled", "limited"]
Decision = Literal["allow", "allowSession", "deny"]
ToolClass = Literal["read", "write", "execute", "destructive", "network", "agent"]

MAX_MENTIONS = 10
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_PROMPT_CHARS)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Price = Annotated[float, msgspec.Meta(ge=0)]


class Selection(Wire, frozen=True, kw_only=True):
    """Lines are 1-based and inclusive."""

    path: str
    start_line: int
    end_line: int
    text: str


class EditorDiagnostic(Wire, frozen=True, kw_only=True):
    """A problem the editor shows."""

    path: str
    line: int
    message: str
    severity: str = "error"
    source: str | UnsetType = UNSET


class EditorContext(Wire, frozen=True, kw_only=True):
    """What the user sees. `mentions`: files and folders named with `@path`; ten are attached."""

    active_file: str | UnsetType | None = UNSET
    selection: Selection | UnsetType | None = UNSET
    open_files: list[str] = msgspec.field(default_factory=list)
    diagnostics: list[EditorDiagnostic] = msgspec.field(default_factory=list)
    mentions: list[str] = msgspec.field(default_factory=list)


class Policy(Wire, frozen=True, kw_only=True):
    """What may run without asking. Entries are tool names, globs, or `run_command(git status)`."""

    mode: PolicyMode = "manual"
    allow: list[str] = msgspec.field(default_factory=list)
    deny: list[str] = msgspec.field(default_factory=list)
    allow_all: bool = False


class Limits(Wire, frozen=True, kw_only=True):
    """Absent fields take the defaults; timeouts and `compactPercent` out of range are clamped."""

    max_iterations: Count = 50
    max_tool_calls: Count = 200
    max_cost_usd: Price | UnsetType = UNSET
    max_tokens: Count | UnsetType = UNSET
    timeout_ms: Count | UnsetType = UNSET
    command_timeout_ms: Count = 120_000
    approval_timeout_ms: Count = 600_000
    max_parallel: Annotated[int, msgspec.Meta(ge=1, le=8)] = 3
    context_window_tokens: Count | UnsetType = UNSET
    compact_percent: float = 85
    max_retries: Annotated[int, msgspec.Meta(ge=0, le=20)] = 4

    @property
    def compact_share(self) -> float:
        """The share of the window above which the history is compressed."""
        return min(max(self.compact_percent, 30), 95) / 100


class RoleProvider(Wire, frozen=True, kw_only=True):
    role: Role
    provider: ProviderConfig


class ModelPrice(Wire, frozen=True, kw_only=True):
    """US dollars per million tokens for models whose id starts with `model`."""

    model: Annotated[str, msgspec.Meta(min_length=1)]
    input_per_mtok: Price
    output_per_mtok: Price
    cache_read_per_mtok: Price | UnsetType = UNSET
    cache_write_per_mtok: Price | UnsetType = UNSET


TASK_ID_PATTERN = r"\A[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}\Z"
"""A task id names a file."""

TaskId = Annotated[str, msgspec.Meta(pattern=TASK_ID_PATTERN)]


class AgentRunParams(Wire, frozen=True, kw_only=True):
    prompt: Text
    provider: ProviderConfig
    chat_mode: ChatMode
    images: Annotated[list[ImageInput], msgspec.Meta(max_length=MAX_IMAGES)] = msgspec.field(
        default_factory=list
    )
    task_id: TaskId | UnsetType = UNSET
    editor: EditorContext | UnsetType = UNSET
    policy: Policy = msgspec.field(default_factory=Policy)
    limits: Limits = msgspec.field(default_factory=Limits)
    routes: list[Route] = msgspec.field(default_factory=list)
    fallbacks: list[ProviderConfig] = msgspec.field(default_factory=list)
    role_providers: list[RoleProvider] = msgspec.field(default_factory=list)
    prices: list[ModelPrice] = msgspec.field(default_factory=list)


class TaskParams(Wire, frozen=True, kw_only=True):
    task_id: str


class CancelToolParams(Wire, frozen=True, kw_only=True):
    task_id: str
    call_id: str


class SteerParams(Wire, frozen=True, kw_only=True):
    task_id: str
    text: str


class TokenUsage(Wire, frozen=True, kw_only=True):
    """Tokens of a whole task. `input_tokens` counts whole prompts, cached parts included."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class Metrics(Wire, frozen=True, kw_only=True):
    """`cost_usd` has the subagents in it. `unpriced_tokens`: billed, of models with no price."""

    cost_usd: float = 0.0
    unpriced_tokens: int = 0
    subagents: int = 0
    subagent_cost_usd: float = 0.0
    subagent_tokens: int = 0
    duration_ms: int = 0
    model_calls: int = 0
    retries: int = 0


class ChangedFile(Wire, frozen=True, kw_only=True):
    path: str
    added: int
    removed: int


class Validation(Wire, frozen=True, kw_only=True):
    """One run of a project check. `after_last_edit`: no edit followed it."""

    id: str
    kind: str
    command: str
    ok: bool
    duration_ms: int
    after_last_edit: bool


class TaskError(Wire, frozen=True, kw_only=True):
    """Why a task failed. `provider` is a ProviderError."""

    message: str
    provider: Json | UnsetType = UNSET


class Summary(Wire, frozen=True, kw_only=True):
    task_id: str
    status: Status
    text: str = ""
    changed_files: list[ChangedFile] = msgspec.field(default_factory=list)
    operations: list[str] = msgspec.field(default_factory=list)
    validations: list[Validation] = msgspec.field(default_factory=list)
    validation_ran: bool = False
    skipped_checks: list[str] = msgspec.field(default_factory=list)
    usage: TokenUsage = msgspec.field(default_factory=TokenUsage)
    metrics: Metrics = msgspec.field(default_factory=Metrics)
    model: str = ""
    iterations: int = 0
    tool_calls: int = 0
    error: TaskError | None = None


class TaskEntry(Wire, frozen=True, kw_only=True):
    """A row of `agent/tasks`. Times are Unix time in milliseconds."""

    task_id: str
    title: str
    status: Status
    model: str
    created_ms: int
    updated_ms: int
    cost_usd: float


class StoredTask(Wire, frozen=True, kw_only=True):
    """`agent/task`: what a finished or running task has on disk."""

    summary: Summary
    messages: list[Json]
    title: str


# Events of a task


class StartedEvent(Event, frozen=True, kw_only=True):
    chat_mode: ChatMode
    model: str
    prompt_length: int


class ModelEvent(Event, frozen=True, kw_only=True):
    kind: str
    model: str
    route: str | None


class IterationEvent(Event, frozen=True, kw_only=True):
    n: int


class TextDeltaEvent(Event, frozen=True, kw_only=True):
    text: str


class ThinkingDeltaEvent(Event, frozen=True, kw_only=True):
    text: str


class ToolCallEntry(Wire, frozen=True, kw_only=True):
    id: str
    name: str
    input: Json


class AssistantMessageEvent(Event, frozen=True, kw_only=True):
    text: str
    tool_calls: list[ToolCallEntry]


class ToolStartedEvent(Event, frozen=True, kw_only=True):
    call_id: str
    tool: str
    class_: ToolClass = msgspec.field(name="class")
    input: Json


class ToolOutputEvent(Event, frozen=True, kw_only=True):
    call_id: str
    stream: Literal["stdout", "stderr"]
    text: str


class ToolFinishedEvent(Event, frozen=True, kw_only=True):
    """`result` when `ok`, else `error` with the kind and message of the tool error."""

    call_id: str
    tool: str
    ok: bool
    duration_ms: int
    result: Any = UNSET
    error: Json | UnsetType = UNSET
    background: bool | UnsetType = UNSET


class ApprovalRequestedEvent(Event, frozen=True, kw_only=True):
    call_id: str
    tool: str
    permission: ToolClass
    preview: str


class ApprovalResolvedEvent(Event, frozen=True, kw_only=True):
    call_id: str
    decision: Decision
    by: Literal["user", "session", "policy", "timeout"]


class FileChangedEvent(Event, frozen=True, kw_only=True):
    """`operation`: its id in the edit log, as `edits/undo` takes it."""

    path: str
    operation: str
    added: int
    removed: int


class RetryEvent(Event, frozen=True, kw_only=True):
    attempt: int
    delay_ms: int
    error: Json


class ModelSwitchedEvent(Event, frozen=True, kw_only=True):
    from_: str = msgspec.field(name="from")
    to: str
    reason: str


class CompactedEvent(Event, frozen=True, kw_only=True):
    """Counts of messages folded and results pruned; tokens are estimates."""

    folded: int
    pruned: int
    dropped_retrieval: bool
    before_tokens: int
    after_tokens: int
    window_tokens: int


class ContextEvent(Event, frozen=True, kw_only=True):
    used_tokens: int
    window_tokens: int


class UsageEvent(Event, frozen=True, kw_only=True):
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd: float


class SteeredEvent(Event, frozen=True, kw_only=True):
    text: str


class HookEvent(Event, frozen=True, kw_only=True):
    event: str
    name: str
    ok: bool
    output: str


class SubagentStartedEvent(Event, frozen=True, kw_only=True):
    name: str
    task_id: str
    role: Role
    objective: str
    kind: str
    model: str
    dir: str | None
    step: str | None


class SubagentEvent(Event, frozen=True, kw_only=True):
    name: str
    task_id: str
    event: Any


class SubagentFinishedEvent(Event, frozen=True, kw_only=True):
    name: str
    task_id: str
    role: Role
    status: Status
    error: str | None
    cost_usd: float
    unpriced_tokens: int
    tokens: int
    files: list[str]
    added: int
    removed: int
    worktree: str | None


class WarningEvent(Event, frozen=True, kw_only=True):
    message: str


class ErrorEvent(Event, frozen=True, kw_only=True):
    message: str
    provider: Json | UnsetType = UNSET


class DoneEvent(Event, frozen=True, kw_only=True):
    status: Status


AgentEvent = (
    StartedEvent
    | ModelEvent
    | IterationEvent
    | TextDeltaEvent
    | ThinkingDeltaEvent
    | AssistantMessageEvent
    | ToolStartedEvent
    | ToolOutputEvent
    | ToolFinishedEvent
    | ApprovalRequestedEvent
    | ApprovalResolvedEvent
    | FileChangedEvent
    | RetryEvent
    | ModelSwitchedEvent
    | CompactedEvent
    | ContextEvent
    | UsageEvent
    | SteeredEvent
    | HookEvent
    | SubagentStartedEvent
    | SubagentEvent
    | SubagentFinishedEvent
    | WarningEvent
    | ErrorEvent
    | DoneEvent
)


class AgentEventParams(Wire, frozen=True, kw_only=True):
    """`agent/event`, runtime to client."""

    task_id: str
    event: AgentEvent


# Requests to the client


class ApprovalParams(Wire, frozen=True, kw_only=True):
    task_id: str
    call_id: str
    tool: str
    permission: ToolClass
    input: Json
    preview: str


class ApprovalResult(Wire, frozen=True, kw_only=True):
    decision: Decision


class Question(Wire, frozen=True, kw_only=True):
    id: str
    text: str
    kind: Literal["radio", "checkbox"]
    options: list[str]


class AskUserParams(Wire, frozen=True, kw_only=True):
    task_id: str
    call_id: str
    questions: list[Question]


class AskUserResult(Wire, frozen=True, kw_only=True):
    """`answers`: question id to chosen options; None when the user dismissed the questions."""

    answers: dict[str, list[str]] | None
