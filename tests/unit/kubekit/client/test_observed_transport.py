"""What is reported about requests."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from kubekit.client.errors import Ambiguous, Expired
from kubekit.client.transport import ObservedTransport, Response
from support.virtual_time import run_virtual


class Scripted:
    """A transport that answers after a second."""

    def __init__(self, answer):
        self.answer = answer

    async def request(self, method, path, **given):
        await asyncio.sleep(1)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    @asynccontextmanager
    async def stream(self, path, **given):
        await asyncio.sleep(1)
        if isinstance(self.answer, Exception):
            raise self.answer
        yield self.answer

    async def close(self):
        pass


def reported(answer, story):
    requests = []

    async def main():
        await story(ObservedTransport(Scripted(answer), lambda *what: requests.append(what)))

    run_virtual(main())
    return requests


def test_a_request_is_reported_with_its_code_and_time():
    """Refused or not, an answer is an answer."""

    async def story(transport):
        assert (await transport.request("PUT", "/x", timeout=5)).status == 409

    assert reported(Response(409, {}, b""), story) == [("PUT", 409, 1.0)]


def test_a_request_without_an_answer_has_code_0():
    """Lost, cut or given up."""

    async def story(transport):
        with pytest.raises(Ambiguous):
            await transport.request("GET", "/x", timeout=5)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await transport.request("GET", "/x", timeout=5)

    assert reported(Ambiguous("reset"), story) == [("GET", 0, 1.0), ("GET", 0, 0.5)]


async def cut_midway(transport):
    async with transport.stream("/x", query={}, idle_timeout=5):
        await asyncio.sleep(100)
        raise Ambiguous("cut")


def test_a_watch_is_reported_when_it_opens_and_once():
    """Not when it ends: it has no duration worth a bucket."""

    async def story(transport):
        with pytest.raises(Ambiguous):
            await cut_midway(transport)

    assert reported(iter(()), story) == [("WATCH", 200, 1.0)]


def test_a_refused_watch_is_reported_with_its_code():
    """As 410 is."""

    async def story(transport):
        with pytest.raises(Expired):
            async with transport.stream("/x", query={}, idle_timeout=5):
                pass

    assert reported(Expired("too old", status=410), story) == [("WATCH", 410, 1.0)]
