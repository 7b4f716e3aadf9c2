"""`taskx chat`: talk to a model from a terminal, without a workspace and without tools."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from taskx import config as configuration
from taskx.errors import ProviderError
from taskx.fronts.terminal.output import fail, print_json

if TYPE_CHECKING:
    from taskx.protocol.chat import Message
    from taskx.protocol.providers import ProviderConfig
    from taskx.providers import Providers

EXAMPLE = """\
example: taskx chat --provider http://127.0.0.1:8080 "Tell me a joke"
         taskx chat --provider ollama --model qwen3
         taskx chat --provider anthropic --model claude-opus-4-6   (key in ANTHROPIC_API_KEY)
         taskx chat --provider work                                (a profile)"""

# Kind -> the environment variable its key is usually kept in.
KEY_VARIABLES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openaiCompatible": "OPENAI_API_KEY",
    "ollama": "OLLAMA_API_KEY",
}
NO_KEY = "none"
"""What a server on this machine gets, where the protocol asks for some key."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="?", metavar="PROMPT", help="one question; else a talk")
    add_provider(parser)
    parser.add_argument("--system", metavar="TEXT", help="what the model is told first")
    parser.add_argument("--max-tokens", type=int, default=4096, metavar="N", help="(4096)")
    parser.add_argument(
        "--thinking", choices=("off", "low", "medium", "high"), help="how much to reason first"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def add_provider(parser: ArgumentParser) -> None:
    """Which model to talk to."""
    parser.add_argument(
        "--provider",
        required=True,
        metavar="P",
        help="anthropic, openai, ollama, the URL of an OpenAI-compatible server, or a profile",
    )
    parser.add_argument("--model", metavar="M", help="default: the first the endpoint lists")
    parser.add_argument("--base-url", metavar="URL", help="another address than the vendor's own")
    parser.add_argument("--api-key-env", metavar="VAR", help="the variable that holds the key")
    parser.add_argument("--config", metavar="FILE", help="configuration file with profiles")


def run(arguments: Namespace) -> int:
    provider, model_given = provider_of(arguments)
    return asyncio.run(_chat(arguments, provider, model_given))


def provider_of(arguments: Namespace) -> tuple[ProviderConfig, bool]:
    """What the arguments name, and whether they name a model of it."""
    import msgspec

    from taskx.protocol.providers import ProviderConfig

    fields = settings(arguments)
    try:
        provider = msgspec.convert({"model": "default", **fields}, ProviderConfig)
    except msgspec.ValidationError as error:
        fail(str(error))
    return provider, "model" in fields


def settings(arguments: Namespace) -> dict[str, str]:
    """The fields of a `ProviderConfig` that the arguments, a profile and the environment give."""
    name = arguments.provider
    fields: dict[str, str] = {"kind": name}
    variable = arguments.api_key_env
    if "://" in name:
        fields = {"kind": "openaiCompatible", "baseUrl": name}
    elif name not in KEY_VARIABLES:
        fields, profile_variable = _profile(arguments, name)
        variable = variable or profile_variable
    if arguments.base_url:
        fields["baseUrl"] = arguments.base_url
    if arguments.model:
        fields["model"] = arguments.model
    key = arguments.environment.get(variable or KEY_VARIABLES[fields["kind"]])
    if variable and not key:
        fail(f"the environment variable {variable} is not set")
    if _is_local(fields.get("baseUrl", "")):
        # A key meant for a vendor is not sent to whatever listens here, unless asked to.
        key = key if variable else NO_KEY
    if fields["kind"] == "ollama" and not variable:
        key = None
    if key:
        fields["apiKey"] = key
    elif fields["kind"] != "ollama":
        fail(f"no key: set {KEY_VARIABLES[fields['kind']]}, or name a variable with --api-key-env")
    return fields


def _profile(arguments: Namespace, name: str) -> tuple[dict[str, str], str | None]:
    profiles = configuration.find(arguments.environment, arguments.config).profiles
    found = profiles.get(name)
    if found is None:
        known = ", ".join([*KEY_VARIABLES, *sorted(profiles)])
        fail(f"--provider {name}: no such kind, URL or profile (there are: {known})")
    fields = {"kind": found.kind, "model": found.model}
    if found.base_url is not None:
        fields["baseUrl"] = found.base_url
    return fields, found.api_key_env


def _is_local(url: str) -> bool:
    from urllib.parse import urlsplit

    from taskx.protocol.providers import is_loopback

    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False


async def _chat(arguments: Namespace, provider: ProviderConfig, model_given: bool) -> int:
    from taskx.providers import Providers

    providers = Providers()
    try:
        if not model_given:
            provider = await first_model(providers, provider)
        if arguments.prompt is not None or not sys.stdin.isatty():
            prompt = arguments.prompt if arguments.prompt is not None else sys.stdin.read()
            await _turn(providers, provider, arguments, [], prompt)
            return 0
        return await _talk(providers, provider, arguments)
    except ProviderError as error:
        print(f"taskx: {error.message}", file=sys.stderr)
        return 1
    finally:
        await providers.close()


async def first_model(providers: Providers, provider: ProviderConfig) -> ProviderConfig:
    import msgspec

    models = await providers.list_models(provider)
    if not models:
        fail("the endpoint lists no models: name one with --model")
    return msgspec.structs.replace(provider, model=models[0])


async def _talk(providers: Providers, provider: ProviderConfig, arguments: Namespace) -> int:
    """Question and answer until the end of input; an interrupted answer ends only itself."""
    print(f"{provider.model}. Ctrl-D ends.", file=sys.stderr)
    messages: list[Message] = []
    while True:
        try:
            prompt = await asyncio.to_thread(input, "> ")
        except EOFError:
            print()
            return 0
        if prompt.strip():
            messages = await _turn(providers, provider, arguments, messages, prompt)


async def _turn(
    providers: Providers,
    provider: ProviderConfig,
    arguments: Namespace,
    messages: list[Message],
    prompt: str,
) -> list[Message]:
    """One question and its streamed answer; returns the history with both."""
    from taskx.protocol.base import UNSET
    from taskx.protocol.chat import (
        ChatRequest,
        Message,
        TextDelta,
        TextPart,
        ThinkingDelta,
        WarningEvent,
    )

    if not prompt.strip():
        fail("nothing to ask: give a PROMPT, or text on standard input")
    messages = [*messages, Message(role="user", content=[TextPart(text=prompt)])]
    request = ChatRequest(
        messages=messages,
        system=arguments.system or UNSET,
        max_tokens=arguments.max_tokens,
        thinking=arguments.thinking or UNSET,
    )
    dim = ("\x1b[2m", "\x1b[0m") if sys.stderr.isatty() else ("", "")
    async with providers.stream(provider, request) as stream:
        async for event in stream:
            match event:
                case TextDelta() if not arguments.json:
                    print(event.text, end="", flush=True)
                case ThinkingDelta() if not arguments.json:
                    print(dim[0] + event.text + dim[1], end="", file=sys.stderr, flush=True)
                case WarningEvent():
                    print(f"taskx: {event.message}", file=sys.stderr)
                case _:
                    pass
    if arguments.json:
        print_json(stream.result())
    else:
        print(flush=True)
    answer = stream.fold.content()
    return [*messages, Message(role="assistant", content=answer)] if answer else messages
