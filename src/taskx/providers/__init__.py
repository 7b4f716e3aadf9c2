"""Models over HTTP: four kinds of endpoints behind one typed stream.

    providers = Providers()                                  # one a process; `await close()` it
    async with providers.stream(config, request) as stream:  # nothing is sent yet
        async for event in stream:                           # ChatEvent: TextDelta, ThinkingDelta,
            ...                                              #   ThinkingBlock, ToolCall,
    stream.result()                                          #   BrokenToolCall, UsageEvent,
    stream.fold.content()                                    #   WarningEvent, Done
    stream.spent()

- `stream(config: ProviderConfig, request: ChatRequest) -> ChatStream`: an async iterator. It ends
  after `Done`, or raises `ProviderError`. Leaving the block, `aclose()` and cancelling the task
  close the connection at once. It never retries: `retry.retry_delay_ms` and
  `retry.should_fall_back` are the policy for the loop that does.
- `stream.result()`: a `ChatResult`. `stream.fold.content()`: the assistant message for the
  history, reasoning and broken calls included, in order. A `BrokenToolCall` must be answered with
  an error result and never executed.
- `stream.spent()`: the usage to bill, also of a stream that was cancelled or broke.
- `list_models`, `models`, `context_window` (five-minute cache), `test`.
- `pricing`: what tokens cost.

Three questions, three places: the wire format (`anthropic`, `openai`, `ollama`: bodies out, events
in), the address and key (`endpoint`, `vendors`, `http`), and what a model can do (`catalog`).
Must not know: tasks, tools, the workspace, JSON-RPC. httpx is imported with the first request.
"""

from taskx.providers.service import Providers
from taskx.providers.stream import ChatFold, ChatStream

__all__ = ["ChatFold", "ChatStream", "Providers"]
