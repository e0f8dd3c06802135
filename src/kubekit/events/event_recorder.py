"""Records Events about objects, as `kubectl describe` shows them. Never blocks and never raises an error.

Repeated records are one Event with a count. Events of an object beyond its rate limit, and Events that don't fit into
the queue, are dropped and counted. Only `now` reads a wall clock.
"""

import asyncio
import logging
import random
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias

from kubekit.client.api_client import Client, Obj, PatchKind
from kubekit.client.builtin import EVENTS
from kubekit.client.errors import AlreadyExists, ApiError, Conflict, NotFound, is_transient
from kubekit.controller.urgent_work import UrgentWorkGate
from kubekit.controller.workqueue import Backoff, ShutDown, WorkQueue
from kubekit.times import rfc3339_seconds

log = logging.getLogger(__name__)
EventType: TypeAlias = Literal["Normal", "Warning"]
MAX_MESSAGE_LENGTH = 1024
"""Maximum length of a message that the API server accepts, in bytes."""
_MAX_REASON = 128
_MAX_NAME_PREFIX = 253 - 17
_COMBINED = "(combined from similar events)"
"""The text of client-go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLimits:
    """Rate limits, delays and retries of Events."""

    burst: int = 25
    """Number of Events about one object before its rate limit applies."""
    refill_seconds: float = 300.0
    """Seconds after which an object may have one more Event."""
    normal_burst: int = 0
    """Burst of Normal Events of all objects. 0 means no limit. It doesn't apply to Warnings."""
    normal_per_second: float = 0.0
    """Sustained rate of Normal Events."""
    patience: float = 0.0
    """Seconds before an Event is written, to prefer other work and to count repetitions."""
    similar: int = 25
    """Number of Events about one object with the same reason, before further ones are combined."""
    combined_patience: float = 1.0
    """Seconds between two writes of a combined Event."""
    capacity: int = 4096
    """Number of Events that wait to be written, and that are remembered to count repetitions."""
    writers: int = 4
    tries: int = 6
    flush_bound: float = 5.0
    """Seconds to write the remaining Events at shutdown."""


