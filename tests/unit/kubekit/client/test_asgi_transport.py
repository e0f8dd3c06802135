"""An application asked in process behaves for its caller as behind a socket, and the caller for it."""

import asyncio

import pytest

from kubekit.client.asgi_transport import MAX_BUFFERED_CHUNKS, AsgiTransport
from kubekit.client.errors import Ambiguous, Forbidden, NotSent
from support.virtual_time import run_virtual

START = {"type": "http.response.start", "status": 200, "headers": [(b"Content-Type", b"application/json")]}


def body(chunk, *, more=False):
    return {"type": "http.response.body", "body": chunk, "more_body": more}


class App:
    """Notes what it is asked and when its caller leaves."""

    def __init__(self, serve):
        self.serve = serve
        self.scopes = []
        self.bodies = []
        self.left = []
        self.ended = 0

    async def __call__(self, scope, receive, send):
        self.scopes.append(scope)
        self.bodies.append((await receive())["body"])
        try:
            await self.serve(self, receive, send)
        finally:
            self.ended += 1


async def echo(app, receive, send):
    await send(START)
    await send(body(b"he", more=True))
    await send(body(b"llo"))


async def ticking(app, receive, send):
    """A line a second until the caller leaves."""
    await send(START)

    async def tick():
        for number in range(1000):
            await asyncio.sleep(1)
            await send(body(b"%d\n" % number, more=True))

    ticks = asyncio.create_task(tick())
    app.left.append((await receive())["type"])
    ticks.cancel()


async def slow(app, receive, send):
    await asyncio.sleep(10)
    app.left.append("done")
    await echo(app, receive, send)


async def broken(app, receive, send):
    await send(START)
    await send(body(b"one\ntwo", more=True))
    raise RuntimeError("disk full")


async def silent(app, receive, send):
    await send(START)
    await send(body(b"one\n", more=True))
    await receive()


async def refusing(app, receive, send):
    await send({"type": "http.response.start", "status": 403, "headers": []})
    await send(body(b'{"kind":"Status","code":403,"reason":"Forbidden","message":"no"}'))


async def lines_of(transport, *, idle=60.0):
    async with transport.stream("/watch", query={"watch": "true"}, idle_timeout=idle) as lines:
        return [line async for line in lines]


def test_a_request_arrives_whole_and_so_does_its_answer():
    """Path, query, headers, body; status, headers, body."""

    async def scenario():
        app = App(echo)
        transport = AsgiTransport(app, token="secret")  # noqa: S106
        answer = await transport.request(
            "PATCH", "/a%2Fb", query={"x": "y z"}, body=b"{}", content_type="application/merge", timeout=5
        )
        assert answer == (200, {"content-type": "application/json"}, b"hello")
        scope = app.scopes[0]
        assert (scope["method"], scope["path"], scope["raw_path"]) == ("PATCH", "/a/b", b"/a%2Fb")
        assert scope["query_string"] == b"x=y%20z"
        headers = dict(scope["headers"])
        assert headers[b"authorization"] == b"Bearer secret"
        assert (headers[b"content-type"], headers[b"content-length"]) == (b"application/merge", b"2")
        assert app.bodies == [b"{}"]

    run_virtual(scenario())


def test_a_request_that_takes_too_long_may_have_been_done_and_runs_on():
    """As behind a socket: the server does not stop because the caller does."""

    async def scenario():
        app = App(slow)
        transport = AsgiTransport(app)
        with pytest.raises(Ambiguous):
            await transport.request("POST", "/", body=b"{}", timeout=1)
        assert app.left == []
        await asyncio.sleep(20)
        assert app.left == ["done"]

    run_virtual(scenario())


def test_a_request_whose_caller_is_cancelled_runs_on():
    """A commit under way is not torn apart."""

    async def scenario():
        app = App(slow)
        asking = asyncio.create_task(AsgiTransport(app).request("POST", "/", body=b"{}", timeout=60))
        await asyncio.sleep(1)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await asyncio.sleep(20)
        assert app.left == ["done"]

    run_virtual(scenario())


def test_an_application_that_fails_without_an_answer_leaves_it_open():
    """It may have done its work before."""

    async def scenario():
        async def fails(app, receive, send):
            raise RuntimeError("disk full")

        with pytest.raises(Ambiguous) as caught:
            await AsgiTransport(App(fails)).request("POST", "/", timeout=1)
        assert "disk full" in str(caught.value.__cause__)

    run_virtual(scenario())


def test_lines_arrive_as_they_are_sent():
    """The first line does not wait for the second."""

    async def scenario():
        app = App(ticking)
        async with AsgiTransport(app).stream("/watch", query={}, idle_timeout=60) as lines:
            times = []
            async for line in lines:
                times.append((line, asyncio.get_running_loop().time()))
                if len(times) == 3:
                    break
        assert times == [(b"0", 1.0), (b"1", 2.0), (b"2", 3.0)]
        assert app.left == ["http.disconnect"]

    run_virtual(scenario())


def test_cancelling_a_follower_disconnects():
    """The application gets the disconnect and ends."""

    async def scenario():
        app = App(ticking)
        following = asyncio.create_task(lines_of(AsgiTransport(app)))
        await asyncio.sleep(2.5)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        assert app.left == ["http.disconnect"]
        assert app.ended == 1

    run_virtual(scenario())


def test_an_application_that_does_not_hear_is_ended():
    """A stream that was left is over within seconds."""

    async def scenario():
        async def deaf(app, receive, send):
            await send(START)
            await send(body(b"one\n", more=True))
            await asyncio.sleep(10_000)

        app = App(deaf)
        async with AsgiTransport(app).stream("/watch", query={}, idle_timeout=60) as lines:
            async for _ in lines:
                break
        await asyncio.sleep(0.1)
        assert app.ended == 1
        assert asyncio.get_running_loop().time() < 10

    run_virtual(scenario())


@pytest.mark.parametrize("serve", [broken, silent], ids=["broken", "silent"])
def test_a_stream_that_breaks_or_falls_silent_is_reported(serve):
    """It does not count as the end of the stream."""

    async def scenario():
        with pytest.raises(Ambiguous):
            await lines_of(AsgiTransport(App(serve)), idle=30)

    run_virtual(scenario())


def test_a_refused_stream_raises_the_refusal():
    """Before the first line."""

    async def scenario():
        with pytest.raises(Forbidden, match="no"):
            await lines_of(AsgiTransport(App(refusing)))

    run_virtual(scenario())


def test_a_slow_reader_slows_the_sender():
    """Unread data does not accumulate in memory."""

    async def scenario():
        sent = []

        async def flood(app, receive, send):
            await send(START)
            for number in range(10 * MAX_BUFFERED_CHUNKS):
                await send(body(b"%d\n" % number, more=True))
                sent.append(number)
            await send(body(b""))

        async with AsgiTransport(App(flood)).stream("/watch", query={}, idle_timeout=60) as lines:
            await asyncio.sleep(5)
            assert len(sent) < 2 * MAX_BUFFERED_CHUNKS
            assert len([line async for line in lines]) == 10 * MAX_BUFFERED_CHUNKS

    run_virtual(scenario())


def test_close_ends_what_is_under_way_and_refuses_more():
    """Nothing is left behind."""

    async def scenario():
        app = App(slow)
        transport = AsgiTransport(app)
        asking = asyncio.create_task(transport.request("POST", "/", timeout=60))
        await asyncio.sleep(1)
        await transport.close()
        assert app.ended == 1
        with pytest.raises(Ambiguous):
            await asking
        with pytest.raises(NotSent):
            await transport.request("GET", "/", timeout=1)

    run_virtual(scenario())
