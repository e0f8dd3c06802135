"""The set's own Lease: it says how many shards there are, and keeps those away who know one Lease for everything.

Versions without shards elect one leader by the Lease of this name. It is taken from such a leader only after that one
has given it back or fallen silent, and no shard is taken before. From then on the members renew it, so that a candidate
without shards waits for them as for any other holder. Each member looks at it once a period and renews it if nobody
has meanwhile; whoever did so last looks a little sooner, so that mostly one writes. A member that could not see for
itself that it was renewed lately may not write for any shard.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final

from kubekit.client.api_client import Client, Obj
from kubekit.client.builtin import LEASES
from kubekit.client.errors import AlreadyExists, ApiError, Conflict, NotFound
from kubekit.leases.lease import LeaseTiming
from kubekit.leases.shard_records import LeaseRecord, SetNames, record_of

log = logging.getLogger(__name__)

EVERY_MEMBER: Final = "every-member"
"""The holder that the Lease names while the shards are shared."""
_TRIES: Final = 3
_SOONER: Final = 0.8
"""Of a period, after which the last to renew it looks again."""
_LONG_AGO: Final = float("-inf")


class SetLease:
    """The Lease as one member sees it."""

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
        """When this member asked for the version that it read last: what is newer was written later."""
        self._trusted_until = _LONG_AGO
        self._told_of = ""

    @property
    def is_trusted(self) -> bool:
        """Whether nobody can act now who knows nothing of shards."""
        return asyncio.get_running_loop().time() < self._trusted_until

    def due_in(self) -> float:
        """Seconds until this member should look at it."""
        return max(0.0, max(self._look_at, self._free_at()) - asyncio.get_running_loop().time())

    def doubted_in(self) -> float:
        """Seconds until it is not trusted any more; 0 if it is not now."""
        return max(0.0, self._trusted_until - asyncio.get_running_loop().time())

    def observe(self, lease: Obj) -> None:
        """The Lease as somebody saw it: a leader's silence counts from the first sight of it."""
        record = record_of(self._names, lease)
        if self._record is None or record.version != self._record.version:
            if record.holder not in {EVERY_MEMBER, self._record.holder if self._record else None}:
                self._look_at = _LONG_AGO
            self._record = record
            self._seen_at = asyncio.get_running_loop().time()

    def forget(self) -> None:
        """Somebody has deleted it."""
        self._record, self._look_at = None, _LONG_AGO

    async def look(self, count: int) -> None:
        """Make it, take it or see that it is renewed. Says `count` shards where it says nothing yet."""
        self._look_at = asyncio.get_running_loop().time() + self._timing.retry_period
        try:
            async with asyncio.timeout(self._timing.retry_period):
                for _ in range(_TRIES):
                    if await self._is_settled(count):
                        return
        except (ApiError, TimeoutError) as error:
            log.warning(
                "the set of shards was not renewed", extra={"lease": self._names.name, "error": str(error)}
            )

    async def _is_settled(self, count: int) -> bool:
        """One try; False if another was faster."""
        wanted = self._names.set_lease(count)
        asked_at = asyncio.get_running_loop().time()
        try:
            current = await self._client.get(LEASES, self._names.name, self._names.namespace)
        except NotFound:
            made = wanted | {"spec": self._spec({})}
            return await self._is_written(lambda: self._client.create(LEASES, made))
        self.observe(current)
        if self._free_at() > asyncio.get_running_loop().time():
            self._tell_of_leader()
            return True
        if self._is_renewed(current, asked_at):
            return True
        metadata = dict(current["metadata"])
        metadata["labels"] = {**(metadata.get("labels") or {}), **wanted["metadata"]["labels"]}
        metadata["annotations"] = {**wanted["metadata"]["annotations"], **(metadata.get("annotations") or {})}
        made = current | {"metadata": metadata, "spec": self._spec(current.get("spec") or {})}
        return await self._is_written(lambda: self._client.update(LEASES, made))

    def _is_renewed(self, current: Obj, asked_at: float) -> bool:
        """Whether members have written it since this one last read it."""
        record = record_of(self._names, current)
        before, at = self._read_version, self._read_at
        self._read_version, self._read_at = record.version, asked_at
        if record.holder != EVERY_MEMBER or before in {"", record.version}:
            return False
        self._trusted_until = max(self._trusted_until, at + self._timing.renew_deadline)
        return self.is_trusted

    async def _is_written(self, write: Callable[[], Awaitable[Obj]]) -> bool:
        asked_at = asyncio.get_running_loop().time()
        try:
            written = await write()
        except (Conflict, AlreadyExists, NotFound):
            return False
        self.observe(written)
        self._read_version, self._read_at = record_of(self._names, written).version, asked_at
        self._trusted_until = asked_at + self._timing.renew_deadline
        self._look_at = asked_at + _SOONER * self._timing.retry_period
        return True

    def _free_at(self) -> float:
        record = self._record
        if record is None or record.holder in {"", EVERY_MEMBER}:
            return _LONG_AGO
        return self._seen_at + (record.duration or self._timing.duration)

    def _tell_of_leader(self) -> None:
        leader = self._record.holder if self._record is not None else ""
        if leader != self._told_of:
            self._told_of = leader
            log.warning(
                "a leader that knows no shards holds the lease: shards are taken when it has ended",
                extra={"lease": self._names.name, "leader": leader},
            )

    def _spec(self, before: Obj) -> Obj:
        moment = self._now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        is_taken = before.get("holderIdentity") != EVERY_MEMBER
        return {
            "holderIdentity": EVERY_MEMBER,
            "leaseDurationSeconds": self._timing.duration,
            "acquireTime": moment if is_taken else before.get("acquireTime", moment),
            "renewTime": moment,
            "leaseTransitions": int(before.get("leaseTransitions") or 0) + (is_taken and bool(before)),
        }
