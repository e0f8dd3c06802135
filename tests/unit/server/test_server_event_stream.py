"""Event streams: heartbeats while idle, which neither lose nor change events."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator

from jangar.server.http import event_stream
from jangar.server.http.event_stream import RETRY, Event


async def _read(events: AsyncGenerator[Event | bytes], count: int) -> list[bytes]:
    found: list[bytes] = []
    body = event_stream.stream(events).body_iterator
    async with asyncio.timeout(10):
        while len(found) < count:
            found.append(await anext(body))
    await body.aclose()
    return found


async def _silent() -> AsyncGenerator[Event | bytes]:
    await asyncio.Event().wait()
    yield b""


async def _slow() -> AsyncGenerator[Event | bytes]:
    for number in (1, 2):
        await asyncio.sleep(0.12)
        yield Event("line", {"number": number}, str(number))


def test_a_silent_stream_sends_heartbeats_with_the_servers_time(monkeypatch):
    """The page measures the age of its data by the last message (C1)."""
    monkeypatch.setattr(event_stream, "HEARTBEAT", 0.01)
    before = time.time() * 1000
    first, *beats = asyncio.run(_read(_silent(), 4))
    assert first == RETRY
    times = []
    for beat in beats:
        name, data = beat.decode().strip().split("\n")
        assert name == "event: heartbeat"
        times.append(json.loads(data.removeprefix("data: "))["at"])
    assert before - 1 <= times[0] <= times[-1] <= time.time() * 1000


def test_heartbeats_lose_no_event(monkeypatch):
    """An event between two heartbeats is sent once, with its id; heartbeats have no id."""
    monkeypatch.setattr(event_stream, "HEARTBEAT", 0.03)

    async def read_all() -> bytes:
        return b"".join([bytes(item) async for item in event_stream.stream(_slow()).body_iterator])

    text = asyncio.run(read_all()).decode()
    assert text.count("id: ") == text.count("event: line") == 2
    assert text.index('"number":1') < text.index('"number":2')
    assert text.count("event: heartbeat") >= 2
