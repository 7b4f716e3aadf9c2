"""`chat/send`: one model call, its events as notifications, its fold as the result."""

from __future__ import annotations

from taskx.fronts.runtime.dispatch import Context
from taskx.protocol.chat import ChatEventParams, ChatResult, ChatSendParams, ThinkingBlock


async def send(context: Context, params: ChatSendParams) -> ChatResult:
    assert context.request_id is not None
    async with context.app.providers.stream(params.provider, params.request) as stream:
        async for event in stream:
            # Finished reasoning goes with the result; its text was sent as deltas.
            if not isinstance(event, ThinkingBlock):
                sent = ChatEventParams(request_id=context.request_id, event=event)
                context.notify("chat/event", sent)
                await context.writable()
    return stream.result()
