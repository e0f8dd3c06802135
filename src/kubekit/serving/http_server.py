"""An HTTP server: uvicorn with limits on connections, header sizes and the time that a client may take."""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import uvicorn
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from kubekit.serving.connection_limits import ConnectionLimits, Phase, evicted, is_overdue
from kubekit.serving.peer_owner import PEER_UID, Address, peer_uid

CHUNK_OVERHEAD: Final = 32
"""Maximum overhead of a chunk of a body in bytes."""
log = logging.getLogger("jangar.http")
ACCEPTED_AT_ONCE: Final = 32
PAUSE_SECONDS: Final = 0.1
"""Pause of accepting connections if there are no descriptors or all connections are busy."""
SWEEP_TICKS: Final = 10
"""Ticks of uvicorn between two sweeps; there are ten ticks per second."""
GRACEFUL_SECONDS: Final = 1
KEEP_ALIVE_SECONDS: Final = 75


class BoundedProtocol(HttpToolsProtocol):
    """A connection with limits. `HttpServer` creates it, and ends it if it exceeds a timeout."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.phase, self.since = Phase.HANDSHAKE, self.loop.time()
        self.stalled_since: float | None = None
        self.limits = ConnectionLimits.of_process()
        self.socket: socket.socket | None = None
        self.on_lost: Callable[[BoundedProtocol], None] = lambda _: None
        self._peer: int | None = None
        self._is_peer_known = False
        self._unparsed = 0
        """Bytes received for the current message except its body. The parser concatenates the pieces of a header,
        which takes quadratic time."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._enter(Phase.NEW)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.on_lost(self)

    def data_received(self, data: bytes) -> None:
        if self.phase is Phase.CLOSING:
            return
        if self.phase in {Phase.NEW, Phase.KEEP_ALIVE}:
            self._enter(Phase.HEADERS)
            self._unparsed = 0
        self._unparsed += len(data)
        super().data_received(data)
        if self._unparsed > self.limits.header_bytes and not self.transport.is_closing():
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {PEER_UID: {"read": self._peer_uid}}
        if self.phase is not Phase.HEADERS:
            self._unparsed = 0

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self.phase = Phase.BODY

    def on_body(self, body: bytes) -> None:
        self._unparsed -= len(body) + CHUNK_OVERHEAD
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._unparsed = 0
        is_answered = self.cycle.response_complete and not self.pipeline
        self._enter(Phase.KEEP_ALIVE if is_answered else Phase.ANSWERING)

    def on_response_complete(self) -> None:
        has_next = bool(self.pipeline)
        super().on_response_complete()
        if self.phase is Phase.ANSWERING and not has_next:
            self._enter(Phase.KEEP_ALIVE)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.stalled_since = self.loop.time()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.stalled_since = None

    def expire(self) -> None:
        """End a connection that exceeded a timeout, with status 408 if a request is incomplete."""
        if self.phase in {Phase.HEADERS, Phase.BODY} and self.stalled_since is None:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.abort()

    def abort(self) -> None:
        """End the connection at once, in any phase."""
        if self.phase is not Phase.HANDSHAKE:
            self.transport.abort()
        elif self.socket is not None:
            # The event loop owns the descriptor during the handshake. Shutting down the socket ends it.
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)

    def _peer_uid(self) -> int | None:
        """The user id of the peer process, looked up once per connection."""
        if not self._is_peer_known:
            self._peer, self._is_peer_known = peer_uid(self.client, _address(self.server)), True
        return self._peer

    def _enter(self, phase: Phase) -> None:
        self.phase, self.since = phase, self.loop.time()

    def _refuse(self, status: HTTPStatus) -> None:
        is_answering = (
            self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        )
        self._enter(Phase.CLOSING)
        if is_answering or self.transport.is_closing():
            self.transport.abort()
            return
        text = f"{status.phrase}\n".encode()
        head = f"HTTP/1.1 {status} {status.phrase}\r\ncontent-type: text/plain; charset=utf-8\r\n"
        self.transport.write(
            f"{head}content-length: {len(text)}\r\nconnection: close\r\n\r\n".encode() + text
        )
        self.transport.close()

    def _unsupported_upgrade_warning(self) -> None:
        """Don't log it: clients try to upgrade before they fall back, and the response suffices."""


def _address(server: tuple[str, int | None] | None) -> Address | None:
    return None if server is None or server[1] is None else (server[0], server[1])


