"""One HTTP connection: uvicorn's protocol with bounds on the bytes of headers and on the time a client may take."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from kubekit.serving.connection_limits import ConnectionLimits, Phase
from kubekit.serving.peer_owner import PEER_UID, Address, peer_uid

CHUNK_OVERHEAD: Final = 32
"""Bytes that a chunk of a body may need beside its content."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection of a port with limits; `HttpServer` makes it and ends it when it takes too long."""

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
        """Bytes received for the current message beside its body. The parser joins the pieces of one header into an
        ever longer one, which takes quadratic time."""

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
        """End a connection whose client took too long; one that sent half a request is told so."""
        if self.phase in {Phase.HEADERS, Phase.BODY} and self.stalled_since is None:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.abort()

    def abort(self) -> None:
        """End the connection at once, in whatever phase."""
        if self.phase is not Phase.HANDSHAKE:
            self.transport.abort()
        elif self.socket is not None:
            # The event loop owns the descriptor until the handshake ends: the end of the stream ends that.
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_RDWR)

    def _peer_uid(self) -> int | None:
        """Of the process at the other end, looked up once for a connection."""
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
        """Clients ask for a stream before they fall back to others; the answer tells them enough."""


def _address(found: tuple[str, int | None] | None) -> Address | None:
    return None if found is None or found[1] is None else (found[0], found[1])
