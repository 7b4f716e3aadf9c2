"""HTTP to model endpoints: pools, proxies, certificates, and faults translated where they enter.

Imports httpx, so it is itself imported late, by `service`. One keep-alive pool per origin, HTTP/1.1
only: a stream that is cancelled closes its connection at once, and nobody else's with it.
Proxies (`HTTPS_PROXY`, `NO_PROXY`, ...) and certificates (`SSL_CERT_FILE`, `SSL_CERT_DIR`) are read
from the environment by httpx.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import orjson

from taskx.errors import ProviderError
from taskx.providers import content, faults
from taskx.providers.endpoint import Endpoint

MAX_POOLS = 32
MAX_CONNECT_S = 30.0
KEEP_ALIVE_S = 60.0
MAX_KEPT_CONNECTIONS = 20
MAX_REDIRECTS = 3
MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_ERROR_BYTES = 64 * 1024
DRAIN_S = 0.5
DRAIN_BYTES = 64 * 1024

# Their debug lines show addresses and headers of requests.
for _name in ("httpx", "httpcore", "hpack"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class Http:
    """The pools of one event loop. `close()` before the loop ends."""

    def __init__(self) -> None:
        self._clients: OrderedDict[str, httpx.AsyncClient] = OrderedDict()
        self._tls: ssl.SSLContext | None = None
        self._drains: set[asyncio.Task[None]] = set()

    async def client(self, endpoint: Endpoint) -> httpx.AsyncClient:
        """The pool of the endpoint's origin. The least recently used one is dropped when idle."""
        found = self._clients.get(endpoint.origin)
        if found is None:
            tls = await self._certificates(endpoint)
            found = self._clients.get(endpoint.origin)
            if found is None:
                found = _new_client(endpoint, tls)
                self._clients[endpoint.origin] = found
        self._clients.move_to_end(endpoint.origin)
        if len(self._clients) > MAX_POOLS:
            _, oldest = self._clients.popitem(last=False)
            self._spawn(oldest.aclose())
        return found

    async def _certificates(self, endpoint: Endpoint) -> ssl.SSLContext:
        """Read once, in a thread: it takes tens of milliseconds."""
        if self._tls is None:
            try:
                self._tls = await asyncio.to_thread(httpx.create_ssl_context)
            except (OSError, ValueError) as error:
                raise faults.failure(
                    endpoint,
                    "invalidConfig",
                    "cannot be reached: the CA certificates of SSL_CERT_FILE or SSL_CERT_DIR "
                    f"cannot be read ({type(error).__name__})",
                ) from error
        return self._tls

    @asynccontextmanager
    async def open(
        self, endpoint: Endpoint, method: str, url: str, body: Any = None
    ) -> AsyncIterator[Answer]:
        """Sends a request and gives its answer once the headers are there.

        Leaving the block closes the connection, unless the answer was read to its end. Raises
        ProviderError on faults below HTTP; a status is the caller's to judge.
        """
        client = await self.client(endpoint)
        response = await _send(client, endpoint, method, url, body)
        answer = Answer(endpoint, response)
        try:
            yield answer
        finally:
            if answer.ended_early:
                self._spawn(answer.drain())
            else:
                await response.aclose()

    async def read(self, endpoint: Endpoint, method: str, url: str, body: Any = None) -> Any:
        """The JSON of an answer. Raises ProviderError on an error status and on what is no JSON."""
        async with self.open(endpoint, method, url, body) as answer:
            if answer.status >= 400:
                raise await answer.error()
            data = await answer.body(MAX_BODY_BYTES)
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise answer.not_the_api() from error

    def _spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._drains.add(task)
        task.add_done_callback(self._drains.discard)

    async def close(self) -> None:
        for task in list(self._drains):
            task.cancel()
        await asyncio.gather(*self._drains, return_exceptions=True)
        clients = list(self._clients.values())
        self._clients.clear()
        for client in clients:
            await client.aclose()


class Answer:
    """A response whose body is still to be read, decoded and bounded."""

    def __init__(self, endpoint: Endpoint, response: httpx.Response) -> None:
        self._endpoint = endpoint
        self._response = response
        self._raw: AsyncIterator[bytes] | None = None
        self.status = response.status_code
        self.error_text = ""
        """The body of a bad status, once `error()` has read it."""
        self.ended_early = False
        """Set by a reader that has all it needs: the rest is read to keep the connection."""

    @property
    def headers(self) -> Mapping[str, str]:
        return self._response.headers

    async def chunks(self, limit: int) -> AsyncGenerator[bytes, None]:
        """The decoded body as it arrives. Raises ProviderError."""
        raw = self._raw = self._response.aiter_raw()
        total = 0
        try:
            encoding = self.headers.get("content-encoding", "")
            decoder = content.decoder_of(encoding) if encoding else None
            async for data in raw:
                for piece in decoder.feed(data) if decoder else (data,):
                    total += len(piece)
                    if total > limit:
                        raise faults.failure(
                            self._endpoint, "protocol", f"sent more than {limit} bytes", self.status
                        )
                    yield piece
        except content.BadContent as error:
            raise faults.failure(
                self._endpoint, "protocol", "sent a body that cannot be decoded", self.status
            ) from error
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise translated(error, self._endpoint) from error

    async def body(self, limit: int) -> bytes:
        """The whole body. Raises ProviderError, also when it is longer."""
        return b"".join([piece async for piece in self.chunks(limit)])

    async def error(self) -> ProviderError:
        """The error that a bad status and its body say. Only the start of the body counts."""
        pieces = []
        size = 0
        try:
            async with aclosing(self.chunks(MAX_BODY_BYTES)) as chunks:
                async for piece in chunks:
                    pieces.append(piece[: MAX_ERROR_BYTES - size])
                    size += len(piece)
                    if size >= MAX_ERROR_BYTES:
                        break
        except ProviderError:
            pass  # the status alone still tells what went wrong
        body = b"".join(pieces)
        self.error_text = body.decode("utf-8", "replace")
        headers = {name.lower(): value for name, value in self.headers.items()}
        return faults.from_response(self._endpoint, self.status, headers, body)

    def not_the_api(self) -> ProviderError:
        return faults.failure(
            self._endpoint,
            "protocol",
            "answered with something that is not its API: check `baseUrl`",
            self.status,
        )

    async def drain(self) -> None:
        """Reads the few bytes after the end mark, so that the connection can be used again."""
        raw = self._raw
        try:
            async with asyncio.timeout(DRAIN_S):
                size = 0
                async for data in raw or ():  # type: ignore[union-attr]  # set when it ended early
                    size += len(data)
                    if size > DRAIN_BYTES:
                        break
        except (TimeoutError, httpx.HTTPError, httpx.StreamError):
            pass
        finally:
            await self._response.aclose()


