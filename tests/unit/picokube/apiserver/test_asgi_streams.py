"""Streamed answers: how they end when the client or the server does."""

import asyncio

import orjson
import pytest

from picokube.apiserver.http.app import LAST_CHUNK_SECONDS, REQUEST_SECONDS, Application
from picokube.apiserver.protocol.messages import Stream
from picokube.apiserver.storage.store import Broken, DiskFull
from support.virtual_time import run_virtual

SCOPE = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}
END = {"type": "http.response.body", "body": b""}


class Endless:
    """A dispatcher whose every answer is one line and then silence; knows whether that was closed."""

    def __init__(self):
        self.closed = False

    async def answer(self, _):
        return Stream(chunks=self._lines())

    async def _lines(self):
        try:
            yield b"line\n"
            await asyncio.sleep(3600)
        finally:
            self.closed = True


class Client:
    """A client that records messages; the test decides when it stops reading and when it disconnects."""

    def __init__(self):
        self.sent = []
        self.reads, self.left = asyncio.Event(), asyncio.Event()
        self.reads.set()
        self._requested = False

    async def receive(self):
        if not self._requested:
            self._requested = True
            return {"type": "http.request", "body": b""}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        await self.reads.wait()
        self.sent.append(message)


async def start_stream():
    dispatcher, client = Endless(), Client()
    application = Application(dispatcher, report=lambda error: None)
    answering = asyncio.create_task(application(SCOPE, client.receive, client.send))
    await asyncio.sleep(1)
    assert client.sent[-1]["body"] == b"line\n"
    return application, dispatcher, client, answering


def test_a_stream_is_complete_when_the_server_ends():
    async def scenario():
        application, dispatcher, client, answering = await start_stream()
        application.end_streams()
        await answering
        assert client.sent[-1] == END
        assert dispatcher.closed

    run_virtual(scenario())


def test_a_stream_that_begins_while_the_server_ends_is_complete_at_once():
    async def scenario():
        application, _, _, answering = await start_stream()
        application.end_streams()
        await answering
        late = Client()
        await application(SCOPE, late.receive, late.send)
        assert late.sent[-1] == END

    run_virtual(scenario())


def test_anyone_makes_the_lines_is_closed_when_the_client_leaves():
    async def scenario():
        _, dispatcher, client, answering = await start_stream()
        client.left.set()
        await answering
        assert dispatcher.closed

    run_virtual(scenario())


def test_a_client_that_does_not_read_is_not_waited_for():
    async def scenario():
        application, _, client, answering = await start_stream()
        client.reads.clear()
        began = asyncio.get_running_loop().time()
        application.end_streams()
        await answering
        assert asyncio.get_running_loop().time() - began == pytest.approx(LAST_CHUNK_SECONDS)
        assert client.sent[-1] != END

    run_virtual(scenario())


class Refusing:
    """A dispatcher whose storage refuses every write."""

    def __init__(self, error):
        self.error = error

    async def answer(self, _):
        raise self.error


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (DiskFull("/d/objects.db: no space left on device"), 429, "InsufficientStorage"),
        (Broken("/d/objects.db: disk I/O error"), 503, "ServiceUnavailable"),
    ],
)
def test_a_write_that_storage_refuses_is_answered_with_the_reason(error, status, reason):
    """E4, E15: not as an internal error; clients try again, and know after a full disk that nothing was written."""

    async def main():
        client = Client()
        await Application(Refusing(error), report=lambda error: None)(SCOPE, client.receive, client.send)
        head, body = client.sent
        assert head["status"] == status
        assert (b"retry-after", b"1") in head["headers"]
        reported = orjson.loads(body["body"])
        assert reported["reason"] == reason
        assert str(error) in reported["message"]

    run_virtual(main())


def test_a_body_that_never_comes_ends_after_a_minute():
    """E6: the whole request has a deadline, whatever the client does."""

    async def main():
        sent = []

        async def receive():
            await asyncio.Event().wait()

        async def send(message):
            sent.append(message)

        await Application(Refusing(None), report=lambda error: None)(SCOPE, receive, send)
        assert sent[0]["status"] == 504
        assert asyncio.get_running_loop().time() == REQUEST_SECONDS

    run_virtual(main())
