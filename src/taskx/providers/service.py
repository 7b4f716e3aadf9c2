"""`Providers`: what the rest of the runtime asks of model endpoints.

One per process, held by the app. Imported without httpx, which comes with the first request, in a
thread, so that the loop goes on answering.
Source: protocol v1, "provider/*" and "Context compression".
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from taskx.errors import ProviderError
from taskx.protocol.chat import ChatRequest, Message, TextPart
from taskx.protocol.providers import (
    ModelInfo,
    ProviderCapabilities,
    ProviderConfig,
    ProviderTestResult,
)
from taskx.providers import anthropic, catalog, faults, ollama, openai
from taskx.providers.endpoint import Endpoint
from taskx.providers.kinds import CAPABILITIES_OF
from taskx.providers.stream import ChatStream

if TYPE_CHECKING:
    from taskx.providers.http import Http

WINDOW_TTL_S = 300.0
MAX_SHOWN_MODELS = 100
SHOW_AT_ONCE = 8
MAX_PAGES = 5
PAGE_SIZE = 1000
_NO_LISTING = frozenset({404, 405, 501})


class Providers:
    """clock: seconds, for the cache of context windows."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._http: Http | None = None
        self._loading: asyncio.Task[Http] | None = None
        self._learned: dict[tuple[str, str], frozenset[str]] = {}
        self._windows: dict[str, tuple[float, dict[str, int]]] = {}

    def stream(self, config: ProviderConfig, request: ChatRequest) -> ChatStream:
        """A streamed model call; see `taskx.providers`. Nothing is sent yet."""
        return ChatStream(self._pools, Endpoint.of(config), request, self._learned)

    async def list_models(self, config: ProviderConfig) -> list[str]:
        """Model ids, sorted, at most 500. Raises ProviderError."""
        rows = await self._rows(Endpoint.of(config))
        return sorted(rows)[: catalog.MAX_MODELS]

    async def models(self, config: ProviderConfig) -> list[ModelInfo]:
        """What the endpoint's models can do, sorted by id, at most 500. Raises ProviderError."""
        endpoint = Endpoint.of(config)
        rows = await self._rows(endpoint)
        names = sorted(rows)[: catalog.MAX_MODELS]
        if endpoint.kind == "anthropic":
            return [catalog.anthropic_model(rows[name]) for name in names]
        if endpoint.kind == "ollama":
            return await self._ollama_models(endpoint, names, rows)
        official = endpoint.kind == "openai" and endpoint.vendor.name == "OpenAI"
        return [catalog.openai_model(rows[name], endpoint.kind, official) for name in names]

    async def context_window(self, config: ProviderConfig) -> int:
        """The window of the configured model: as the endpoint says, else the estimate.

        Never raises ProviderError: an endpoint that fails says nothing. Answers are kept for five
        minutes, for this and for context compression alike.
        """
        endpoint = Endpoint.of(config)
        windows = await self._known_windows(endpoint)
        found = windows.get(endpoint.model)
        return found if found else catalog.estimated_window(endpoint.kind, endpoint.model)

    async def test(self, config: ProviderConfig) -> ProviderTestResult:
        """Whether address, key and model work, and how fast the endpoint answers."""
        endpoint = Endpoint.of(config)
        started = time.perf_counter()
        try:
            rows = await self._rows(endpoint)
        except ProviderError as error:
            if endpoint.kind != "openaiCompatible" or error.status not in _NO_LISTING:
                raise
            return await self._test_by_chat(config)
        latency_ms = round((time.perf_counter() - started) * 1000)
        capabilities = CAPABILITIES_OF[endpoint.kind]
        name = _available(endpoint, rows)
        if endpoint.kind == "ollama":
            shown = await self._show(endpoint, name or endpoint.model) if name else {}
            info = catalog.ollama_model(endpoint.model, {}, shown)
            capabilities = _narrowed(capabilities, info, known=bool(shown))
        elif name is not None:
            info = self._info(endpoint, rows[name])
            capabilities = _narrowed(capabilities, info, known=bool(info.capabilities))
        return ProviderTestResult(
            latency_ms=latency_ms,
            models=sorted(rows)[: catalog.MAX_MODELS],
            model_available=name is not None,
            capabilities=capabilities,
        )

    async def close(self) -> None:
        if self._loading is not None and not self._loading.done():
            self._loading.cancel()
            await asyncio.gather(self._loading, return_exceptions=True)
        if self._http is not None:
            await self._http.close()

    async def _pools(self) -> Http:
        if self._http is None:
            if self._loading is None:
                self._loading = asyncio.create_task(_load())
            self._http = await asyncio.shield(self._loading)
        return self._http

    async def _get(self, endpoint: Endpoint, path: str, query: str = "") -> Any:
        http = await self._pools()
        return await http.read(endpoint, "GET", endpoint.url(path, query))

    async def _rows(self, endpoint: Endpoint) -> dict[str, dict[str, Any]]:
        """The endpoint's models by id, as it describes them. Raises ProviderError."""
        match endpoint.kind:
            case "anthropic":
                return await self._anthropic_rows(endpoint)
            case "ollama":
                listing = await self._get(endpoint, ollama.MODELS_PATH)
                return _rows_of(endpoint, listing, ("models",), ("name", "model"))
            case _:
                listing = await self._get(endpoint, openai.MODELS_PATH)
                return _rows_of(endpoint, listing, ("data", "models"), ("id", "name"))

    async def _anthropic_rows(self, endpoint: Endpoint) -> dict[str, dict[str, Any]]:
        rows: dict[str, dict[str, Any]] = {}
        query = {"limit": str(PAGE_SIZE)}
        for _ in range(MAX_PAGES):
            page = await self._get(endpoint, anthropic.MODELS_PATH, urlencode(query))
            found = _rows_of(endpoint, page, ("data",), ("id",))
            rows.update(found)
            last = page.get("last_id") if isinstance(page, dict) else None
            if not found or page.get("has_more") is not True or not isinstance(last, str):
                break
            query["after_id"] = last
        return rows

    async def _ollama_models(
        self, endpoint: Endpoint, names: list[str], rows: dict[str, dict[str, Any]]
    ) -> list[ModelInfo]:
        gate = asyncio.Semaphore(SHOW_AT_ONCE)

        async def show(name: str) -> dict[str, Any]:
            async with gate:
                try:
                    return await self._show(endpoint, name)
                except ProviderError:
                    return {}  # the listing still holds what it knows

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(show(name)) for name in names[:MAX_SHOWN_MODELS]]
        shown = [task.result() for task in tasks] + [{}] * (len(names) - len(tasks))
        return [
            catalog.ollama_model(name, rows[name], info)
            for name, info in zip(names, shown, strict=True)
        ]

    async def _show(self, endpoint: Endpoint, name: str) -> dict[str, Any]:
        http = await self._pools()
        url = endpoint.url(ollama.SHOW_PATH)
        shown = await http.read(endpoint, "POST", url, {"model": name})
        return shown if isinstance(shown, dict) else {}

    async def _known_windows(self, endpoint: Endpoint) -> dict[str, int]:
        """Reported windows of the endpoint by model, at most five minutes old."""
        who = hashlib.sha256((endpoint.secret or "").encode()).hexdigest()
        scope = f"/{endpoint.model}" if endpoint.kind == "ollama" else ""
        key = f"{endpoint.kind} {endpoint.url('')} {who}{scope}"
        kept = self._windows.get(key)
        if kept is not None and self._clock() - kept[0] < WINDOW_TTL_S:
            return kept[1]
        try:
            windows = await self._ask_windows(endpoint)
        except ProviderError:
            windows = {}
        self._windows[key] = (self._clock(), windows)
        return windows

    async def _ask_windows(self, endpoint: Endpoint) -> dict[str, int]:
        if endpoint.kind == "ollama":
            window = catalog.ollama_window(await self._show(endpoint, endpoint.model))
            return {endpoint.model: window} if window is not None else {}
        rows = await self._rows(endpoint)
        windows = {}
        for name, row in rows.items():
            reported = (
                catalog.window_of(row.get("max_input_tokens"))
                if endpoint.kind == "anthropic"
                else catalog.compatible_window(row)
            )
            if reported is not None:
                windows[name] = reported
        if endpoint.kind == "anthropic" and endpoint.model not in rows:
            # An alias is not listed, but it can be asked for by name.
            path = f"{anthropic.MODELS_PATH}/{quote(endpoint.model, safe='')}"
            row = await self._get(endpoint, path)
            window = (
                catalog.window_of(row.get("max_input_tokens")) if isinstance(row, dict) else None
            )
            if window is not None:
                windows[endpoint.model] = window
        return windows

    async def _test_by_chat(self, config: ProviderConfig) -> ProviderTestResult:
        message = Message(role="user", content=[TextPart(text="Hi")])
        started = time.perf_counter()
        async with self.stream(config, ChatRequest(messages=[message], max_tokens=1)) as stream:
            async for _ in stream:
                pass
        return ProviderTestResult(
            latency_ms=round((time.perf_counter() - started) * 1000),
            models=[],
            model_available=None,
            capabilities=CAPABILITIES_OF[config.kind],
        )

    def _info(self, endpoint: Endpoint, row: dict[str, Any]) -> ModelInfo:
        if endpoint.kind == "anthropic":
            return catalog.anthropic_model(row)
        official = endpoint.kind == "openai" and endpoint.vendor.name == "OpenAI"
        return catalog.openai_model(row, endpoint.kind, official)


