"""The shards of this process: how many there are, which members share them, and which ones to acquire or hand over.

Every member watches the Leases of the set and computes the same assignment from the live members. A stale view
affects balance but not safety, because each shard has its own Lease. The set Lease stores the number of shards; no
member acquires a shard while a shard of another count may still be held, or while a leader without shard support may
still act.

The member Lease is renewed while the process is ready and deleted when it stops. It only makes the process eligible for
shards; the Leases of the shards fence their holders.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from kubekit.cache.informer import Change, Informer, Pace
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client, Obj
from kubekit.client.builtin import LEASES
from kubekit.client.errors import AlreadyExists, ApiError, Conflict, NotFound
from kubekit.controller.reconcile import Key
from kubekit.leases.lease import Elector, LeaseTerms, LeaseTiming, OnChange, Turnover
from kubekit.leases.shard_records import (
    LeaseRecord,
    Role,
    SetNames,
    agreed_count,
    assignment,
    record_of,
    shard_of,
)
from kubekit.times import rfc3339_microseconds

log = logging.getLogger(__name__)

_LONG_AGO = float("-inf")
EVERY_MEMBER: Final = "every-member"
"""The holder identity in the Lease while members share the shards."""
_TRIES: Final = 3
_SOONER: Final = 0.8
"""Fraction of a period after which the last member to renew checks again."""
_MARGIN = 0.005
"""Seconds to wait beyond an expiry before checking it."""
_DELETE_AFTER_DURATIONS = 10
"""Number of lease durations after which the Lease of an unresponsive member is deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """The identity of a process and information about it for operators."""

    identity: str
    about: Mapping[str, str] = field(default_factory=dict)


class Membership:
    """The Lease of one member."""

    def __init__(
        self,
        client: Client,
        names: SetNames,
        *,
        member: Member,
        now: Callable[[], datetime],
        timing: LeaseTiming,
    ) -> None:
        self._client = client
        self._names = names
        self._identity = member.identity
        self._about = member.about
        self._now = now
        self._timing = timing
        self._known: Obj | None = None
        self._joined_at = ""
        self._good_until = _LONG_AGO

    @property
    def is_known(self) -> bool:
        """Whether other members count this process, as far as it knows."""
        return asyncio.get_running_loop().time() < self._good_until

    async def renew(self) -> None:
        """Try once to renew the Lease."""
        before = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self._timing.retry_period):
                await self._write()
        except (Conflict, AlreadyExists):
            log.info("member lease was modified externally", extra={"member": self._identity})
        except (ApiError, TimeoutError) as error:
            log.warning("member lease not renewed", extra={"member": self._identity, "error": str(error)})
        else:
            self._good_until = before + self._timing.duration

    async def leave(self) -> None:
        """Delete the Lease, which lets other members take over at once."""
        known, self._good_until = self._known, _LONG_AGO
        if known is None:
            return
        metadata = known["metadata"]
        try:
            async with asyncio.timeout(self._timing.retry_period):
                await self._client.delete(
                    LEASES, metadata["name"], metadata["namespace"], uid=metadata["uid"]
                )
        except NotFound:
            pass
        except (ApiError, TimeoutError) as error:
            log.info("member lease not deleted", extra={"member": self._identity, "error": str(error)})

    async def _write(self) -> None:
        known, self._known = self._known, None
        if known is not None:
            try:
                self._known = await self._client.update(LEASES, known | {"spec": self._spec()})
            except (Conflict, NotFound):
                pass
            else:
                return
        try:
            current = await self._client.get(
                LEASES, self._names.member(self._identity), self._names.namespace
            )
        except NotFound:
            lease = self._names.member_lease(self._identity, self._about, self._spec())
            self._known = await self._client.create(LEASES, lease)
        else:
            self._known = await self._client.update(LEASES, current | {"spec": self._spec()})

    def _spec(self) -> Obj:
        moment = rfc3339_microseconds(self._now())
        self._joined_at = self._joined_at or moment
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": self._timing.duration,
            "acquireTime": self._joined_at,
            "renewTime": moment,
        }


