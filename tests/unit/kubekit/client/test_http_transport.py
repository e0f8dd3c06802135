"""What is concluded from each way in which an HTTP exchange can fail, on real sockets of this machine."""

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest

from kubekit.client.connection import Connection, NoConnection
from kubekit.client.errors import Ambiguous, ApiError, Expired, NotSent
from kubekit.client.http_transport import HttpTransport
from support.certificates import make_authority

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-type: application/json\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
WRITES = ["POST", "PUT", "PATCH", "DELETE"]


class Peer:
    """A server that reads requests and handles the n-th as the test specifies."""

    def __init__(self, *behaviors):
        self.behaviors = list(behaviors)
        self.requests = []
        self.connections = 0
        self.gone = asyncio.Event()

    async def met(self, reader, writer):
        self.connections += 1
        try:
            while request := await _request(reader):
                self.requests.append(request)
                behave = self.behaviors.pop(0) if self.behaviors else answer
                if await behave(reader, writer) is False:
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            self.gone.set()

    @property
    def methods(self):
        return [request.split(b" ", 1)[0].decode() for request in self.requests]


async def answer(reader, writer):
    writer.write(ANSWER)
    await writer.drain()


async def hang_up(reader, writer):
    return False


async def reset(reader, writer):
    made = writer.get_extra_info("socket")
    made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    return False


async def stay_silent(reader, writer):
    await reader.read()
    return False


async def answer_half(reader, writer):
    writer.write(ANSWER[:-1])
    await writer.drain()
    return False


async def answer_then_hang_up(reader, writer):
    await answer(reader, writer)
    return False


def chunks(*parts, then=hang_up):
    async def send(reader, writer):
        writer.write(CHUNKED)
        for part in parts:
            writer.write(b"%x\r\n%s\r\n" % (len(part), part))
            await writer.drain()
            await asyncio.sleep(0.005)
        if then is None:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            return None
        return await then(reader, writer)

    return send


async def _request(reader):
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""
    length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return head + await reader.readexactly(int(length[0].split(b":")[1])) if length else head


@asynccontextmanager
async def a_peer(*behaviors):
    peer = Peer(*behaviors)
    server = await asyncio.start_server(peer.met, "127.0.0.1", 0)
    peer.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield peer
    finally:
        server.close()


@asynccontextmanager
async def a_transport(url, **connection):
    transport = HttpTransport(Connection(server=url, **connection))
    try:
        yield transport
    finally:
        await transport.close()


async def ask(transport, method="POST", *, seconds=5.0):
    return await transport.request(method, "/api", body=None if method == "GET" else b"{}", timeout=seconds)


def closed_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def test_a_refused_connection_did_nothing():
    """No server listens: the request certainly had no effect."""

    async def scenario():
        async with a_transport(f"http://127.0.0.1:{closed_port()}") as transport:
            with pytest.raises(NotSent):
                await ask(transport)

    asyncio.run(scenario())


@pytest.mark.parametrize("method", WRITES)
@pytest.mark.rule("CHART-4")
def test_a_write_is_held_back_after_it_waited_for_its_connection(method):
    """Whether it may leave is asked when nothing but the writing is left; no byte of a refused one arrives."""

    async def scenario():
        async with a_peer() as peer, a_transport(peer.url) as transport:
            connections = []

            def may_leave():
                connections.append(peer.connections)
                return False

            with pytest.raises(NotSent, match="write prevented"):
                await transport.request(method, "/api", body=b"{}", timeout=5.0, may_leave=may_leave)
            assert connections == [1]
            assert (await ask(transport, method)).status == 200
            assert peer.methods == [method]

    asyncio.run(scenario())


def test_an_unknown_host_did_nothing():
    """The name has no address: certain."""

    async def scenario():
        async with a_transport("http://no-such-host.invalid") as transport:
            with pytest.raises(NotSent):
                await ask(transport)

    asyncio.run(scenario())


def test_a_failed_tls_handshake_did_nothing():
    """The peer speaks no TLS: the request was never written."""

    async def scenario():
        async with a_peer() as peer, a_transport(peer.url.replace("http:", "https:")) as transport:
            with pytest.raises(NotSent):
                await ask(transport, seconds=1)
            assert peer.requests == []

    asyncio.run(scenario())


def test_a_connection_that_is_not_made_in_time_did_nothing():
    """The peer's queue is full, so the handshake of TCP hangs: certain, although it is a timeout."""

    async def scenario():
        with socket.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            address = full.getsockname()
            fillers = [socket.socket() for _ in range(4)]
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(address)
            await asyncio.sleep(0.05)
            try:
                async with a_transport(f"http://127.0.0.1:{address[1]}") as transport:
                    with pytest.raises(NotSent):
                        await ask(transport, seconds=0.4)
            finally:
                for filler in fillers:
                    filler.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("method", WRITES)
