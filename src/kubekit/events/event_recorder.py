"""How much is told by Events, and what was told. Values."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLimits:
    """How much is told: of one object, at once, and how long is tried."""

    burst: int = 25
    """Records about one object before it must wait for another."""
    refill_seconds: float = 300.0
    """After so long an object may make one more."""
    normal_burst: int = 0
    """Normal Events of all objects at once; 0 does not bound them. Warnings are never held back by it."""
    normal_per_second: float = 0.0
    """How many of them there may be in the long run."""
    patience: float = 0.0
    """Seconds before an Event is written: what it tells of goes on first, and what is said again is counted."""
    similar: int = 25
    """Events about one object that differ in their message alone, before the next ones are combined into one."""
    combined_patience: float = 1.0
    """Seconds between two writes of a combined Event."""
    capacity: int = 4096
    """Events that wait to be written, and that are remembered to be counted."""
    writers: int = 4
    tries: int = 6
    flush_bound: float = 5.0
    """Seconds that the end waits for what is not written yet."""


@dataclass(frozen=True, slots=True)
class RepeatedEvent:
    """An event that was recorded before, with its count and times."""

    uid: str
    type: str
    reason: str
    message: str
    count: int
    first: datetime
    last: datetime

    @property
    def same(self) -> tuple[str, str, str, str]:
        """What makes two of them one."""
        return (self.uid, self.type, self.reason, self.message)


log = logging.getLogger(__name__)

EventType: TypeAlias = Literal["Normal", "Warning"]

MAX_MESSAGE_LENGTH = 1024
"""What the API server accepts of a message."""
_LONGEST_REASON = 128
_NAME_ROOM = 253 - 17


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectReference:
    """Which object an Event is about."""

    api_version: str
    kind: str
    name: str
    uid: str
    namespace: str = ""
    resource_version: str = ""

    @classmethod
    def of(cls, obj: Obj) -> "ObjectReference":
        """The reference to a whole object."""
        meta = obj["metadata"]
        return cls(
            api_version=obj["apiVersion"],
            kind=obj["kind"],
            name=meta["name"],
            uid=meta.get("uid", ""),
            namespace=meta.get("namespace", ""),
            resource_version=meta.get("resourceVersion", ""),
        )


_COMBINED = "(combined from similar events)"
"""How client-go words it, and kubectl's users know it."""


class _Same(NamedTuple):
    """What makes two records one Event."""

    uid: str
    type: str
    reason: str
    message: str

    @property
    def combines(self) -> bool:
        return self.message == _COMBINED


class _Alike(NamedTuple):
    """What makes two Events similar."""

    uid: str
    type: str
    reason: str


@dataclass(slots=True)
class _Series:
    """One Event: what is known to be written, and what has happened since."""

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
        """Take a token, if there is one."""
        self.tokens = min(float(most), self.tokens + (now - self.filled_at) * per_second)
        self.filled_at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