@dataclass(frozen=True, slots=True)
class RepeatedEvent:
    """A recorded Event with its count and times."""

    uid: str
    type: str
    reason: str
    message: str
    count: int
    first: datetime
    last: datetime

    @property
    def same(self) -> tuple[str, str, str, str]:
        """The key of the Event."""
        return (self.uid, self.type, self.reason, self.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectReference:
    """The object that an Event is about."""

    api_version: str
    kind: str
    name: str
    uid: str
    namespace: str = ""
    resource_version: str = ""

    @classmethod
    def of(cls, obj: Obj) -> "ObjectReference":
        """The reference to an object."""
        meta = obj["metadata"]
        return cls(
            api_version=obj["apiVersion"],
            kind=obj["kind"],
            name=meta["name"],
            uid=meta.get("uid", ""),
            namespace=meta.get("namespace", ""),
            resource_version=meta.get("resourceVersion", ""),
        )


class _EventKey(NamedTuple):
    """Records with the same key are one Event."""

    uid: str
    type: str
    reason: str
    message: str

    @property
    def combines(self) -> bool:
        return self.message == _COMBINED


class _SimilarKey(NamedTuple):
    """Events with the same key are similar."""

    uid: str
    type: str
    reason: str


@dataclass(slots=True)
class _Series:
    """One Event: what is written, and what happened since."""

    about: ObjectReference
    action: str
    message: str
    first: datetime
    last: datetime
    count: int = 1
    written: bool = False
    name: str = ""
    uid: str = ""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float = field(default=0.0)

    def take(self, now: float, *, most: int, per_second: float) -> bool:
        """Take a token. Whether there was one."""
        self.tokens = min(float(most), self.tokens + (now - self.filled_at) * per_second)
        self.filled_at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class EventRecorder:
    """Queues Events, which `run` writes in the background."""

    def __init__(
        self,
        client: Client,
        *,
        component: str,
        now: Callable[[], datetime],
        instance: str = "",
        random: Callable[[], float] = random.random,
        limits: EventLimits | None = None,
        urgent_work: UrgentWorkGate | None = None,
    ) -> None:
        self.dropped = 0
        """Number of records that were not written: rate limit, full queue, rejected, or shutdown."""
        self.on_recorded: Callable[[RepeatedEvent], None] = lambda _: None
        """Called at once for every accepted record, before it is written."""
        self._client = client
        self.component = component
        self._instance = instance or component
        self._now = now
        self._limits = limits or EventLimits()
        self._queue: WorkQueue[_EventKey] = WorkQueue(
            backoff=Backoff(first=0.1, limit=10.0), random=random, urgent_work=urgent_work
        )
        self._pending: set[_EventKey] = set()
        self._series: OrderedDict[_EventKey, _Series] = OrderedDict()
        self._similar: OrderedDict[_SimilarKey, int] = OrderedDict()
        """Numbers of similar Events."""
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._normal: _Bucket | None = None
        self._names = 0

    def record(
        self,
        about: ObjectReference | Obj,
        *,
        type: EventType,  # noqa: A002 (the name of the field)
        reason: str,
        message: str,
        action: str = "",
    ) -> None:
        """Queue an Event. Returns at once."""
        reference = about if isinstance(about, ObjectReference) else ObjectReference.of(about)
        key = _EventKey(reference.uid or str(reference), type, reason[:_MAX_REASON], _truncate(message))
        now = self._now().astimezone(UTC)
        series = self._series.get(key)
        if series is None and self._similar.get(_SimilarKey(*key[:3]), 0) >= self._limits.similar:
            reported, key = key.message, key._replace(message=_COMBINED)
            series = self._series.get(key)
        else:
            reported = key.message
        if series is not None:
            series.count += 1
            series.last = now
            series.message = reported
            self._report(key, series)
        if key in self._pending:
            return
        if len(self._pending) >= self._limits.capacity or not self._may_write(key):
            self.dropped += 1
            return
        if series is None:
            series = _Series(about=reference, action=action, message=reported, first=now, last=now)
            self._series[key] = series
            self._report(key, series)
            self._count_similar(_SimilarKey(*key[:3]))
        self._series.move_to_end(key)
        self._pending.add(key)
        self._forget_oldest()
        self._queue.add_after(key, self._limits.combined_patience if key.combines else self._limits.patience)

    def _report(self, key: _EventKey, series: _Series) -> None:
        self.on_recorded(RepeatedEvent(*key, series.count, series.first, series.last))

    def _count_similar(self, similar: _SimilarKey) -> None:
        self._similar[similar] = self._similar.get(similar, 0) + 1
        self._similar.move_to_end(similar)
        if len(self._similar) > self._limits.capacity:
            self._similar.popitem(last=False)

    @property
    def pending(self) -> int:
        """The number of Events that are not written yet."""
        return len(self._pending)

    async def run(self) -> None:
        """Write until canceled, then write the remaining Events with a timeout."""
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self._limits.writers):
                    group.create_task(self._work(), name=f"event-writer-{number}")
        finally:
            await self._flush()

    async def _flush(self) -> None:
        self._queue.shut_down()
        try:
            async with asyncio.timeout(self._limits.flush_bound):
                for key in sorted(self._pending, key=lambda item: self._series[item].first):
                    await self._try(key)
        except TimeoutError:
            log.warning("events dropped at shutdown", extra={"events": len(self._pending)})
        self.dropped += len(self._pending)
        self._pending.clear()

    async def _work(self) -> None:
        while True:
            try:
                key = await self._queue.get()
            except ShutDown:
                return
            try:
                if not await self._try(key):
                    self._try_later(key)
            except Exception as error:  # noqa: BLE001 (a failed Event must not end the process)
                self._give_up(key, repr(error))
            finally:
                self._queue.done(key)

    def _try_later(self, key: _EventKey) -> None:
        if self._queue.failures(key) >= self._limits.tries:
            self._give_up(key, "it failed too often")
        else:
            self._queue.add_rate_limited(key)

    async def _try(self, key: _EventKey) -> bool:
        """Try to write the Event. False if a later try may succeed."""
        series = self._series[key]
        count = series.count
        try:
            await self._write(key, series)
        except ApiError as error:
            if is_transient(error):
                return False
            self._give_up(key, str(error))
            return True
        self._queue.forget(key)
        if series.count == count:
            self._pending.discard(key)
        else:
            self._queue.add_after(key, self._limits.combined_patience if key.combines else 0.0)
        return True

    def _give_up(self, key: _EventKey, reason: str) -> None:
        self.dropped += 1
        self._queue.forget(key)
        self._pending.discard(key)
        self._series.pop(key, None)
        log.warning("event not written", extra={"event": key.reason, "about": key.uid, "error": reason})

    async def _write(self, key: _EventKey, series: _Series) -> None:
        if series.written:
            try:
                await self._client.patch(
                    EVENTS,
                    series.name,
                    _namespace(series.about),
                    {
                        "metadata": {"uid": series.uid},
                        "count": series.count,
                        "lastTimestamp": rfc3339_seconds(series.last),
                        **({"message": _message(key, series)} if key.combines else {}),
                    },
                    kind=PatchKind.MERGE,
                )
            except (NotFound, Conflict):
                # The Event expired. Create a new one with the count so far.
                series.written = False
                series.name = ""
            else:
                return
        series.name = series.name or self._name(series)
        try:
            created = await self._client.create(EVENTS, self._body(key, series))
        except AlreadyExists:
            await self._adopt(key, series)
        else:
            series.uid = created["metadata"]["uid"]
            series.written = True

    async def _adopt(self, key: _EventKey, series: _Series) -> None:
        """The name is taken: by this Event, if the response to its creation was lost, or by another one."""
        existing = await self._client.get(EVENTS, series.name, _namespace(series.about))
        if (existing.get("reason"), existing.get("message")) == (
            key.reason,
            _message(key, series),
        ) and existing["involvedObject"].get("uid", "") == series.about.uid:
            series.uid = existing["metadata"]["uid"]
            series.written = True
        else:
            series.name = self._name(series)
        await self._write(key, series)

    def _body(self, key: _EventKey, series: _Series) -> dict[str, Any]:
        about = series.about
        involved = {
            "apiVersion": about.api_version,
            "kind": about.kind,
            "namespace": about.namespace,
            "name": about.name,
            "uid": about.uid,
            "resourceVersion": about.resource_version,
        }
        body: dict[str, Any] = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": series.name, "namespace": _namespace(about)},
            "involvedObject": {name: value for name, value in involved.items() if value},
            "type": key.type,
            "reason": key.reason,
            "message": _message(key, series),
            "count": series.count,
            "firstTimestamp": rfc3339_seconds(series.first),
            "lastTimestamp": rfc3339_seconds(series.last),
            "source": {"component": self.component},
            "reportingComponent": self.component,
            "reportingInstance": self._instance,
        }
        if series.action:
            body["action"] = series.action
        return body

    def _name(self, series: _Series) -> str:
        self._names += 1
        nanoseconds = int(self._now().timestamp() * 1_000_000) * 1000 + self._names % 1000
        return f"{series.about.name[:_MAX_NAME_PREFIX].rstrip('.-')}.{nanoseconds:016x}"

    def _may_write(self, key: _EventKey) -> bool:
        now, limits = asyncio.get_running_loop().time(), self._limits
        if limits.normal_burst and key.type == "Normal":
            self._normal = self._normal or _Bucket(tokens=float(limits.normal_burst), filled_at=now)
            if not self._normal.take(now, most=limits.normal_burst, per_second=limits.normal_per_second):
                return False
        bucket = self._buckets.setdefault(key.uid, _Bucket(tokens=float(limits.burst), filled_at=now))
        self._buckets.move_to_end(key.uid)
        if len(self._buckets) > limits.capacity:
            self._buckets.popitem(last=False)
        return bucket.take(now, most=limits.burst, per_second=1 / limits.refill_seconds)

    def _forget_oldest(self) -> None:
        while len(self._series) > self._limits.capacity:
            oldest = next((key for key in self._series if key not in self._pending), None)
            if oldest is None:
                return
            del self._series[oldest]


def _message(key: _EventKey, series: _Series) -> str:
    """The message to write. A combined Event shows the latest combined message."""
    return _truncate(f"{_COMBINED}: {series.message}") if key.combines else key.message


def _namespace(about: ObjectReference) -> str:
    return about.namespace or "default"


def _truncate(message: str) -> str:
    encoded = message.encode()
    if len(encoded) <= MAX_MESSAGE_LENGTH:
        return message
    return encoded[: MAX_MESSAGE_LENGTH - 3].decode(errors="ignore") + "..."