@pytest.mark.parametrize(
    "behavior", [hang_up, reset, stay_silent, answer_half], ids=lambda item: item.__name__
)
def test_a_write_whose_answer_is_lost_may_have_been_done_and_is_sent_once(method, behavior):
    """However the answer is lost, the peer saw the request exactly once."""

    async def scenario():
        async with a_peer(behavior) as peer, a_transport(peer.url) as transport:
            with pytest.raises(Ambiguous):
                await ask(transport, method, seconds=0.3)
            assert peer.methods == [method]

    asyncio.run(scenario())


@pytest.mark.parametrize("method", WRITES)
@pytest.mark.parametrize("behavior", [hang_up, reset], ids=lambda item: item.__name__)
def test_a_write_on_a_kept_connection_that_breaks_is_not_sent_again(method, behavior):
    """aiohttp would send PUT and DELETE a second time by itself; a second coming could meet the first."""

    async def scenario():
        async with a_peer(answer, behavior) as peer, a_transport(peer.url) as transport:
            await ask(transport, "GET")
            with pytest.raises(Ambiguous):
                await ask(transport, method)
            assert peer.methods == ["GET", method]
            assert peer.connections == 1

    asyncio.run(scenario())


def test_a_read_on_a_kept_connection_that_breaks_is_repeated():
    """Reading twice is harmless."""

    async def scenario():
        async with a_peer(answer, hang_up) as peer, a_transport(peer.url) as transport:
            await ask(transport, "GET")
            assert (await ask(transport, "GET")).status == 200
            assert peer.connections == 2

    asyncio.run(scenario())


def test_a_connection_closed_before_the_next_request_is_not_used():
    """A server that closes after its answer costs a new connection, not an error."""

    async def scenario():
        async with a_peer(answer_then_hang_up) as peer, a_transport(peer.url) as transport:
            await ask(transport)
            await peer.gone.wait()
            await asyncio.sleep(0.02)
            assert (await ask(transport)).status == 200
            assert peer.connections == 2

    asyncio.run(scenario())


def test_connections_are_kept():
    """Ten requests, one connection."""

    async def scenario():
        async with a_peer() as peer, a_transport(peer.url) as transport:
            for _ in range(10):
                await ask(transport)
            assert peer.connections == 1

    asyncio.run(scenario())


def test_after_close_nothing_is_sent():
    """A closed transport says so, and that nothing happened."""

    async def scenario():
        async with a_peer() as peer, a_transport(peer.url) as transport:
            await transport.close()
            with pytest.raises(NotSent):
                await ask(transport)
            assert peer.requests == []

    asyncio.run(scenario())