class EventRecorder:
    """Takes records at once and writes them in the background; `run` is the background."""

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
        """Records that never became an Event: too many about one object, a full queue, a refusal, the end."""
        self.on_recorded: Callable[[RepeatedEvent], None] = lambda _: None
        """RepeatedEvent of every record that becomes an Event, at once and whether or not that can be written."""
        self._client = client
        self.component = component
        self._instance = instance or component
        self._now = now
        self._limits = limits or EventLimits()
        self._queue: WorkQueue[_Same] = WorkQueue(
            backoff=Backoff(first=0.1, limit=10.0), random=random, urgent_work=urgent_work
        )
        self._pending: set[_Same] = set()
        self._series: OrderedDict[_Same, _Series] = OrderedDict()
        self._alike: OrderedDict[_Alike, int] = OrderedDict()
        """How many Events there are that are similar."""
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._normal: _Bucket | None = None
        self._names = 0

    def record(
        self,
        about: ObjectReference | Obj,
        *,
        type: EventType,  # noqa: A002 (the field's own name)
        reason: str,
        message: str,
        action: str = "",
    ) -> None:
        """Have it told; returns at once."""
        reference = about if isinstance(about, ObjectReference) else ObjectReference.of(about)
        same = _Same(reference.uid or str(reference), type, reason[:_LONGEST_REASON], _shortened(message))
        now = self._now().astimezone(UTC)
        series = self._series.get(same)
        if series is None and self._alike.get(_Alike(*same[:3]), 0) >= self._limits.similar:
            reported, same = same.message, same._replace(message=_COMBINED)
            series = self._series.get(same)
        else:
            reported = same.message
        if series is not None:
            series.count += 1
            series.last = now
            series.message = reported
            self._tell(same, series)
        if same in self._pending:
            return
        if len(self._pending) >= self._limits.capacity or not self._may_write(same):
            self.dropped += 1
            return
        if series is None:
            series = _Series(about=reference, action=action, message=reported, first=now, last=now)
            self._series[same] = series
            self._tell(same, series)
            self._count_alike(_Alike(*same[:3]))
        self._series.move_to_end(same)
        self._pending.add(same)
        self._forget_oldest()
        self._queue.add_after(
            same, self._limits.combined_patience if same.combines else self._limits.patience
        )

    def _tell(self, same: _Same, series: _Series) -> None:
        self.on_recorded(RepeatedEvent(*same, series.count, series.first, series.last))

    def _count_alike(self, alike: _Alike) -> None:
        self._alike[alike] = self._alike.get(alike, 0) + 1
        self._alike.move_to_end(alike)
        if len(self._alike) > self._limits.capacity:
            self._alike.popitem(last=False)

    @property
    def pending(self) -> int:
        """Events that are not written yet."""
        return len(self._pending)

    async def run(self) -> None:
        """Write until cancelled; then what is left is written within a bound."""
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
                for same in sorted(self._pending, key=lambda item: self._series[item].first):
                    await self._try(same)
        except TimeoutError:
            log.warning("events dropped at shutdown", extra={"events": len(self._pending)})
        self.dropped += len(self._pending)
        self._pending.clear()

    async def _work(self) -> None:
        while True:
            try:
                same = await self._queue.get()
            except ShutDown:
                return
            try:
                if not await self._try(same):
                    self._try_later(same)
            except Exception as error:  # noqa: BLE001 (an Event is never worth the process)
                self._give_up(same, repr(error))
            finally:
                self._queue.done(same)

    def _try_later(self, same: _Same) -> None:
        if self._queue.failures(same) >= self._limits.tries:
            self._give_up(same, "it failed too often")
        else:
            self._queue.add_rate_limited(same)

    async def _try(self, same: _Same) -> bool:
        """Whether it is over with this Event, well or not; False if a later try may do better."""
        series = self._series[same]
        count = series.count
        try:
            await self._write(same, series)
        except ApiError as error:
            if is_transient(error):
                return False
            self._give_up(same, str(error))
            return True
        self._queue.forget(same)
        if series.count == count:
            self._pending.discard(same)
        else:
            self._queue.add_after(same, self._limits.combined_patience if same.combines else 0.0)
        return True

    def _give_up(self, same: _Same, reason: str) -> None:
        self.dropped += 1
        self._queue.forget(same)
        self._pending.discard(same)
        self._series.pop(same, None)
        log.warning("event not written", extra={"event": same.reason, "about": same.uid, "error": reason})

    async def _write(self, same: _Same, series: _Series) -> None:
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
                        **({"message": _worded(same, series)} if same.combines else {}),
                    },
                    kind=PatchKind.MERGE,
                )
            except (NotFound, Conflict):
                # It has expired, as Events do: told anew, with the count so far.
                series.written = False
                series.name = ""
            else:
                return
        series.name = series.name or self._name(series)
        try:
            created = await self._client.create(EVENTS, self._body(same, series))
        except AlreadyExists:
            await self._adopt(same, series)
        else:
            series.uid = created["metadata"]["uid"]
            series.written = True

    async def _adopt(self, same: _Same, series: _Series) -> None:
        """The name is taken: by this very Event, whose answer was lost, or by another."""
        found = await self._client.get(EVENTS, series.name, _namespace(series.about))
        if (found.get("reason"), found.get("message")) == (same.reason, _worded(same, series)) and found[
            "involvedObject"
        ].get("uid", "") == series.about.uid:
            series.uid = found["metadata"]["uid"]
            series.written = True
        else:
            series.name = self._name(series)
        await self._write(same, series)

    def _body(self, same: _Same, series: _Series) -> dict[str, Any]:
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
            "involvedObject": {key: value for key, value in involved.items() if value},
            "type": same.type,
            "reason": same.reason,
            "message": _worded(same, series),
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
        return f"{series.about.name[:_NAME_ROOM].rstrip('.-')}.{nanoseconds:016x}"

    def _may_write(self, same: _Same) -> bool:
        now, limits = asyncio.get_running_loop().time(), self._limits
        if limits.normal_burst and same.type == "Normal":
            self._normal = self._normal or _Bucket(tokens=float(limits.normal_burst), filled_at=now)
            if not self._normal.take(now, most=limits.normal_burst, per_second=limits.normal_per_second):
                return False
        bucket = self._buckets.setdefault(same.uid, _Bucket(tokens=float(limits.burst), filled_at=now))
        self._buckets.move_to_end(same.uid)
        if len(self._buckets) > limits.capacity:
            self._buckets.popitem(last=False)
        return bucket.take(now, most=limits.burst, per_second=1 / limits.refill_seconds)

    def _forget_oldest(self) -> None:
        while len(self._series) > self._limits.capacity:
            oldest = next((same for same in self._series if same not in self._pending), None)
            if oldest is None:
                return
            del self._series[oldest]


def _worded(same: _Same, series: _Series) -> str:
    """As it is written: a combined Event shows the latest of what it combines."""
    return _shortened(f"{_COMBINED}: {series.message}") if same.combines else same.message


def _namespace(about: ObjectReference) -> str:
    return about.namespace or "default"


def _shortened(message: str) -> str:
    encoded = message.encode()
    if len(encoded) <= MAX_MESSAGE_LENGTH:
        return message
    return encoded[: MAX_MESSAGE_LENGTH - 3].decode(errors="ignore") + "..."
