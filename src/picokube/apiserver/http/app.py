"""The ASGI application: reads requests and sends responses. The dispatcher decides what to answer."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from kubekit.controller.watchdog import PassTooLong
from picokube.apiserver.http.dispatch import Dispatcher, refusal
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.memoize import memoized
from picokube.apiserver.protocol.messages import Answer, Request, Response, Stream
from picokube.apiserver.storage.store import ChangeFailed, DiskFull

MAX_BODY_BYTES = 3 * 1024 * 1024
MAX_CHUNK_BYTES = 128 * 1024
MAX_UNSENT_BYTES = 256 * 1024 * 1024
"""Limit of unsent bytes of large bodies, over all requests."""
REQUEST_SECONDS = 60.0
"""From the first byte of a request to its answer, or to the first byte of one that streams."""
LAST_CHUNK_SECONDS = 0.5
"""A client has this long to accept the end of a stream."""
REPEATED_HEADERS = "impersonate-"
"""Prefix of headers that may be repeated; of others the last one counts."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Application:
    """One connection's requests, one after another."""

    def __init__(self, dispatcher: Dispatcher, report: Callable[[Exception], None]) -> None:
        self._dispatcher = dispatcher
        self._report = report
        self._unsent = 0
        self._end: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def end_streams(self) -> None:
        """End all streams as if they were complete; later ones end at once."""
        if not self._end.done():
            self._end.set_result(None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                body = await _body(receive)
                answer = await self._dispatcher.answer(_request(scope, body))
        except errors.ApiError as error:
            answer = refusal(error)
        except PassTooLong as error:
            answer = refusal(
                errors.ApiError(413, "RequestEntityTooLarge", f"the request is too large: {error}")
            )
        except TimeoutError:
            answer = refusal(errors.timed_out(REQUEST_SECONDS))
        except DiskFull as error:
            answer = refusal(errors.insufficient_storage(str(error)))
        except ChangeFailed as error:
            self._report(error)
            answer = refusal(errors.storage_unavailable(str(error)))
        except Exception as error:  # noqa: BLE001 - the last guard: a bug is answered and reported, never a hang
            self._report(error)
            answer = refusal(
                errors.internal("Internal error occurred: the server could not answer this request")
            )
        if isinstance(answer, Stream):
            await _stream(answer, receive, send, self._end)
        else:
            await self._send(answer, send)

    async def _send(self, answer: Response, send: Send) -> None:
        """Send a response. Large bodies are sent in pieces as the client reads; too many at once are refused."""
        size = len(answer.body)
        if size > MAX_CHUNK_BYTES and self._unsent and self._unsent + size > MAX_UNSENT_BYTES:
            answer = refusal(errors.too_many_requests("the server is sending as much as it can at once"))
            size = len(answer.body)
        has_body = answer.status not in (HTTPStatus.NOT_MODIFIED, HTTPStatus.NO_CONTENT)
        await send(_head(answer, length=size if has_body else None))
        if size <= MAX_CHUNK_BYTES:
            await send({"type": "http.response.body", "body": answer.body})
            return
        self._unsent += size
        try:
            for piece in _pieces(answer.body):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            self._unsent -= size


async def _body(receive: Receive) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise errors.bad_request("the client went away")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise errors.too_large(MAX_BODY_BYTES)
        chunks.append(chunk)
        if not message.get("more_body"):
            return b"".join(chunks)


def _request(scope: Scope, body: bytes) -> Request:
    headers: dict[str, str] = {}
    for raw, text in scope["headers"]:
        name, value = raw.decode("latin-1").lower(), text.decode("latin-1")
        headers[name] = (
            f"{headers[name]}\n{value}" if name in headers and name.startswith(REPEATED_HEADERS) else value
        )
    query = _parameters(scope["query_string"])
    return Request(method=scope["method"], path=scope["path"], query=query, headers=headers, body=body)


@memoized(256)
def _parameters(query: bytes) -> Mapping[str, Sequence[str]]:
    """The parameters of a query, cached and never mutated: clients repeat their queries."""
    return parse_qs(query.decode("latin-1"), keep_blank_values=True, errors="replace")


def _head(answer: Answer, *, length: int | None) -> MutableMapping[str, Any]:
    headers = [(b"cache-control", b"no-cache, private")]
    if answer.content_type:
        headers.append((b"content-type", answer.content_type.encode()))
    headers += [(name.lower().encode(), value.encode("utf-8", "replace")) for name, value in answer.headers]
    if length is not None:
        headers.append((b"content-length", str(length).encode()))
    return {"type": "http.response.start", "status": int(answer.status), "headers": headers}


async def _stream(answer: Stream, receive: Receive, send: Send, end: asyncio.Future[None]) -> None:
    """Send chunks as they come, until they end, the client disconnects or the server stops."""
    await send(_head(answer, length=None))
    await send({"type": "http.response.body", "body": b"", "more_body": True})
    sending = asyncio.create_task(_send_all(answer.chunks, send), name="stream")
    leaving = asyncio.create_task(_client_disconnected(receive), name="client-departure")
    try:
        await asyncio.wait({sending, leaving, end}, return_when=asyncio.FIRST_COMPLETED)
        if sending.done():
            sending.result()
    finally:
        sending.cancel()
        leaving.cancel()
        await asyncio.gather(sending, leaving, return_exceptions=True)
    with suppress(TimeoutError):
        async with asyncio.timeout(LAST_CHUNK_SECONDS):
            await send({"type": "http.response.body", "body": b""})


async def _send_all(chunks: AsyncIterator[bytes], send: Send) -> None:
    """The producer is closed however this ends."""
    try:
        async for chunk in chunks:
            for piece in _pieces(chunk):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


def _pieces(body: bytes) -> Iterator[bytes]:
    """What the socket does not take at once is copied: small pieces keep that small for each client."""
    if len(body) <= MAX_CHUNK_BYTES:
        yield body
        return
    for start in range(0, len(body), MAX_CHUNK_BYTES):
        yield body[start : start + MAX_CHUNK_BYTES]


async def _client_disconnected(receive: Receive) -> None:
    """Wait until the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