def _new_client(endpoint: Endpoint, tls: ssl.SSLContext) -> httpx.AsyncClient:
    limits = httpx.Limits(
        max_connections=None,
        max_keepalive_connections=MAX_KEPT_CONNECTIONS,
        keepalive_expiry=KEEP_ALIVE_S,
    )
    try:
        return httpx.AsyncClient(verify=tls, limits=limits, follow_redirects=False, http2=False)
    except (ValueError, ImportError, httpx.InvalidURL) as error:
        # Its message may quote a proxy URL with its password.
        raise faults.failure(
            endpoint, "invalidConfig", "cannot be reached: the proxy of the environment is invalid"
        ) from error


async def _send(
    client: httpx.AsyncClient, endpoint: Endpoint, method: str, url: str, body: Any
) -> httpx.Response:
    """Sends, and follows redirects within the origin only: credentials go nowhere else."""
    headers = endpoint.headers()
    headers["accept-encoding"] = content.ACCEPTED
    data = None
    if body is not None:
        headers["content-type"] = "application/json"
        data = orjson.dumps(body)
    timeout = httpx.Timeout(endpoint.timeout_s, connect=min(endpoint.timeout_s, MAX_CONNECT_S))
    for _ in range(MAX_REDIRECTS + 1):
        try:
            request = client.build_request(
                method, url, headers=headers, content=data, timeout=timeout
            )
            response = await client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise translated(error, endpoint) from error
        except (UnicodeError, ValueError) as error:
            raise faults.failure(
                endpoint, "invalidConfig", "cannot be asked: the address is not valid"
            ) from error
        if not response.is_redirect:
            return response
        await response.aclose()
        url = _redirected(endpoint, response, method, url)
    raise faults.failure(endpoint, "protocol", "redirects in circles: check `baseUrl`")


def _redirected(endpoint: Endpoint, response: httpx.Response, method: str, url: str) -> str:
    target = urljoin(url, response.headers["location"])
    parts = urlsplit(target)
    same = f"{parts.scheme}://{parts.netloc}" == endpoint.origin
    if same and (method == "GET" or response.status_code in (307, 308)):
        return target
    raise faults.failure(
        endpoint,
        "invalidConfig",
        f"redirects to {parts.netloc or 'another address'}: set `baseUrl` to the final address",
        response.status_code,
    )


def translated(error: Exception, endpoint: Endpoint) -> ProviderError:
    """The ProviderError for an exception of httpx. Its own text is not passed on: only its kind."""
    match error:
        case httpx.TimeoutException():
            seconds = f"{endpoint.timeout_s:g} s"
            what = f"sent nothing for {seconds}"
            if isinstance(error, httpx.ConnectTimeout):
                what = "did not accept the connection in time"
            return faults.failure(endpoint, "timeout", what)
        case httpx.DecodingError() | httpx.TooManyRedirects():
            return faults.failure(endpoint, "protocol", "sent a body that cannot be decoded")
        case httpx.RemoteProtocolError():
            text = str(error)
            if "disconnected" in text or "closed connection" in text or "incomplete" in text:
                return faults.failure(
                    endpoint, "network", "closed the connection before the answer was complete"
                )
            return faults.failure(
                endpoint, "protocol", "does not speak HTTP there: check `baseUrl`"
            )
        case httpx.UnsupportedProtocol() | httpx.LocalProtocolError() | httpx.InvalidURL():
            return faults.failure(endpoint, "invalidConfig", "cannot be asked: check `baseUrl`")
        case httpx.ProxyError():
            return faults.failure(endpoint, "network", "cannot be reached: the proxy refused")
        case httpx.ConnectError():
            return faults.failure(endpoint, "network", _why_no_connection(error))
        case _:
            return faults.failure(endpoint, "network", "broke the connection")


def _why_no_connection(error: BaseException) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, socket.gaierror):
            return "cannot be found: the host name does not resolve"
        if isinstance(cause, ssl.SSLCertVerificationError):
            reason = cause.verify_message or "certificate not trusted"
            return f"has a certificate that is not trusted ({reason})"
        if isinstance(cause, ssl.SSLError):
            return "cannot be reached: TLS failed"
        if isinstance(cause, ConnectionRefusedError):
            return "refused the connection: is it running?"
        cause = cause.__cause__ or cause.__context__
    return "cannot be reached"
