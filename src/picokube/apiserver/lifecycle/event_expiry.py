"""Deletes Events an hour after they were last written, as kube-apiserver does, and the oldest if there are too many.

Without it every pod that ever ran would leave some behind.
"""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from picokube.apiserver.lifecycle.worker import ignoring
from picokube.apiserver.objects.context import ServerContext
from picokube.apiserver.objects.deletion import DeleteOptions, delete
from picokube.apiserver.protocol.messages import JsonObject
from picokube.apiserver.storage.store import Key

EVENTS: Final = "events"
EVENT_TTL: Final = timedelta(hours=1)
MAX_EVENTS: Final = 20_000
SWEEP_SECONDS: Final = 60.0
BATCH_SIZE: Final = 200
"""Others have a turn after so many, read or deleted."""
PAUSE_SECONDS: Final = 0.05


class EventExpiry:
    """Checks all Events once a minute."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self.sweep()
            await asyncio.sleep(SWEEP_SECONDS)

    async def sweep(self) -> None:
        resource = self._context.registry.get("", "v1", EVENTS)
        stored = self._context.store.list(EVENTS).objects
        written: list[tuple[Key, str, datetime]] = []
        for n, item in enumerate(stored):
            written.append((item.key, item.uid, last_written(orjson.loads(item.data))))
            if n % BATCH_SIZE == BATCH_SIZE - 1:
                await asyncio.sleep(0)
        for n, (key, uid) in enumerate(expired_events(written, now=self._context.clock())):
            with ignoring("NotFound", "Conflict"):
                await delete(self._context, resource, key, DeleteOptions(uid=uid))
            if n % BATCH_SIZE == BATCH_SIZE - 1:
                await asyncio.sleep(PAUSE_SECONDS)


def expired_events(written: Iterable[tuple[Key, str, datetime]], *, now: datetime) -> list[tuple[Key, str]]:
    """Which Events go: those that are old, and the oldest of more than there may be."""
    oldest_first = sorted(written, key=lambda item: (item[2], item[0]))
    surplus = max(len(oldest_first) - MAX_EVENTS, 0)
    return [
        (key, uid)
        for n, (key, uid, moment) in enumerate(oldest_first)
        if n < surplus or now - moment > EVENT_TTL
    ]


def last_written(event: JsonObject) -> datetime:
    """The latest time that an Event states; what states none is as old as it can be."""
    series: Any = event.get("series") or {}
    stated = (
        event["metadata"].get("creationTimestamp"),
        event.get("lastTimestamp"),
        event.get("deprecatedLastTimestamp"),
        event.get("eventTime"),
        series.get("lastObservedTime"),
    )
    times = [moment for text in stated if text and (moment := _parsed_time(text)) is not None]
    return max(times, default=datetime.min.replace(tzinfo=UTC))


def _parsed_time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
