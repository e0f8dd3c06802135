"""The member Lease of this process: renewed while it is ready, deleted when it stops.

It only makes the process eligible for shards; the Leases of the shards fence their holders.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from kubekit.client.api_client import Client, Obj
from kubekit.client.builtin import LEASES
from kubekit.client.errors import AlreadyExists, ApiError, Conflict, NotFound
from kubekit.leases.lease import LeaseTiming
from kubekit.leases.shard_records import SetNames

log = logging.getLogger(__name__)

_EXPIRED = float("-inf")


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
        self._good_until = _EXPIRED

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
        known, self._good_until = self._known, _EXPIRED
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
        moment = self._now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        self._joined_at = self._joined_at or moment
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": self._timing.duration,
            "acquireTime": self._joined_at,
            "renewTime": moment,
        }
