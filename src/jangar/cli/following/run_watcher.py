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
from jangar.cli.following.tree import RunSnapshot
from jangar.domain.orchestration.definition import Definition
from jangar.kinds.registry import step_adapter
from jangar.operations.run_reading import RUNS, ReadRun, is_over, read_object
from jangar.operations.watching import changes
from kubekit.client.errors import NotFound, is_transient

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from kubekit.client.api_client import Client, Obj

MAX_DEPTH: Final = 5
MAX_NESTED: Final = 200
"""Nested runs that are read; steps with further ones are shown as one line."""
QUIET_SECONDS: Final = 5.0
"""Time without changes after which a request checks that the API still responds."""
RETRY_SECONDS: Final = 1.0
MAX_SILENCE_SECONDS: Final = 60.0
MIN_PAUSE_SECONDS: Final = 0.05
PAUSE_FACTOR: Final = 3.0
"""Pause after a read, as a multiple of its duration: following a large run must not keep a core busy."""


class RunReader:
    """Reads a run repeatedly and caches what cannot change: pinned definitions and ended runs."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._definitions: dict[str, Definition] = {}
        self._over: dict[str, RunSnapshot] = {}
        self._views: dict[str, ReadRun] = {}
        self._left = MAX_NESTED

    async def read(self, obj: "Obj") -> RunSnapshot:
        self._left = MAX_NESTED
        return await self._read(obj, MAX_DEPTH)

    async def _read(self, obj: "Obj", depth: int) -> RunSnapshot:
        uid = obj["metadata"]["uid"]
        if uid in self._over:
            return self._over[uid]
        read = await read_object(self._client, obj, self._definitions.get(uid))
        if read.view is not None:
            self._views[uid] = read
            if (obj.get("status") or {}).get("snapshotRef"):
                self._definitions[uid] = read.view.definition
        elif not is_over(obj):
            # Its pages are being written: show the previous state.
            read = self._views.get(uid, read)
        inside = await self._inside(read, depth) if depth else {}
        snapshot = RunSnapshot(read=read, inside=inside)
        if is_over(obj) and all(is_over(dict(nested.read.obj)) for nested in inside.values()):
            self._over[uid] = snapshot
        return snapshot

    async def _inside(self, read: ReadRun, depth: int) -> dict[str, RunSnapshot]:
        nested: dict[str, RunSnapshot] = {}
        for state in read.record.steps:
            if not step_adapter(state.kind).view.opens_run or not state.child or self._left <= 0:
                continue
            self._left -= 1
            known = self._over.get(state.child_uid or "")
            if known is not None:
                nested[state.name] = known
                continue
            with contextlib.suppress(NotFound):
                child = await self._client.get(RUNS, state.child, read.identity.namespace)
                nested[state.name] = await self._read(child, depth - 1)
        return nested


async def watch_run(session: "Session", obj: "Obj", *, tick: float) -> AsyncGenerator[RunSnapshot]:
    """Snapshots of the run: after every change and at least every `tick` seconds, until it ends.

    Raises Failure if the run is deleted, and the error of the API if it does not respond for a minute.
    """
    reader, latest, heartbeat = RunReader(session.client), _Latest(obj), _Heartbeat(session.client)
    watching = asyncio.ensure_future(_watch(session, latest))
    snapshot: RunSnapshot | None = None
    try:
        while True:
            began, now = time.monotonic(), latest.take()
            await heartbeat.beat(latest, has_changed=now is not None)
            if now is not None or snapshot is None or snapshot.inside:
                snapshot = await _read(reader, latest.obj) or snapshot
            if snapshot is not None:
                yield replace(snapshot, silence=heartbeat.silence)
                if is_over(dict(snapshot.read.obj)):
                    return
            await asyncio.sleep(max((time.monotonic() - began) * PAUSE_FACTOR, MIN_PAUSE_SECONDS))
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
    """The newest version of the object, and whether it was read since it changed."""

    def __init__(self, obj: "Obj") -> None:
        self.obj = obj
        self.changed = asyncio.Event()
        self.changed.set()

    def set(self, obj: "Obj") -> None:
        self.obj = obj
        self.changed.set()

    def take(self) -> "Obj | None":
        if not self.changed.is_set():
            return None
        self.changed.clear()
        return self.obj


class _Heartbeat:
    """Checks that the API still responds: a watch that reconnects reports nothing."""

    def __init__(self, client: "Client") -> None:
        self._client = client
        self._last_response = self._last_request = time.monotonic()
        self.silence = timedelta(0)
        """How long the API has not responded; zero while it does."""

    async def beat(self, latest: _Latest, *, has_changed: bool) -> None:
        """Send a request if there was no change for a while; raises the error after a minute of failures."""
        now = time.monotonic()
        if has_changed:
            self._last_response, self.silence = now, timedelta(0)
        elif now - max(self._last_response, self._last_request) >= (
            RETRY_SECONDS if self.silence else QUIET_SECONDS
        ):
            self._last_request = now
            try:
                meta = latest.obj["metadata"]
                run = await self._client.get(RUNS, meta["name"], meta["namespace"])
            except Exception as error:
                if not is_transient(error) or now - self._last_response > MAX_SILENCE_SECONDS:
                    raise
                self.silence = timedelta(seconds=now - self._last_response)
            else:
                self._last_response, self.silence = now, timedelta(0)
                if run["metadata"]["uid"] == meta["uid"]:
                    latest.set(run)


async def _watch(session: "Session", latest: _Latest) -> None:
    """Update the latest object; returns when the run is deleted."""
    meta = latest.obj["metadata"]
    watched = changes(session.client, RUNS, meta["namespace"], name=meta["name"], known=[latest.obj])
    try:
        async with aclosing(watched) as events:
            async for kind, obj in events:
                if kind == "DELETED" or obj["metadata"]["uid"] != meta["uid"]:
                    return
                latest.set(obj)
    finally:
        latest.changed.set()


async def _read(reader: RunReader, obj: "Obj") -> RunSnapshot | None:
    """A snapshot, or None if the API does not respond."""
    try:
        return await reader.read(obj)
    except Exception as error:
        if not is_transient(error):
            raise
        return None


def _deleted(obj: "Obj") -> Failure:
    return Failure(f"{obj['metadata']['name']} was deleted", ExitCode.NOT_FOUND)