async def _load() -> Http:
    """Imports httpx in a thread: on the loop it would hold every other request for 100 ms."""

    def load() -> type[Http]:
        from taskx.providers.http import Http

        return Http

    return (await asyncio.to_thread(load))()


def _rows_of(
    endpoint: Endpoint, listing: Any, members: tuple[str, ...], names: tuple[str, ...]
) -> dict[str, dict[str, Any]]:
    """Rows by id; rows without one are dropped. Some endpoints answer a bare array."""
    rows = listing
    if isinstance(listing, dict):
        rows = next(
            (listing[name] for name in members if isinstance(listing.get(name), list)), None
        )
        if rows is None and listing.get("error"):
            raise faults.from_payload(endpoint, listing, status=200)
        if rows is None and any(listing.get(name, 0) is None for name in members):
            rows = []
    if not isinstance(rows, list):
        raise faults.failure(
            endpoint, "protocol", "answered with something that is no list of models", 200
        )
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        if not isinstance(row, dict):
            continue
        name = next((row[key] for key in names if isinstance(row.get(key), str) and row[key]), None)
        if name is not None:
            found[name] = {**row, "id": name}
    return found


def _available(endpoint: Endpoint, rows: dict[str, Any]) -> str | None:
    """The listed name of the configured model. Ollama reads a name without a tag as `latest`."""
    if endpoint.model in rows:
        return endpoint.model
    tagged = f"{endpoint.model}:latest"
    if endpoint.kind == "ollama" and tagged in rows:
        return tagged
    # Google lists `models/NAME`.
    prefixed = f"models/{endpoint.model}"
    return prefixed if prefixed in rows else None


def _narrowed(
    capabilities: ProviderCapabilities, info: ModelInfo, known: bool
) -> ProviderCapabilities:
    """The kind's capabilities without what the model is known to lack."""
    if not known:
        return capabilities
    return ProviderCapabilities(
        streaming=capabilities.streaming,
        tools="tools" in info.capabilities,
        vision="vision" in info.capabilities,
        thinking="thinking" in info.capabilities,
        list_models=capabilities.list_models,
        prompt_cache=capabilities.prompt_cache,
    )
