"""Server-sent events. Each has an id, with which a disconnected client resumes.

An idle stream sends a heartbeat every second. Clients measure the age of their data by the last message, so they notice
a frozen server within seconds.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator
from typing import Any, Final, NamedTuple

import orjson
from starlette.responses import StreamingResponse

HEARTBEAT: Final = 1.0
"""Seconds of silence after which a heartbeat is sent."""
RETRY: Final = b"retry: 1000\n\n"


class Event(NamedTuple):
    """One message."""

    name: str
    data: Any
    id: str = ""


def stream(events: AsyncGenerator[Event | bytes]) -> StreamingResponse:
    """A response that ends with the events or when the client disconnects. Bytes are encoded events."""
    return StreamingResponse(
        _encoded_stream(events),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _encoded_stream(events: AsyncGenerator[Event | bytes]) -> AsyncGenerator[bytes]:
    yield RETRY
    upcoming: asyncio.Task[Event | bytes] | None = None
    try:
        while True:
            upcoming = upcoming or asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait({upcoming}, timeout=HEARTBEAT)
            if not done:
                yield heartbeat(time.time())
                continue
            try:
                event = upcoming.result()
            except StopAsyncIteration:
                return
            upcoming = None
            yield event if isinstance(event, bytes) else encode(event)
    finally:
        if upcoming is not None:
            upcoming.cancel()
            with contextlib.suppress(asyncio.CancelledError, StopAsyncIteration):
                await upcoming
        await events.aclose()


def heartbeat(now: float) -> bytes:
    """Has the server's time in milliseconds, by which clients correct their clock."""
    return b'event: heartbeat\ndata: {"at":%d}\n\n' % int(now * 1000)


def encode(event: Event) -> bytes:
    """The wire format. JSON has no line breaks, so one data line is enough."""
    name = f"id: {event.id}\n" if event.id else ""
    return f"{name}event: {event.name}\ndata: ".encode() + orjson.dumps(event.data) + b"\n\n"


def encode_change(number: str, name: str, data: Any) -> bytes:
    """The wire format of an event that is sent to many clients."""
    return encode(Event(name, data, number))