class SetLease:
    """The Lease of the shard set, from the view of one member.

    It stores the number of shards and blocks leaders of versions without shards, which elect one leader with the Lease
    of this name. Members acquire it only after such a leader has released it or become unresponsive, and acquire no
    shard before that. From then on the members renew it, and a candidate without shard support waits as for any other
    holder. Each member checks it once per period and renews it if no other member has; the last one to renew checks a
    little earlier, so usually one member writes. A member that has not observed a recent renewal may not write for any
    shard.
    """

    def __init__(
        self, client: Client, names: SetNames, *, now: Callable[[], datetime], timing: LeaseTiming
    ) -> None:
        self._client = client
        self._names = names
        self._now = now
        self._timing = timing
        self._record: LeaseRecord | None = None
        self._seen_at = _LONG_AGO
        self._look_at = _LONG_AGO
        self._read_version = ""
        self._read_at = _LONG_AGO
        """When this member requested the version that it read last; newer versions were written later."""
        self._trusted_until = _LONG_AGO
        self._reported_leader = ""

    @property
    def is_trusted(self) -> bool:
        """Whether no leader without shard support can act now."""
        return asyncio.get_running_loop().time() < self._trusted_until

    def due_in(self) -> float:
        """Seconds until this member should check the Lease."""
        return max(0.0, max(self._look_at, self._free_at()) - asyncio.get_running_loop().time())

    def doubted_in(self) -> float:
        """Seconds until the Lease is no longer trusted; 0 if it is not trusted now."""
        return max(0.0, self._trusted_until - asyncio.get_running_loop().time())

    def observe(self, lease: Obj) -> None:
        """Record an observed Lease; the expiry of a leader counts from the first observation of a version."""
        record = record_of(self._names, lease)
        if self._record is None or record.version != self._record.version:
            if record.holder not in {EVERY_MEMBER, self._record.holder if self._record else None}:
                self._look_at = _LONG_AGO
            self._record = record
            self._seen_at = asyncio.get_running_loop().time()

    def forget(self) -> None:
        """Record that the Lease was deleted."""
        self._record, self._look_at = None, _LONG_AGO

    async def look(self, count: int) -> None:
        """Create, acquire or renew the Lease as needed. A new Lease gets `count` shards."""
        self._look_at = asyncio.get_running_loop().time() + self._timing.retry_period
        try:
            async with asyncio.timeout(self._timing.retry_period):
                for _ in range(_TRIES):
                    if await self._try_renew(count):
                        return
        except (ApiError, TimeoutError) as error:
            log.warning("shard set lease not renewed", extra={"lease": self._names.name, "error": str(error)})

    async def _try_renew(self, count: int) -> bool:
        """Try once; False if another process changed the Lease at the same time."""
        wanted = self._names.set_lease(count)
        requested_at = asyncio.get_running_loop().time()
        try:
            current = await self._client.get(LEASES, self._names.name, self._names.namespace)
        except NotFound:
            made = wanted | {"spec": self._spec({})}
            return await self._try_write(lambda: self._client.create(LEASES, made))
        self.observe(current)
        if self._free_at() > asyncio.get_running_loop().time():
            self._report_leader()
            return True
        if self._is_renewed(current, requested_at):
            return True
        metadata = dict(current["metadata"])
        metadata["labels"] = {**(metadata.get("labels") or {}), **wanted["metadata"]["labels"]}
        metadata["annotations"] = {**wanted["metadata"]["annotations"], **(metadata.get("annotations") or {})}
        made = current | {"metadata": metadata, "spec": self._spec(current.get("spec") or {})}
        return await self._try_write(lambda: self._client.update(LEASES, made))

    def _is_renewed(self, current: Obj, requested_at: float) -> bool:
        """Whether another member has renewed the Lease since the last read."""
        record = record_of(self._names, current)
        before, at = self._read_version, self._read_at
        self._read_version, self._read_at = record.version, requested_at
        if record.holder != EVERY_MEMBER or before in {"", record.version}:
            return False
        self._trusted_until = max(self._trusted_until, at + self._timing.renew_deadline)
        return self.is_trusted

    async def _try_write(self, write: Callable[[], Awaitable[Obj]]) -> bool:
        requested_at = asyncio.get_running_loop().time()
        try:
            written = await write()
        except (Conflict, AlreadyExists, NotFound):
            return False
        self.observe(written)
        self._read_version, self._read_at = record_of(self._names, written).version, requested_at
        self._trusted_until = requested_at + self._timing.renew_deadline
        self._look_at = requested_at + _SOONER * self._timing.retry_period
        return True

    def _free_at(self) -> float:
        record = self._record
        if record is None or record.holder in {"", EVERY_MEMBER}:
            return _LONG_AGO
        return self._seen_at + (record.duration or self._timing.duration)

    def _report_leader(self) -> None:
        leader = self._record.holder if self._record is not None else ""
        if leader != self._reported_leader:
            self._reported_leader = leader
            log.warning(
                "lease held by a leader without shard support; waiting",
                extra={"lease": self._names.name, "leader": leader},
            )

    def _spec(self, before: Obj) -> Obj:
        moment = rfc3339_microseconds(self._now())
        is_taken = before.get("holderIdentity") != EVERY_MEMBER
        return {
            "holderIdentity": EVERY_MEMBER,
            "leaseDurationSeconds": self._timing.duration,
            "acquireTime": moment if is_taken else before.get("acquireTime", moment),
            "renewTime": moment,
            "leaseTransitions": int(before.get("leaseTransitions") or 0) + (is_taken and bool(before)),
        }


