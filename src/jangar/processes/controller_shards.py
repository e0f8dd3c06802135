"""How the controllers share their work: names of the Leases, what a member tells of itself, what follows a gain."""

import asyncio
import socket
import uuid
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final, Protocol

from jangar import __version__
from jangar.server.shard_members import DOMAIN
from jangar.settings.controllers import ControllerSettings
from kubekit.client.api_client import Client
from kubekit.controller.controller import Authority
from kubekit.controller.reconcile import Key
from kubekit.leases.lease import LeaseTiming
from kubekit.leases.membership import Member
from kubekit.leases.shard_records import SetNames, identity_of
from kubekit.leases.shard_set import ShardSet, Work

TOGETHER: Final = 0.02
"""Seconds within which several shards gained are looked at as one."""


class Acting(Protocol):
    """What acts on the objects of the shards."""

    def trust_nothing(self) -> None: ...

    def authority_gained(self) -> None: ...

    def authority_lost(self, may_go_on: Authority | None = None) -> None: ...

    def under_way(self) -> Iterable[Key]: ...


class Sharing:
    """The shards of this process, and whoever acts on them once there is somebody."""

    def __init__(
        self,
        client: Client,
        names: SetNames,
        *,
        member: Member,
        count_if_new: int,
        now: Callable[[], datetime],
        timing: LeaseTiming,
        is_ready: Callable[[], bool],
    ) -> None:
        self._acting: Acting | None = None
        self._looking: asyncio.TimerHandle | None = None
        self.shards = ShardSet(
            client,
            names,
            member=member,
            count_if_new=count_if_new,
            now=now,
            timing=timing,
            work=Work(is_ready=is_ready, is_idle=self._is_idle),
        )
        self.shards.subscribe(self._on_change)

    def tell(self, acting: Acting) -> None:
        """From now on this one hears of gains and losses."""
        self._acting = acting

    def _is_idle(self, shard: int) -> bool:
        acting = self._acting
        return acting is None or all(self.shards.shard_of(key) != shard for key in acting.under_way())

    def _on_change(self, _: int, is_held: bool) -> None:
        if self._acting is None:
            return
        if not is_held:
            self._acting.authority_lost(self.shards.holds)
            return
        # Others may have written until a moment ago. Looking at everything can wait for the shards that come next.
        self._acting.trust_nothing()
        if self._looking is None:
            self._looking = asyncio.get_running_loop().call_later(TOGETHER, self._look_at_all, self._acting)

    def _look_at_all(self, acting: Acting) -> None:
        self._looking = None
        acting.authority_gained()


def sharing(
    client: Client,
    settings: ControllerSettings,
    *,
    default_namespace: str,
    now: Callable[[], datetime],
    is_ready: Callable[[], bool],
) -> Sharing:
    """As the settings say."""
    host = socket.gethostname()
    return Sharing(
        client,
        SetNames(
            name=settings.lease_name,
            namespace=settings.lease_namespace or settings.pod_namespace or default_namespace,
            domain=DOMAIN,
        ),
        member=Member(
            identity=identity_of(host, uuid.uuid4().hex[:8]),
            about={
                "version": __version__,
                "host": host,
                "started-at": now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            },
        ),
        count_if_new=settings.controller_shards,
        now=now,
        timing=LeaseTiming(
            duration=int(settings.lease_duration.total_seconds()),
            renew_deadline=settings.renew_deadline.total_seconds(),
            retry_period=settings.retry_period.total_seconds(),
        ),
        is_ready=is_ready,
    )
