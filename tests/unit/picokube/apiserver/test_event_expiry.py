"""D4: Events are bounded in time and number."""

import asyncio
from datetime import timedelta

from picokube.apiserver.lifecycle.event_expiry import (
    EVENT_TTL,
    MAX_EVENTS,
    EventExpiry,
    expired_events,
    last_written,
)
from picokube.apiserver.storage.store import Key
from support.server_parts import NOW, make, server_parts


def _event(**fields):
    return {"kind": "Event", "involvedObject": {"namespace": "n", "name": "x"}, **fields}


def test_an_event_counts_from_the_last_time_it_states():
    """An Event that is counted again lives on."""
    meta = {"creationTimestamp": "2026-02-07T00:00:00Z"}
    later, latest = "2026-02-07T00:30:00Z", "2026-02-07T00:45:00.000000Z"
    assert last_written({"metadata": meta}) == NOW
    assert last_written({"metadata": meta, "lastTimestamp": later}) == NOW + timedelta(minutes=30)
    series = {"series": {"lastObservedTime": latest}, "lastTimestamp": later}
    assert last_written({"metadata": meta, **series}) == NOW + timedelta(minutes=45)
    assert last_written({"metadata": meta, "lastTimestamp": "nonsense"}) == NOW


def test_old_events_and_the_oldest_of_too_many_expire():
    """Exactly those: an Event is kept for an hour unless others need its place."""
    fresh = [
        (Key("events", "n", f"e{n:05}"), str(n), NOW + timedelta(seconds=n)) for n in range(MAX_EVENTS + 2)
    ]
    assert [uid for _, uid in expired_events(fresh, now=NOW)] == ["0", "1"]
    few = fresh[:3]
    assert expired_events(few, now=NOW + EVENT_TTL) == []
    gone = expired_events(few, now=NOW + EVENT_TTL + timedelta(seconds=1, milliseconds=1))
    assert [uid for _, uid in gone] == ["0", "1"]


def test_a_sweep_deletes_from_the_store(tmp_path):
    """By uid, so that an Event of the same name that came since stays."""

    async def story():
        async with server_parts(tmp_path) as serving:
            old = (NOW - EVENT_TTL - timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
            await make(serving, "events", _event(lastTimestamp=old), name="counted-at-creation")
            clock = {"now": NOW}
            object.__setattr__(serving, "clock", lambda: clock["now"])
            await EventExpiry(serving).sweep()
            kept = [item.key.name for item in serving.store.list("events").objects]
            clock["now"] = NOW + EVENT_TTL + timedelta(seconds=1)
            await make(serving, "events", _event(), name="fresh")
            await EventExpiry(serving).sweep()
            return kept, [item.key.name for item in serving.store.list("events").objects]

    assert asyncio.run(story()) == (["counted-at-creation"], ["fresh"])