@dataclass(frozen=True, slots=True)
class _ObservedLease:
    """A Lease record and when this version was first observed."""

    record: LeaseRecord
    at: float

    def silent_in(self, now: float) -> float:
        """Seconds until the Lease expires."""
        return max(0.0, self.at + self.record.duration - now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """State of the process that the shard set needs."""

    is_ready: Callable[[], bool] = lambda: True
    """Whether this process may hold shards."""
    is_idle: Callable[[int], bool] = lambda _: True
    """Whether no pass is in progress on a shard."""


class ShardSet:
    """The shard set from the view of one member; `run` participates in it."""

    def __init__(
        self,
        client: Client,
        names: SetNames,
        *,
        member: Member,
        count_if_new: int,
        now: Callable[[], datetime],
        work: Work | None = None,
        timing: LeaseTiming | None = None,
        random: Callable[[], float] = random.random,
    ) -> None:
        self.identity = member.identity
        self.turnover = Turnover()
        self._client = client
        self._names = names
        self._count_if_new = count_if_new
        self._now = now
        self._work = work or Work()
        self._timing = timing or LeaseTiming()
        self._random = random
        self._member = Membership(client, names, member=member, now=now, timing=self._timing)
        self._set = SetLease(client, names, now=now, timing=self._timing)
        self._informer = Informer(
            client,
            LEASES,
            namespaces=Namespaces.of(names.namespace),
            labels=names.selector,
            random=random,
            # A stale informer causes a wrong assignment: detect it within the lease duration.
            pace=Pace(watch=self._timing.duration / 2, last_retry=self._timing.retry_period),
        )
        self._informer.subscribe(self._on_lease_change)
        self._observed: dict[str, _ObservedLease] = {}
        self._changed = asyncio.Event()
        self._listeners: list[OnChange] = []
        self._elector: Elector | None = None
        self._wanted: frozenset[int] = frozenset()

    @property
    def shards(self) -> int:
        """The number of shards; 0 before it is known."""
        return self._elector.shards if self._elector is not None else 0

    def held_shards(self) -> list[int]:
        """The shards that this process may act on now."""
        return self._elector.held_shards() if self._elector is not None and self._set.is_trusted else []

    def shard_of(self, key: Key) -> int | None:
        """The shard of an object; None before the number of shards is known."""
        return shard_of(key.namespace, key.name, self._elector.shards) if self._elector is not None else None

    def holds(self, key: Key) -> bool:
        """Whether this process may write for the object now."""
        elector = self._elector
        if elector is None or not self._set.is_trusted:
            return False
        return elector.holds(shard_of(key.namespace, key.name, elector.shards))

    def accepts(self, key: Key) -> bool:
        """Whether this process may start to act on the object now."""
        elector = self._elector
        return elector is not None and elector.accepts(shard_of(key.namespace, key.name, elector.shards))

    def subscribe(self, listener: OnChange) -> None:
        """Call `listener` for every gained and lost shard; for a loss immediately."""
        self._listeners.append(listener)

    async def run(self) -> None:
        """Be a member until canceled, then release all shards and delete the member Lease."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._informer.run(), name="shards-informer")
                group.create_task(self._renew_membership(), name="shards-member")
                await self._informer.synced()
                while True:
                    await self._serve(await self._count())
        finally:
            await self._member.leave()

    async def _renew_membership(self) -> None:
        while True:
            if self._work.is_ready():
                was_known = self._member.is_known
                await self._member.renew()
                if not was_known:
                    self._changed.set()
            await asyncio.sleep(self._timing.retry_period if self._work.is_ready() else self._soon)

    @property
    def _soon(self) -> float:
        return min(self._timing.retry_period, 0.1)

    async def _count(self) -> int:
        """The number of shards, once it is stored in the set Lease."""
        while True:
            self._changed.clear()
            count = agreed_count(self._records())
            if count is not None and self._names.name in self._observed:
                return count
            if self._names.name in self._observed:
                log.error("shard count missing from lease", extra=self._log_fields())
            elif self._work.is_ready():
                await self._set.look(count or self._count_if_new)
            await self._until_changed(self._timing.retry_period)

    async def _serve(self, count: int) -> None:
        """Participate until the number of shards changes."""
        names = self._names
        self._wanted = frozenset()
        elector = Elector(
            self._client,
            name=names.name,
            namespace=names.namespace,
            identity=self.identity,
            now=self._now,
            shards=count,
            timing=self._timing,
            random=self._random,
            terms=LeaseTerms(
                naming=names.shard,
                labels=names.labels(Role.SHARD),
                annotations=names.of_count(count),
                wants=lambda shard: shard in self._wanted,
                is_idle=self._work.is_idle,
            ),
        )
        elector.turnover = self.turnover
        elector.subscribe(self._notify)
        self._elector = elector
        for cached in self._informer.cache.all():
            self._show(elector, record_of(names, cached.view), cached.view)
        log.info("sharding started", extra=self._log_fields() | {"shards": count})
        async with asyncio.TaskGroup() as group:
            running = group.create_task(elector.run(), name="shards-elector")
            try:
                while agreed_count(self._records()) in {count, None}:
                    self._changed.clear()
                    if self._work.is_ready() and self._set.due_in() == 0:
                        await self._set.look(count)
                    await self._until_changed(self._look(elector))
                    await self._tidy()
            finally:
                running.cancel()

    def _look(self, elector: Elector) -> float:
        """Compute the own shards; returns the seconds after which to check again even if nothing changes."""
        now = asyncio.get_running_loop().time()
        members = dict(self._members(now))
        waits = [self._timing.retry_period, *members.values()]
        waits += [seconds for seconds in (self._set.due_in(), self._set.doubted_in()) if seconds]
        foreign = self._foreign(elector.shards, now)
        ours: frozenset[int] = frozenset()
        if foreign:
            waits.append(foreign)
        elif self._set.is_trusted and self._work.is_ready() and self._member.is_known:
            shares = assignment(elector.shards, {*members, self.identity})
            ours = frozenset(shard for shard, member in shares.items() if member == self.identity)
        if ours != self._wanted:
            log.info(
                "shard assignment changed",
                extra=self._log_fields() | {"members": len(members), "shards": len(ours)},
            )
            self._wanted = ours
        for shard in range(elector.shards):
            held, wanted = elector.holds(shard), shard in ours
            free_in = elector.free_in(shard)
            if (held and not wanted) or (wanted and not held and free_in == 0):
                elector.reconsider(shard)
            elif wanted and not held:
                waits.append(free_in)
        return min(waits) + _MARGIN

    def _members(self, now: float) -> Iterator[tuple[str, float]]:
        """The other live members, and the seconds until the Lease of each expires."""
        for item in self._observed.values():
            if item.record.role is Role.MEMBER and item.record.holder not in {"", self.identity}:
                left = item.silent_in(now)
                if left > 0:
                    yield item.record.holder, left

    def _foreign(self, count: int, now: float) -> float:
        """Seconds for which a shard of another count may still be held; 0 if none is."""
        return max(
            (
                item.silent_in(now)
                for item in self._observed.values()
                if item.record.role is Role.SHARD
                and item.record.count != count
                and item.record.holder not in {"", self.identity}
            ),
            default=0.0,
        )

    async def _tidy(self) -> None:
        """Delete the Leases of members that stopped long ago; only one live member does so."""
        now = asyncio.get_running_loop().time()
        if self.identity != min([self.identity, *(name for name, _ in self._members(now))]):
            return
        for item in list(self._observed.values()):
            record = item.record
            if record.role is Role.MEMBER and now > item.at + _DELETE_AFTER_DURATIONS * max(
                record.duration, 1.0
            ):
                with contextlib.suppress(NotFound, Conflict, ApiError):
                    await self._client.delete(LEASES, record.name, self._names.namespace, uid=record.uid)

    def _on_lease_change(self, change: Change) -> None:
        lease = change.subject
        if change.new is None:
            self._observed.pop(lease.name, None)
            if lease.name == self._names.name:
                self._set.forget()
        else:
            if lease.name == self._names.name:
                self._set.observe(dict(lease.view))
            record = record_of(self._names, lease.view)
            self._observed[lease.name] = _ObservedLease(record, asyncio.get_running_loop().time())
            if self._elector is not None:
                self._show(self._elector, record, lease.view)
        self._changed.set()

    @staticmethod
    def _show(elector: Elector, record: LeaseRecord, lease: Mapping[str, object]) -> None:
        if record.number is not None and record.number < elector.shards:
            elector.observe(record.number, dict(lease))

    def _records(self) -> list[LeaseRecord]:
        return [item.record for item in self._observed.values()]

    async def _until_changed(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    def _notify(self, shard: int, is_held: bool) -> None:
        for listener in self._listeners:
            listener(shard, is_held)

    def _log_fields(self) -> dict[str, str]:
        return {"set": self._names.name, "member": self.identity}
