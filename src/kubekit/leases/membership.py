"""The Leases of the shard set and of its members, from the view of one member.

The member Lease is renewed while the process is ready and deleted when it stops. It only makes the process eligible for
shards; the Leases of the shards fence their holders.

The Lease of the set stores the number of shards and blocks leaders of versions without shards, which elect one leader
with the Lease of this name. Members acquire it only after such a leader has released it or become unresponsive, and
acquire no shard before that. From then on the members renew it, and a candidate without shard support waits as for any
other holder. Each member checks it once per period and renews it if no other member has; the last one to renew checks a
little earlier, so usually one member writes. A member that has not observed a recent renewal may not write for any
shard.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from kubekit.client.api_client import Client, Obj
from kubekit.client.builtin import LEASES
from kubekit.client.errors import AlreadyExists, ApiError, Conflict, NotFound
from kubekit.leases.lease import LeaseTiming
from kubekit.leases.shard_records import LeaseRecord, SetNames, record_of
from kubekit.times import rfc3339_microseconds

log = logging.getLogger(__name__)

_LONG_AGO = float("-inf")


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


EVERY_MEMBER: Final = "every-member"
"""The holder identity in the Lease while members share the shards."""
_TRIES: Final = 3
_SOONER: Final = 0.8
"""Fraction of a period after which the last member to renew checks again."""


class SetLease:
    """The Lease of the shard set, from the view of one member."""

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
