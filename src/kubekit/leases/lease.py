"""Elects the process that may act on each shard, through Lease objects.

Safe with clock skew, pauses and partitions, as long as clocks run at about the same rate: a holder counts its
authority from *before* it sent the successful renewal, and only for `renew_deadline`; a candidate acquires the Lease
only after it has observed the record unchanged for the longer `duration`. Wall times in the record are informational.
A request that a holder sent before it lost authority can still arrive, so writes carry preconditions. If a Lease is
deleted manually, its holder recreates it; a process that never observed it may acquire it at once.

To hand a shard over, the holder starts nothing new, finishes what is in progress while it renews the Lease, then
releases it.
"""

import asyncio
import contextlib
import logging
import random
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from kubekit.client.api_client import Client, Obj
from kubekit.client.builtin import LEASES
from kubekit.client.errors import AlreadyExists, ApiError, Conflict, NotFound
from kubekit.times import rfc3339_microseconds

log = logging.getLogger(__name__)

OnChange: TypeAlias = Callable[[int, bool], None]
"""Called with the shard and whether it is held now."""

_EXPIRED = float("-inf")
_POLL_SECONDS = 0.02
"""Interval at which a handover checks for passes in progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTiming:
    """Seconds: when a silent holder is replaced, how long a holder trusts a renewal, how often both try."""

    duration: int = 30
    renew_deadline: float = 20.0
    retry_period: float = 5.0

    def __post_init__(self) -> None:
        if not 0 < self.retry_period < self.renew_deadline < self.duration:
            raise ValueError(
                f"leases need retry period < renew deadline < duration, not {self.retry_period:g} s, "
                f"{self.renew_deadline:g} s, {self.duration} s"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTerms:
    """Naming and metadata of the shard Leases, and which shards this process wants and has finished with."""

    naming: Callable[[int], str] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    wants: Callable[[int], bool] = lambda _: True
    is_idle: Callable[[int], bool] = lambda _: True
    """Whether no pass is in progress on a shard."""


@dataclass(slots=True)
class Turnover:
    """Counts of acquired and lost shards."""

    taken: int = 0
    taken_over: int = 0
    """Of these, from an unresponsive holder."""
    handed_over: int = 0
    """Released because another process should hold them."""
    lost: int = 0
    """Expired, or acquired by another process."""


class Elector:
    """Acquires and renews the Leases `<name>` (one shard) or `<name>-<shard>` (several) that the terms select."""

    def __init__(  # noqa: PLR0913 - one lease needs the first eight, a share the last
        self,
        client: Client,
        *,
        name: str,
        namespace: str,
        identity: str,
        now: Callable[[], datetime],
        shards: int = 1,
        timing: LeaseTiming | None = None,
        random: Callable[[], float] = random.random,
        terms: LeaseTerms | None = None,
    ) -> None:
        self.identity = identity
        self.turnover = Turnover()
        self._terms = terms or LeaseTerms()
        naming = self._terms.naming or (lambda number: name if shards == 1 else f"{name}-{number}")
        self._seats = [_Seat(number, naming(number)) for number in range(shards)]
        self._client = client
        self._namespace = namespace
        self._now = now
        self._timing = timing or LeaseTiming()
        self._random = random
        self._listeners: list[OnChange] = []

    @property
    def shards(self) -> int:
        """The number of shards."""
        return len(self._seats)

    def shard_of(self, text: str) -> int:
        """The shard of a name, which is the same in every process."""
        return zlib.crc32(text.encode()) % len(self._seats)

    def holds(self, shard: int = 0) -> bool:
        """Whether this process may act on the shard now."""
        return asyncio.get_running_loop().time() < self._seats[shard].trusted_until

    def accepts(self, shard: int = 0) -> bool:
        """Whether this process may start new work on the shard now."""
        return not self._seats[shard].is_leaving and self.holds(shard)

    def held_shards(self) -> list[int]:
        """The shards that this process may act on now."""
        return [seat.shard for seat in self._seats if self.holds(seat.shard)]

    def observe(self, shard: int, lease: Obj) -> None:
        """Record an observed Lease; its expiry counts from the first observation of this version."""
        self._observe(self._seats[shard], lease)

    def free_in(self, shard: int) -> float:
        """Seconds until this process may acquire the shard, as far as it knows; 0 means now."""
        seat = self._seats[shard]
        if seat.seen_holder in {"", self.identity}:
            return 0.0
        return max(0.0, seat.seen_at + seat.seen_duration - asyncio.get_running_loop().time())

    def reconsider(self, shard: int) -> None:
        """Check the shard now, because it may be wanted, unwanted or free."""
        self._seats[shard].nudge.set()

    def subscribe(self, listener: OnChange) -> None:
        """Call `listener` for every gained and lost shard; for a loss immediately."""
        self._listeners.append(listener)

    async def held(self, shard: int = 0) -> None:
        """Wait until the shard is held."""
        while not self.holds(shard):
            await self._seats[shard].gained.wait()
            # Gained and already expired: let the listeners run first.
            await asyncio.sleep(0)

    async def run(self) -> None:
        """Compete for the Leases until canceled, then release those held."""
        try:
            async with asyncio.TaskGroup() as group:
                for seat in self._seats:
                    group.create_task(self._campaign(seat), name=f"lease-{seat.name}")
        finally:
            await asyncio.gather(*(self._release(seat) for seat in self._seats))

    async def _campaign(self, seat: "_Seat") -> None:
        period = self._timing.retry_period
        while True:
            seat.nudge.clear()
            if self._terms.wants(seat.shard):
                await self._attempt(seat)
            elif seat.was_held:
                await self._hand_over(seat)
            # Candidates add jitter; a holder renews at a fixed interval.
            wait = period if self.holds(seat.shard) else period * (0.5 + self._random())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await seat.nudge.wait()

    async def _hand_over(self, seat: "_Seat") -> None:
        seat.is_leaving = True
        try:
            await self._finish(seat)
            # If it expired in the meantime, it was lost and reported as such.
            if seat.was_held:
                await self._release(seat)
                self.turnover.handed_over += 1
        finally:
            seat.is_leaving = False

    async def _finish(self, seat: "_Seat") -> None:
        """Wait, with a timeout, until no pass is in progress, and renew the Lease in the meantime."""
        clock = asyncio.get_running_loop().time
        bound = clock() + self._timing.renew_deadline
        renew_at = clock() + self._timing.retry_period
        while seat.was_held and clock() < bound and not self._terms.is_idle(seat.shard):
            await asyncio.sleep(_POLL_SECONDS)
            if clock() >= renew_at:
                renew_at = clock() + self._timing.retry_period
                await self._attempt(seat)

    async def _attempt(self, seat: "_Seat") -> None:
        before = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self._timing.retry_period):
                has_it = await self._take_or_renew(seat)
        except TimeoutError:
            log.info("lease request timed out", extra={"lease": seat.name})
        except (Conflict, AlreadyExists):
            log.debug("lease changed concurrently", extra={"lease": seat.name})
        except ApiError as error:
            log.warning("lease not renewed or acquired", extra={"lease": seat.name, "error": str(error)})
        else:
            if has_it:
                self._trust(seat, before + self._timing.renew_deadline)
            elif self.holds(seat.shard):
                self._lose(seat)

    async def _take_or_renew(self, seat: "_Seat") -> bool:
        """Try once to acquire or renew; returns whether this process holds the Lease now."""
        known, seat.known = seat.known, None
        if known is not None:
            try:
                return await self._write(seat, known)
            except (Conflict, NotFound):
                # The Lease was modified externally since the last write: read it again.
                pass
        try:
            current = await self._client.get(LEASES, seat.name, self._namespace)
        except NotFound:
            return self._may_create(seat) and await self._write(seat, None)
        self._observe(seat, current)
        return self._may_take(seat, current) and await self._write(seat, current)

    async def _write(self, seat: "_Seat", current: Obj | None) -> bool:
        record = self._record(seat, current)
        if current is None:
            written = await self._client.create(LEASES, record)
        else:
            written = await self._client.update(LEASES, record)
        seat.known = written
        self._observe(seat, written)
        return True

    def _observe(self, seat: "_Seat", lease: Obj) -> None:
        version = f"{lease['metadata'].get('uid', '')}/{lease['metadata'].get('resourceVersion', '')}"
        if version != seat.seen_version:
            seat.seen_version = version
            seat.seen_at = asyncio.get_running_loop().time()
            spec = lease.get("spec") or {}
            seat.seen_holder = spec.get("holderIdentity") or ""
            seat.seen_duration = float(spec.get("leaseDurationSeconds") or self._timing.duration)

    def _may_take(self, seat: "_Seat", lease: Obj) -> bool:
        holder = (lease.get("spec") or {}).get("holderIdentity") or ""
        return holder in {"", self.identity} or self._has_waited(seat)

    def _may_create(self, seat: "_Seat") -> bool:
        # If it was deleted manually, its holder may not know yet.
        return seat.seen_holder in {"", self.identity} or self._has_waited(seat)

    def _has_waited(self, seat: "_Seat") -> bool:
        return asyncio.get_running_loop().time() > seat.seen_at + seat.seen_duration

    def _record(self, seat: "_Seat", current: Obj | None) -> Obj:
        moment = rfc3339_microseconds(self._now())
        before: dict[str, Any] = dict((current or {}).get("spec") or {})
        took_over = before.get("holderIdentity") != self.identity
        spec = before | {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self._timing.duration,
            "acquireTime": moment if took_over else before.get("acquireTime", moment),
            "renewTime": moment,
            "leaseTransitions": int(before.get("leaseTransitions") or 0)
            + (took_over and current is not None),
        }
        seat.is_inherited = took_over and bool(before.get("holderIdentity"))
        named: Obj = {"name": seat.name, "namespace": self._namespace}
        metadata: Obj = dict(current["metadata"]) if current is not None else named
        for part, own in (("labels", self._terms.labels), ("annotations", self._terms.annotations)):
            if own:
                metadata[part] = {**(metadata.get(part) or {}), **own}
        head: Obj = {"apiVersion": LEASES.api_version, "kind": LEASES.kind}
        return head | (current or {}) | {"metadata": metadata, "spec": spec}

    def _trust(self, seat: "_Seat", until: float) -> None:
        if seat.was_held and not self.holds(seat.shard):
            # It expired just before this response; callers may have observed that, so report the loss.
            self._lose(seat)
        seat.trusted_until = until
        if seat.expiry is not None:
            seat.expiry.cancel()
        if not self.holds(seat.shard):
            # The response came too late to prove anything about the present.
            self._lose(seat)
            return
        seat.expiry = asyncio.get_running_loop().call_at(until, self._lose, seat)
        if not seat.was_held:
            seat.was_held = True
            seat.gained.set()
            self.turnover.taken += 1
            self.turnover.taken_over += seat.is_inherited
            log.info("lease acquired", extra={"lease": seat.name, "identity": self.identity})
            self._notify(seat.shard, is_held=True)

    def _lose(self, seat: "_Seat") -> None:
        self.turnover.lost += seat.was_held
        self._distrust(seat)

    def _distrust(self, seat: "_Seat") -> None:
        seat.trusted_until = _EXPIRED
        if seat.expiry is not None:
            seat.expiry.cancel()
            seat.expiry = None
        if seat.was_held:
            seat.was_held = False
            seat.gained.clear()
            log.info("lease lost", extra={"lease": seat.name, "identity": self.identity})
            self._notify(seat.shard, is_held=False)

    def _notify(self, shard: int, *, is_held: bool) -> None:
        for listener in self._listeners:
            listener(shard, is_held)

    async def _release(self, seat: "_Seat") -> None:
        if not seat.was_held:
            return
        # Drop the authority first: while this process may still act, the Lease must stay held.
        self._distrust(seat)
        seat.known = None
        try:
            async with asyncio.timeout(self._timing.retry_period):
                # Passes in progress were canceled: their last request must precede the release.
                while not self._terms.is_idle(seat.shard):  # noqa: ASYNC110 - there is no event to wait for
                    await asyncio.sleep(_POLL_SECONDS)
                current = await self._client.get(LEASES, seat.name, self._namespace)
                before = current.get("spec") or {}
                if before.get("holderIdentity") != self.identity:
                    return
                moment = rfc3339_microseconds(self._now())
                spec = before | {
                    "holderIdentity": "",
                    "leaseDurationSeconds": 1,
                    "renewTime": moment,
                }
                self._observe(seat, await self._client.update(LEASES, current | {"spec": spec}))
        except (ApiError, TimeoutError) as error:
            log.info("lease not released", extra={"lease": seat.name, "error": str(error)})


class _Seat:
    """State of one shard: the last observed record, since when, and until when our own renewal is valid."""

    def __init__(self, shard: int, name: str) -> None:
        self.shard = shard
        self.name = name
        self.known: Obj | None = None
        self.seen_version = ""
        self.seen_at = _EXPIRED
        self.seen_holder = ""
        self.seen_duration = 0.0
        self.trusted_until = _EXPIRED
        self.was_held = False
        self.is_leaving = False
        self.is_inherited = False
        self.gained = asyncio.Event()
        self.nudge = asyncio.Event()
        self.expiry: asyncio.TimerHandle | None = None
