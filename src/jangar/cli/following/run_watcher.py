"""Watches a run and reads its nested runs after every change."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from jangar.cli.api_session import Failure
from jangar.cli.exit_codes import ExitCode
from jangar.cli.following.tree import Seen
from jangar.cli.runs.reading import RUNS, ReadRun, read_object
from jangar.cli.runs.waiting import changes
from jangar.domain.orchestration.definition import Definition
from jangar.kinds.registry import step_adapter
from jangar.server.submit import is_over
from kubekit.client.errors import NotFound, is_transient

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from kubekit.client.api_client import Client, Obj

MAX_DEPTH: Final = 5
MAX_NESTED: Final = 200
"""Nested runs that are looked into; beyond, their steps are shown as one line each."""
QUIET: Final = 5.0
"""Seconds without news after which it is asked whether the API is still there."""
LOOK_AGAIN: Final = 1.0
MAX_SILENCE: Final = 60.0
MIN_PAUSE: Final = 0.05
RESTING: Final = 3.0
"""So many times as long as a look took is waited before the next: a big run does not keep a core busy."""


class RunReader:
    """Reads a run again and again, remembering what cannot change: pinned definitions and runs that are over."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._definitions: dict[str, Definition] = {}
        self._over: dict[str, Seen] = {}
        self._views: dict[str, ReadRun] = {}
        self._left = MAX_NESTED

    async def seen(self, obj: "Obj") -> Seen:
        self._left = MAX_NESTED
        return await self._seen(obj, MAX_DEPTH)

    async def _seen(self, obj: "Obj", depth: int) -> Seen:
        uid = obj["metadata"]["uid"]
        if uid in self._over:
            return self._over[uid]
        read = await read_object(self._client, obj, self._definitions.get(uid))
        if read.view is not None:
            self._views[uid] = read
            if (obj.get("status") or {}).get("snapshotRef"):
                self._definitions[uid] = read.view.definition
        elif not is_over(obj):
            # Its pages are being written: what was seen a moment ago is better than nothing.
            read = self._views.get(uid, read)
        inside = await self._inside(read, depth) if depth else {}
        seen = Seen(read=read, inside=inside)
        if is_over(obj) and all(is_over(dict(item.read.obj)) for item in inside.values()):
            self._over[uid] = seen
        return seen

    async def _inside(self, read: ReadRun, depth: int) -> dict[str, Seen]:
        found: dict[str, Seen] = {}
        for state in read.record.steps:
            if not step_adapter(state.kind).view.opens_run or not state.child or self._left <= 0:
                continue
            self._left -= 1
            known = self._over.get(state.child_uid or "")
            if known is not None:
                found[state.name] = known
                continue
            with contextlib.suppress(NotFound):
                child = await self._client.get(RUNS, state.child, read.identity.namespace)
                found[state.name] = await self._seen(child, depth - 1)
        return found


async def watch_run(session: "Session", obj: "Obj", *, tick: float) -> AsyncGenerator[Seen]:
    """The run as it is, again after every change and at least every `tick` seconds, last when it is over.

    Raises Failure if the run is deleted, and what the API says if it does not answer for long.
    """
    reader, latest, heartbeat = RunReader(session.client), _Latest(obj), _Heartbeat(session.client)
    watching = asyncio.ensure_future(_watch(session, latest))
    seen: Seen | None = None
    try:
        while True:
            began, now = time.monotonic(), latest.take()
            await heartbeat.beat(latest, is_news=now is not None)
            if now is not None or seen is None or seen.inside:
                seen = await _read(reader, latest.obj) or seen
            if seen is not None:
                yield replace(seen, silence=heartbeat.silence)
                if is_over(dict(seen.read.obj)):
                    return
            await asyncio.sleep(max((time.monotonic() - began) * RESTING, MIN_PAUSE))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(tick):
                    await latest.changed.wait()
            if watching.done():
                watching.result()
                raise _deleted(latest.obj)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


class _Latest:
    """The newest object, and whether it was looked at."""

    def __init__(self, obj: "Obj") -> None:
        self.obj = obj
        self.changed = asyncio.Event()
        self.changed.set()

    def tell(self, obj: "Obj") -> None:
        self.obj = obj
        self.changed.set()

    def take(self) -> "Obj | None":
        if not self.changed.is_set():
            return None
        self.changed.clear()
        return self.obj


class _Heartbeat:
    """Whether the API still answers: a watch that waits for it to come back says nothing."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._answered = self._asked = time.monotonic()
        self.silence = timedelta(0)
        """How long it has not answered; nothing while it does."""

    async def beat(self, latest: _Latest, *, is_news: bool) -> None:
        """Asks now and then while there is no news; raises what refuses after a while."""
        now = time.monotonic()
        if is_news:
            self._answered, self.silence = now, timedelta(0)
        elif now - max(self._answered, self._asked) >= (LOOK_AGAIN if self.silence else QUIET):
            self._asked = now
            try:
                meta = latest.obj["metadata"]
                found = await self._client.get(RUNS, meta["name"], meta["namespace"])
            except Exception as error:
                if not is_transient(error) or now - self._answered > MAX_SILENCE:
                    raise
                self.silence = timedelta(seconds=now - self._answered)
            else:
                self._answered, self.silence = now, timedelta(0)
                if found["metadata"]["uid"] == meta["uid"]:
                    latest.tell(found)


async def _watch(session: "Session", latest: _Latest) -> None:
    """Ends when the run is gone."""
    meta = latest.obj["metadata"]
    found = changes(session.client, RUNS, meta["namespace"], name=meta["name"], known=[latest.obj])
    try:
        async with aclosing(found) as each_change:
            async for kind, obj in each_change:
                if kind == "DELETED" or obj["metadata"]["uid"] != meta["uid"]:
                    return
                latest.tell(obj)
    finally:
        latest.changed.set()


async def _read(reader: RunReader, obj: "Obj") -> Seen | None:
    """None if the API does not answer just now."""
    try:
        return await reader.seen(obj)
    except Exception as error:
        if not is_transient(error):
            raise
        return None


def _deleted(obj: "Obj") -> Failure:
    return Failure(f"{obj['metadata']['name']} was deleted", ExitCode.NOT_FOUND)