class Acceptor:
    """Accepts connections from a listening socket up to the limit."""

    def __init__(self, server: "HttpServer", listener: socket.socket) -> None:
        self._server = server
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._known: set[BoundedProtocol] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._pause: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._has_warned = False
        listener.setblocking(False)
        self._loop.add_reader(listener.fileno(), self._accept)

    def close(self) -> None:
        """Stop accepting connections, and abort handshakes in progress."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._pause is not None:
            self._pause.cancel()
        else:
            self._loop.remove_reader(self._listener.fileno())
        for protocol in tuple(self._known):
            if protocol.phase is Phase.HANDSHAKE:
                protocol.abort()

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def sweep(self) -> None:
        """Disconnect the clients that exceeded a timeout."""
        now = self._loop.time()
        for protocol in tuple(self._known):
            if is_overdue(protocol, now):
                protocol.expire()

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            limit = self._server.limits.connections
            if len(self._known) >= limit and not self._make_room(limit):
                self._wait("all connections are busy")
                return
            try:
                accepted, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._make_room(limit)
                self._wait(str(error))
                return
            accepted.setblocking(False)
            self._connect(accepted)
        self._has_warned = False

    def _make_room(self, limit: int) -> bool:
        chosen = evicted(self._known, limit)
        for protocol in chosen:
            # Not counted from now on; the event loop closes it in this iteration.
            self._known.discard(protocol)
            protocol.abort()
        return bool(chosen)

    def _wait(self, reason: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            log.warning("accepting connections paused", extra={"reason": reason, "open": len(self._known)})
        self._loop.remove_reader(self._listener.fileno())
        self._pause = self._loop.call_later(PAUSE_SECONDS, self._resume)

    def _resume(self) -> None:
        self._pause = None
        if not self._is_closed:
            self._loop.add_reader(self._listener.fileno(), self._accept)

    def _connect(self, accepted: socket.socket) -> None:
        protocol = self._server.new_protocol()
        protocol.socket = accepted
        protocol.on_lost = self._known.discard
        self._known.add(protocol)
        task = self._loop.create_task(self._connected(protocol, accepted))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connected(self, protocol: BoundedProtocol, accepted: socket.socket) -> None:
        context = self._server.config.ssl
        arguments: dict[str, Any] = {}
        if context is not None:
            arguments = {"ssl": context, "ssl_handshake_timeout": Phase.HANDSHAKE.seconds}
        try:
            await self._loop.connect_accepted_socket(lambda: protocol, accepted, **arguments)
        except (OSError, ssl.SSLError, TimeoutError) as error:
            # The client doesn't use TLS, or disconnected during the handshake.
            log.debug("handshake failed", extra={"reason": str(error)})
            self._known.discard(protocol)
            with suppress(OSError):
                accepted.close()


class HttpServer(uvicorn.Server):
    """uvicorn with its own acceptor. Doesn't handle signals."""

    def __init__(self, config: uvicorn.Config, limits: ConnectionLimits) -> None:
        super().__init__(config)
        self.limits = limits
        self._acceptors: list[Acceptor] = []

    def new_protocol(self) -> BoundedProtocol:
        make: Any = self.config.http_protocol_class
        protocol = make(self.config, self.server_state, {})
        assert isinstance(protocol, BoundedProtocol)  # noqa: S101 - the configuration names one
        protocol.limits = self.limits
        return protocol

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._acceptors = [Acceptor(self, item) for item in sockets or ()]
        self.servers = self._acceptors  # type: ignore[assignment] # uvicorn calls only close and wait_closed
        self.started = True

    async def on_tick(self, counter: int) -> bool:
        if counter % SWEEP_TICKS == 0:
            for acceptor in self._acceptors:
                acceptor.sweep()
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def http_server(
    app: Any,
    *,
    protocol: type[BoundedProtocol] = BoundedProtocol,
    certificate: Path | None = None,
    key: Path | None = None,
    limits: ConnectionLimits | None = None,
) -> HttpServer:
    """A server for `serve(sockets=[...])`. With a certificate, it accepts only TLS."""
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        proxy_headers=False,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        timeout_graceful_shutdown=GRACEFUL_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        ssl_certfile=str(certificate) if certificate else None,
        ssl_keyfile=str(key) if key else None,
    )
    return HttpServer(config, limits or ConnectionLimits.of_process())


@asynccontextmanager
async def served(app: Any, listener: socket.socket) -> AsyncIterator[None]:
    """Serve plain HTTP while the block runs."""
    server = http_server(app)
    answering = asyncio.create_task(server.serve(sockets=[listener]), name="http")
    try:
        yield
    finally:
        server.should_exit = True
        await asyncio.gather(answering, return_exceptions=True)
