"""HTTP to an API server over aiohttp. Distinguishes failures that certainly had no effect.

aiohttp retries PUT and DELETE when a kept-alive connection turns out to be closed. A write that is sent twice could
conflict with itself, so retries are disabled for everything but GET.
"""

import asyncio
import base64
import socket
import ssl
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from multidict import CIMultiDict
from yarl import URL

from kubekit.client.connection import Connection, NoConnection
from kubekit.client.errors import Ambiguous, ApiError, NotSent, from_response
from kubekit.client.transport import JSON, NO_QUERY, LineSplitter, Response, WriteGuard, always

TOKEN_REFRESH_SECONDS: Final = 60.0
"""How long a token from a file or plugin is used before it is read again."""
MAX_CONNECTIONS: Final = 1000
KEEP_ALIVE: Final = 30.0
"""Below the 75 s and 90 s after which servers close idle connections, which would break a request."""
CONNECT_TIMEOUT: Final = 30.0
MIN_ERROR_STATUS: Final = 300
READ_BUFFER: Final = 1 << 18
KEEP_ALIVE_PROBES: Final = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
_NEVER_CONNECTED: Final = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ServerFingerprintMismatch,
    aiohttp.ClientHttpProxyError,
)


class Credentials:
    """The Authorization header of a user."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._token = ""
        self._fresh_until = float("-inf")
        self._reading = asyncio.Lock()

    async def authorization(self) -> str:
        """The header value; empty for a user without a token or password."""
        connection = self._connection
        if connection.token_file is not None or connection.fresh_token is not None:
            async with self._reading:
                await self._refresh()
            return f"Bearer {self._token}"
        if connection.token:
            return f"Bearer {connection.token}"
        if connection.user_name:
            pair = f"{connection.user_name}:{connection.password}".encode()
            return f"Basic {base64.b64encode(pair).decode()}"
        return ""

    def distrust(self) -> None:
        """Read the token again for the next request, because the server rejected it."""
        self._fresh_until = float("-inf")

    async def _refresh(self) -> None:
        """Read the token again. If that fails, as while the file is replaced, keep the previous token."""
        now = asyncio.get_running_loop().time()
        if now < self._fresh_until:
            return
        connection = self._connection
        try:
            if connection.fresh_token is not None:
                self._token = await asyncio.to_thread(connection.fresh_token)
            elif connection.token_file is not None:
                self._token = _read(connection.token_file)
        except Exception as error:
            if not self._token:
                raise NoConnection(f"cannot get a token: {error}") from error
        self._fresh_until = now + TOKEN_REFRESH_SECONDS


def _read(path: Path) -> str:
    token = path.read_text().strip()
    if not token:
        raise ValueError(f"{path} is empty")
    return token


def tls_context(connection: Connection) -> ssl.SSLContext:
    """A TLS context with the connection's CA, or the system's if it has none, and its client certificate."""
    try:
        authority = connection.authority.decode("ascii") if connection.authority else None
        context = ssl.create_default_context(cadata=authority)
        if connection.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if connection.certificate and connection.key:
            _load_certificate(context, connection.certificate, connection.key)
    except (ssl.SSLError, ValueError, OSError) as error:
        raise NoConnection(f"{connection.server}: cannot use the certificates: {error}") from error
    return context


def _load_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """The ssl module reads certificates only from files; this one is private and deleted at once."""
    with tempfile.NamedTemporaryFile(prefix="jangar-") as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)


class _ConnectionBroken(aiohttp.ClientError):
    """A connection broke during a request; aiohttp does not retry after this error."""


class _GuardedBody(aiohttp.BytesPayload):
    """A body that checks `may_leave` when the connection is open; aiohttp sends the headers together with it."""

    def __init__(self, body: bytes, content_type: str, may_leave: WriteGuard) -> None:
        super().__init__(body, content_type=content_type)
        self._may_leave = may_leave
        self.was_prevented = False

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        self.was_prevented = not self._may_leave()
        if self.was_prevented:
            raise _ConnectionBroken("write prevented")
        await super().write_with_length(writer, content_length)


class HttpTransport:
    """One HTTP session, opened by the first request. Can be created before the loop runs."""

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
        timeout: float,  # noqa: ASYNC109 - aiohttp reports which phase timed out
        may_leave: WriteGuard = always,
    ) -> Response:
        # Half the time for connecting: a timeout while connecting is then never mistaken for one while waiting.
        limits = aiohttp.ClientTimeout(total=timeout, connect=timeout / 2)
        headers = {} if body is None else {"Content-Type": content_type}
        guarded = None if body is None else _GuardedBody(body, content_type, may_leave)
        try:
            sending = self._send(method, path, query, headers, guarded, limits)
            async with await sending as response:
                return Response(response.status, _lower(response.headers), await response.read())
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            if guarded is not None and guarded.was_prevented:
                raise NotSent(f"{method} {path}: write prevented") from error
            raise _translate_error(error, f"{method} {path}") from error

    @asynccontextmanager
    async def stream(
        self, path: str, *, query: Mapping[str, str], idle_timeout: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        limits = aiohttp.ClientTimeout(total=None, connect=CONNECT_TIMEOUT, sock_read=idle_timeout)
        what = f"GET {path}"
        try:
            async with asyncio.timeout(min(CONNECT_TIMEOUT * 2, idle_timeout)):
                response = await self._send("GET", path, query, {"Accept-Encoding": "identity"}, None, limits)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _translate_error(error, what) from error
        try:
            if response.status >= MIN_ERROR_STATUS:
                raise from_response(
                    response.status, _lower(response.headers), await _read_body(response, what)
                )
            async with aclosing(_lines(response, what)) as lines:
                yield lines
        finally:
            _abandon(response)

    async def close(self) -> None:
        self._is_closed = True
        if self._session is not None:
            await self._session.close()

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers: dict[str, str],
        body: _GuardedBody | None,
        limits: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        if self._is_closed:
            raise NotSent(f"{method} {path}: the client is closed")
        try:
            authorization = await self._credentials.authorization()
        except NoConnection as error:
            raise NotSent(f"{method} {path}: {error}") from error
        if authorization:
            headers["Authorization"] = authorization
        if self._session is None:
            self._session = self._open()
        response = await self._session.request(
            method,
            self._url(path, query),
            headers=headers,
            data=body,
            timeout=limits,
            allow_redirects=False,
            proxy=self._connection.proxy,
            server_hostname=self._connection.server_name,
        )
        if response.status == HTTPStatus.UNAUTHORIZED:
            self._credentials.distrust()
        return response

    def _url(self, path: str, query: Mapping[str, str]) -> URL:
        text = f"{self._base}{path}"
        return URL(f"{text}?{urlencode(query, quote_via=quote)}" if query else text, encoded=True)

    def _default_headers(self) -> CIMultiDict[str]:
        impersonated = self._connection.impersonate
        headers = [("User-Agent", self._user_agent), ("Accept", JSON)]
        return CIMultiDict([*headers, *(impersonated.headers() if impersonated is not None else ())])

    def _open(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=MAX_CONNECTIONS,
            ssl=self._tls,
            keepalive_timeout=KEEP_ALIVE,
            socket_factory=_probed_socket,
        )
        return aiohttp.ClientSession(
            connector=connector,
            headers=self._default_headers(),
            cookie_jar=aiohttp.DummyCookieJar(),
            middlewares=(_prevent_retry,),
            read_bufsize=READ_BUFFER,
        )


async def _prevent_retry(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    try:
        return await handler(request)
    except _NEVER_CONNECTED:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        if request.method == "GET":
            raise
        raise _ConnectionBroken(str(error)) from error


async def _lines(response: aiohttp.ClientResponse, what: str) -> AsyncGenerator[bytes]:
    splitter = LineSplitter()
    try:
        async for chunk in response.content.iter_any():
            for line in splitter.feed(chunk):
                yield line
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise _translate_error(error, what) from error


def _abandon(response: aiohttp.ClientResponse) -> None:
    """Close at once, without the TLS shutdown handshake, which would outlive the caller."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()


async def _read_body(response: aiohttp.ClientResponse, what: str) -> bytes:
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT):
            return await response.read()
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise _translate_error(error, what) from error


def _translate_error(error: Exception, what: str) -> ApiError:
    """NotSent if the request certainly had no effect, otherwise Ambiguous."""
    reason = str(error) or type(error).__name__
    if isinstance(error, _NEVER_CONNECTED):
        return NotSent(f"{what}: {reason}")
    if isinstance(error, TimeoutError):
        return Ambiguous(f"{what}: no response in time")
    return Ambiguous(f"{what}: the connection broke: {reason}")


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _probed_socket(address: Any) -> socket.socket:
    """A socket with TCP keep-alive probes, which detect a peer that disappeared."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family=family, type=kind, proto=protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEP_ALIVE_PROBES.items():
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made