def test_redirects_are_not_followed():
    """A write must not become a GET somewhere else."""

    async def redirect(reader, writer):
        writer.write(b"HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()

    async def scenario():
        async with a_peer(redirect) as peer, a_transport(peer.url) as transport:
            assert (await ask(transport)).status == 302
            assert peer.methods == ["POST"]

    asyncio.run(scenario())


async def lines_of(transport, *, idle=5.0):
    found = []
    try:
        async with transport.stream("/watch", query={"watch": "true"}, idle_timeout=idle) as lines:
            async for line in lines:
                found += [line]
    except ApiError as error:
        return found, type(error)
    return found, None


def test_lines_come_whole_however_they_were_cut():
    """Chunks end anywhere; lines are as long as they are."""

    async def scenario():
        long = b"x" * 300_000
        sent = chunks(b'{"a":', b'1}\n{"b":2}\n\n{"c"', b":3}\n", long, long + b"\n", then=None)
        async with a_peer(sent) as peer, a_transport(peer.url) as transport:
            found, ended_by = await lines_of(transport)
            assert found == [b'{"a":1}', b'{"b":2}', b'{"c":3}', long + long]
            assert ended_by is None

    asyncio.run(scenario())


@pytest.mark.parametrize("then", [hang_up, reset, stay_silent], ids=lambda item: item.__name__)
def test_a_broken_stream_yields_what_arrived_and_then_the_error(then):
    """Half a line is no line; a silent peer is a broken one."""

    async def scenario():
        async with a_peer(chunks(b"one\ntwo\nthr", then=then)) as peer, a_transport(peer.url) as transport:
            assert await lines_of(transport, idle=0.3) == ([b"one", b"two"], Ambiguous)

    asyncio.run(scenario())


def test_a_refused_stream_raises_what_the_refusal_says():
    """410 before the first line is Expired."""

    async def gone(reader, writer):
        status = b'{"kind":"Status","code":410,"reason":"Expired","message":"too old"}'
        writer.write(b"HTTP/1.1 410 Gone\r\ncontent-length: %d\r\n\r\n%s" % (len(status), status))
        await writer.drain()

    async def scenario():
        async with a_peer(gone) as peer, a_transport(peer.url) as transport:
            assert await lines_of(transport) == ([], Expired)

    asyncio.run(scenario())


@pytest.mark.parametrize("by", ["leaving", "cancellation"])
def test_leaving_a_stream_ends_its_connection(by):
    """The peer sees the end at once; nothing lingers until a timeout."""

    async def scenario():
        async with a_peer(chunks(b"one\n", then=stay_silent)) as peer, a_transport(peer.url) as transport:
            arrived = asyncio.Event()

            async def follow():
                async with transport.stream("/watch", query={}, idle_timeout=60) as lines:
                    async for _ in lines:
                        arrived.set()
                        if by == "leaving":
                            return

            following = asyncio.create_task(follow())
            await asyncio.wait_for(arrived.wait(), 5)
            if by == "cancellation":
                following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await asyncio.wait_for(peer.gone.wait(), 5)

    asyncio.run(scenario())


def test_hundreds_of_streams_leave_room_for_requests():
    """Watches hold connections; a write does not wait for one of them to end."""

    async def scenario():
        silent = [chunks(b"one\n", then=stay_silent)] * 300
        async with a_peer(*silent) as peer, a_transport(peer.url) as transport:

            async def follow():
                async with transport.stream("/watch", query={}, idle_timeout=60) as lines:
                    async for _ in lines:
                        arrived.release()

            arrived = asyncio.Semaphore(0)
            following = [asyncio.create_task(follow()) for _ in range(300)]
            for _ in following:
                await asyncio.wait_for(arrived.acquire(), 10)
            assert (await ask(transport)).status == 200
            for item in following:
                item.cancel()
            await asyncio.gather(*following, return_exceptions=True)

    asyncio.run(scenario())


def test_a_token_file_is_shown_and_read_again_when_the_server_refuses_it(tmp_path):
    """A replaced token is used without a restart."""

    async def refuse(reader, writer):
        writer.write(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()

    async def scenario():
        token = tmp_path / "token"
        token.write_text("first\n")
        async with (
            a_peer(answer, refuse) as peer,
            a_transport(peer.url, token_file=token) as transport,
        ):
            await ask(transport)
            token.write_text("second\n")
            await ask(transport)
            await ask(transport)
            assert shown_to(peer) == ["Bearer first", "Bearer first", "Bearer second"]

    asyncio.run(scenario())


def test_a_missing_token_file_did_nothing(tmp_path):
    """Without a token nothing is sent."""

    async def scenario():
        async with a_peer() as peer, a_transport(peer.url, token_file=tmp_path / "none") as transport:
            with pytest.raises(NotSent, match="none"):
                await ask(transport)
            assert peer.requests == []

    asyncio.run(scenario())


def test_certificates_that_cannot_be_read_are_reported_at_once():
    """Not at the first request: when the transport is made."""
    with pytest.raises(NoConnection, match="certificates"):
        HttpTransport(Connection(server="https://127.0.0.1", authority=b"no certificate"))


def shown_to(peer):
    return [
        line.split(b": ", 1)[1].decode()
        for request in peer.requests
        for line in request.split(b"\r\n")
        if line.lower().startswith(b"authorization:")
    ]


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        pytest.param({"token": "abc"}, ["Bearer abc"], id="token"),
        pytest.param({"user_name": "me", "password": "pw"}, ["Basic bWU6cHc="], id="password"),
        pytest.param({"fresh_token": lambda: "made"}, ["Bearer made"], id="plugin"),
        pytest.param({}, [], id="no-user"),
    ],
)
def test_what_a_user_shows(user, expected):
    """One way each; nothing if there is nothing."""

    async def scenario():
        async with a_peer() as peer, a_transport(peer.url, **user) as transport:
            await ask(transport)
            assert shown_to(peer) == expected

    asyncio.run(scenario())


def test_a_plugin_that_fails_later_leaves_the_token_that_was_good():
    """The server decides whether it still is."""

    async def scenario():
        answers = ["first"]

        async def refuse(reader, writer):
            writer.write(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n")
            await writer.drain()

        async with a_peer(refuse) as peer, a_transport(peer.url, fresh_token=answers.pop) as transport:
            await ask(transport)
            await ask(transport)
            assert shown_to(peer) == ["Bearer first"] * 2

    asyncio.run(scenario())


def test_a_client_certificate_is_shown_and_a_wrong_key_is_reported(tmp_path):
    """The pair is checked when the transport is made, and no file of it stays behind."""
    make_authority(tmp_path)
    certificate = (tmp_path / "serving.crt").read_bytes()
    key, other = (tmp_path / "serving.key").read_bytes(), (tmp_path / "ca.key").read_bytes()
    HttpTransport(Connection(server="https://127.0.0.1", certificate=certificate, key=key))
    with pytest.raises(NoConnection, match="certificates"):
        HttpTransport(Connection(server="https://127.0.0.1", certificate=certificate, key=other))
