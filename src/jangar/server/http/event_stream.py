"""Server-sent events: changes as they come, each with an id by which a reader that was cut off goes on.

A stream that has nothing to say sends a heartbeat every second. A reader measures the age of its data by the last
message, so a frozen server is noticed within seconds, not when the network gives up.
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
    """Until the events end, or the reader leaves. Bytes are events that are written already."""
    return StreamingResponse(
        _written(events),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _written(events: AsyncGenerator[Event | bytes]) -> AsyncGenerator[bytes]:
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
            yield event if isinstance(event, bytes) else encoded(event)
    finally:
        if upcoming is not None:
            upcoming.cancel()
            with contextlib.suppress(asyncio.CancelledError, StopAsyncIteration):
                await upcoming
        await events.aclose()


def heartbeat(now: float) -> bytes:
    """The server's time in milliseconds; a reader whose clock is wrong corrects itself by it."""
    return b'event: heartbeat\ndata: {"at":%d}\n\n' % int(now * 1000)


def encoded(event: Event) -> bytes:
    """JSON has no line breaks, so one data line is enough."""
    name = f"id: {event.id}\n" if event.id else ""
    return f"{name}event: {event.name}\ndata: ".encode() + orjson.dumps(event.data) + b"\n\n"


def written(number: str, name: str, data: Any) -> bytes:
    """An event that goes to many readers."""
    return encoded(Event(name, data, number))
