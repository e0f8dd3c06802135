"""The HTTP server of every port: what a client without manners can do to it."""

import asyncio
import ssl
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
import uvloop

from kubekit.serving import connection_limits, http_server
from kubekit.serving.connection_limits import ConnectionLimits
from kubekit.serving.listening import listening
from picokube.apiserver.auth.certificates import ensure_certificates

LIMITS = ConnectionLimits(connections=16, header_bytes=64 * 1024)


async def echo(scope, receive, send):
    """Answers with the size of the body; `/stream` continues until the client disconnects."""
    size = 0
    while True:
        message = await receive()
        size += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    while scope["path"] == "/stream":
        await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
        await asyncio.sleep(0.01)
    await send({"type": "http.response.body", "body": str(size).encode()})


@asynccontextmanager
async def served(limits=LIMITS, certificate=None, key=None):
    listener = listening("127.0.0.1", 0)
    server = http_server.http_server(echo, limits=limits, certificate=certificate, key=key)
    answering = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await answering


@pytest.fixture
def short(monkeypatch):
    """Deadlines that a test can wait for."""
    seconds = dict.fromkeys(connection_limits._SECONDS, 0.5)
    monkeypatch.setattr(connection_limits, "_SECONDS", seconds)
    monkeypatch.setattr(connection_limits, "STALLED_SECONDS", 0.5)
    monkeypatch.setattr(http_server, "SWEEP_TICKS", 1)


async def get_response(port, **options):
    """The answer to a whole request on a new connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, **options)
    writer.write(b"GET / HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n")
    answer = await asyncio.wait_for(reader.read(), 20)
    writer.close()
    return answer


async def refusal(reader):
    """How the answer begins; nothing if the reset came first, because the server left bytes unread."""
    try:
        return (await asyncio.wait_for(reader.read(), 20))[:13]
    except ConnectionError:
        return b""


def test_an_endless_header_is_refused_before_it_costs_anything():
    """E6: a header that never ends is answered after the bound, and the server keeps running."""

    async def scenario():
        async with served() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\nx: ")
            sent = 0
            with pytest.raises((ConnectionError, RuntimeError)):  # noqa: PT012 - when it comes, the server decides
                while sent < 64 * 1024 * 1024:
                    writer.write(b"y" * 16_384)
                    await writer.drain()
                    sent += 16_384
                    await asyncio.sleep(0)
            assert sent < 32 * 1024 * 1024
            assert b"200 OK" in await get_response(port)
            writer.close()
            del reader

    uvloop.run(asyncio.wait_for(scenario(), 60))


def test_a_header_beyond_the_bound_is_answered_431():
    async def scenario():
        async with served() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.1\r\nx: " + b"y" * (LIMITS.header_bytes + 1))
            assert await refusal(reader) in {b"", b"HTTP/1.1 431 "}
            writer.close()

    uvloop.run(asyncio.wait_for(scenario(), 60))


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_large_body_is_no_large_header(is_chunked):
    async def scenario():
        async with served() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for _ in range(2):
                size = 1024 * 1024
                if is_chunked:
                    writer.write(b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
                    for _ in range(1024):
                        writer.write(b"400\r\n" + b"z" * 1024 + b"\r\n")
                        await writer.drain()
                    writer.write(b"0\r\n\r\n")
                else:
                    writer.write(f"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: {size}\r\n\r\n".encode())
                    writer.write(b"z" * size)
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200")
                assert str(size).encode() in await reader.readuntil(b"0\r\n\r\n")
            writer.close()

    uvloop.run(asyncio.wait_for(scenario(), 60))


def test_endless_trailers_are_refused():
    """E6: headers may come after the body as well."""

    async def scenario():
        async with served() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(
                b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\nz\r\n0\r\nt: "
            )
            writer.write(b"y" * (LIMITS.header_bytes * 2))
            assert await refusal(reader) in {b"", b"HTTP/1.1 431 "}
            writer.close()

    uvloop.run(asyncio.wait_for(scenario(), 60))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"", b""),
        (b"GET / HTTP/1.1\r\nhost: he", b"HTTP/1.1 408 "),
        (b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 10\r\n\r\nhalf", b"HTTP/1.1 408 "),
    ],
    ids=["nothing", "half a header", "half a body"],
)
def test_a_half_sent_request_is_closed(sent, answer):
    """E6: a client that is too slow with a part of a request is disconnected, with an answer if it is half sent."""

    async def scenario():
        async with served() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            assert await refusal(reader) == answer
            writer.close()

    uvloop.run(scenario())


@pytest.mark.usefixtures("short")
def test_a_header_that_drips_has_one_deadline():
    """E6: a byte now and then does not extend it."""

    async def scenario():
        async with served() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            ended = asyncio.create_task(reader.read())
            began = time.monotonic()
            writer.write(b"GET / HTTP/1.1\r\nx: ")
            # uvloop raises RuntimeError for a write to a transport that the peer has closed.
            with pytest.raises((ConnectionError, RuntimeError)):  # noqa: PT012 - the server decides when
                while time.monotonic() - began < 20:
                    writer.write(b"y")
                    await writer.drain()
                    await asyncio.sleep(0.05)
            assert 0.4 < time.monotonic() - began < 20
            await asyncio.wait([ended])
            writer.close()

    uvloop.run(scenario())


@pytest.mark.usefixtures("short")
def test_a_client_that_does_not_read_is_disconnected():
    async def scenario():
        async with served() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
            writer.write(b"GET /stream HTTP/1.1\r\nhost: here\r\n\r\n")
            await asyncio.sleep(1.5)
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await asyncio.wait_for(reader.readexactly(1 << 40), 20)
            writer.close()

    uvloop.run(scenario())


@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "tls"])
def test_idle_connections_beyond_the_bound_keep_no_one_out(tmp_path, is_encrypted):
    """E5: a full port disconnects those who said nothing, also in the middle of a TLS handshake."""

    async def scenario():
        files, options = {}, {}
        if is_encrypted:
            issued = ensure_certificates(tmp_path, ("127.0.0.1",), now=datetime.now(UTC))
            files = {"certificate": issued.certificate, "key": issued.key}
            context = ssl.create_default_context(cafile=issued.authority)
            options = {"ssl": context, "server_hostname": "127.0.0.1"}
        async with served(**files) as port:
            idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(100)]
            assert b"200 OK" in await get_response(port, **options)
            closed = await asyncio.gather(
                *(asyncio.wait_for(_is_closed(reader), 0.5) for reader, _ in idle), return_exceptions=True
            )
            still_open = sum(isinstance(item, TimeoutError) for item in closed)
            assert still_open <= LIMITS.connections
            for _, writer in idle:
                writer.close()

    uvloop.run(asyncio.wait_for(scenario(), 60))


async def _is_closed(reader):
    try:
        return await reader.read(1) == b""
    except OSError:
        return True


def test_a_machine_without_descriptors_is_waited_for(monkeypatch):
    """E5: accepting fails for a moment, and resumes by itself."""

    async def scenario():
        async with served() as port:
            accept = http_server.Acceptor._accept
            failures = iter(range(5))

            def failing(self):
                if next(failures, None) is None:
                    accept(self)
                else:
                    self._wait("Too many open files")

            monkeypatch.setattr(http_server.Acceptor, "_accept", failing)
            assert b"200 OK" in await get_response(port)

    uvloop.run(asyncio.wait_for(scenario(), 60))
