"""HTTP to an API server over aiohttp. Knows which failures are certain to have done nothing.

aiohttp sends PUT and DELETE again by itself when a kept connection turns out to be closed. A write sent twice could
meet its own first coming as a conflict, so that is switched off for everything but GET.
"""

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, urlencode

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from multidict import CIMultiDict
from yarl import URL

from kubekit.client.connection import Connection, NoConnection
from kubekit.client.credentials import Credentials, tls_context
from kubekit.client.errors import Ambiguous, ApiError, NotSent, from_answer
from kubekit.client.line_splitting import LineSplitter
from kubekit.client.transport import JSON, NO_QUERY, MayLeave, Response, always

CONNECTIONS: Final = 1000
KEEP_ALIVE: Final = 30.0
"""Below the 75 s and 90 s after which servers close: a kept connection is seldom closed under a request."""
OPENING: Final = 30.0
FIRST_FAILURE: Final = 300
READ_BUFFER: Final = 1 << 18
KEEP_ALIVE_PROBES: Final = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}

_NEVER_CONNECTED: Final = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ServerFingerprintMismatch,
    aiohttp.ClientHttpProxyError,
)


class _Lost(aiohttp.ClientError):
    """A connection that broke under a request, in a form that aiohttp does not answer by sending again."""


class _GuardedBody(aiohttp.BytesPayload):
    """A body that is asked for when the connection is there; the head of the request leaves with it, or not at all."""

    def __init__(self, body: bytes, content_type: str, may_leave: MayLeave) -> None:
        super().__init__(body, content_type=content_type)
        self._may_leave = may_leave
        self.was_held_back = False

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        self.was_held_back = not self._may_leave()
        if self.was_held_back:
            raise _Lost("held back")
        await super().write_with_length(writer, content_length)


class HttpTransport:
    """One session. Made before the loop runs or within it; opened by the first request."""

    def __init__(self, connection: Connection, *, user_agent: str = "jangar") -> None:
        self._connection = connection
        self._base = connection.server.rstrip("/")
        self._credentials = Credentials(connection)
        self._tls = tls_context(connection) if self._base.startswith("https:") else False
        self._user_agent = user_agent
        self._session: aiohttp.ClientSession | None = None
        self._is_closed = False

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = NO_QUERY,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float,  # noqa: ASYNC109 - aiohttp tells apart which part of the way took too long
        may_leave: MayLeave = always,
    ) -> Response:
        # Half the time for the connection: so a timeout while connecting is never taken for one while waiting.
        limits = aiohttp.ClientTimeout(total=timeout, connect=timeout / 2)
        headers = {} if body is None else {"Content-Type": content_type}
        guarded = None if body is None else _GuardedBody(body, content_type, may_leave)
        try:
            asking = self._ask(method, path, query, headers, guarded, limits)
            async with await asking as answer:
                return Response(answer.status, _lower(answer.headers), await answer.read())
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            if guarded is not None and guarded.was_held_back:
                raise NotSent(f"{method} {path}: held back") from error
            raise _translated(error, f"{method} {path}") from error

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        limits = aiohttp.ClientTimeout(total=None, connect=OPENING, sock_read=idle_timeout)
        what = f"GET {path}"
        try:
            async with asyncio.timeout(min(OPENING * 2, idle_timeout)):
                answer = await self._ask("GET", path, query, {"Accept-Encoding": "identity"}, None, limits)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _translated(error, what) from error
        try:
            if answer.status >= FIRST_FAILURE:
                raise from_answer(answer.status, _lower(answer.headers), await _whole(answer, what))
            async with aclosing(_lines(answer, what)) as lines:
                yield lines
        finally:
            _abandon(answer)

    async def close(self) -> None:
        self._is_closed = True
        if self._session is not None:
            await self._session.close()

    async def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers: dict[str, str],
        body: _GuardedBody | None,
        limits: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        if self._is_closed:
            raise NotSent(f"{method} {path}: the connection was closed on this side")
        try:
            authorization = await self._credentials.authorization()
        except NoConnection as error:
            raise NotSent(f"{method} {path}: {error}") from error
        if authorization:
            headers["Authorization"] = authorization
        if self._session is None:
            self._session = self._open()
        answer = await self._session.request(
            method,
            self._url(path, query),
            headers=headers,
            data=body,
            timeout=limits,
            allow_redirects=False,
            proxy=self._connection.proxy,
            server_hostname=self._connection.server_name,
        )
        if answer.status == HTTPStatus.UNAUTHORIZED:
            self._credentials.distrust()
        return answer

    def _url(self, path: str, query: Mapping[str, str]) -> URL:
        text = f"{self._base}{path}"
        return URL(f"{text}?{urlencode(query, quote_via=quote)}" if query else text, encoded=True)

    def _standing_headers(self) -> CIMultiDict[str]:
        someone = self._connection.impersonate
        told = [("User-Agent", self._user_agent), ("Accept", JSON)]
        return CIMultiDict([*told, *(someone.headers() if someone is not None else ())])

    def _open(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=CONNECTIONS,
            ssl=self._tls,
            keepalive_timeout=KEEP_ALIVE,
            socket_factory=_probed_socket,
        )
        return aiohttp.ClientSession(
            connector=connector,
            headers=self._standing_headers(),
            cookie_jar=aiohttp.DummyCookieJar(),
            middlewares=(_once,),
            read_bufsize=READ_BUFFER,
        )


async def _once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    try:
        return await handler(request)
    except _NEVER_CONNECTED:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        if request.method == "GET":
            raise
        raise _Lost(str(error)) from error


async def _lines(answer: aiohttp.ClientResponse, what: str) -> AsyncGenerator[bytes]:
    splitter = LineSplitter()
    try:
        async for chunk in answer.content.iter_any():
            for line in splitter.feed(chunk):
                yield line
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise _translated(error, what) from error


def _abandon(answer: aiohttp.ClientResponse) -> None:
    """End at once: a farewell over TLS would outlive the one who leaves."""
    connection = answer.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    answer.close()


async def _whole(answer: aiohttp.ClientResponse, what: str) -> bytes:
    try:
        async with asyncio.timeout(OPENING):
            return await answer.read()
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise _translated(error, what) from error


def _translated(error: Exception, what: str) -> ApiError:
    """NotSent only where it is certain; everything else may have been done."""
    said = str(error) or type(error).__name__
    if isinstance(error, _NEVER_CONNECTED):
        return NotSent(f"{what}: {said}")
    if isinstance(error, TimeoutError):
        return Ambiguous(f"{what}: no answer in time")
    return Ambiguous(f"{what}: the connection broke: {said}")


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _probed_socket(address: Any) -> socket.socket:
    """A socket on which the kernel notices a peer that vanished without a word."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family=family, type=kind, proto=protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEP_ALIVE_PROBES.items():
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made
