"""Connects the controllers to their shards: Lease names, member information, and reactions to gained or lost shards."""

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

RESYNC_DELAY_SECONDS: Final = 0.02
"""Shards gained within this time cause a single resync."""


class ShardedEngine(Protocol):
    """What reconciles the objects in the shards."""

    def invalidate_memory(self) -> None: ...

    def authority_gained(self) -> None: ...

    def authority_lost(self, may_go_on: Authority | None = None) -> None: ...

    def keys_in_progress(self) -> Iterable[Key]: ...


class ShardCoordinator:
    """The shards of this process and the engine that reconciles the objects in them."""

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
        self._engine: ShardedEngine | None = None
        self._resync: asyncio.TimerHandle | None = None
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

    def tell(self, engine: ShardedEngine) -> None:
        """Notify this engine of gained and lost shards from now on."""
        self._engine = engine

    def _is_idle(self, shard: int) -> bool:
        engine = self._engine
        return engine is None or all(self.shards.shard_of(key) != shard for key in engine.keys_in_progress())

    def _on_change(self, _: int, has_finalizer: bool) -> None:
        if self._engine is None:
            return
        if not has_finalizer:
            self._engine.authority_lost(self.shards.holds)
            return
        # The previous holder may have written a moment ago. The resync waits to cover the shards gained next as well.
        self._engine.invalidate_memory()
        if self._resync is None:
            self._resync = asyncio.get_running_loop().call_later(
                RESYNC_DELAY_SECONDS, self._resync_all, self._engine
            )

    def _resync_all(self, engine: ShardedEngine) -> None:
        self._resync = None
        engine.authority_gained()


def shard_coordinator(
    client: Client,
    settings: ControllerSettings,
    *,
    default_namespace: str,
    now: Callable[[], datetime],
    is_ready: Callable[[], bool],
) -> ShardCoordinator:
    """The sharding that the settings describe."""
    host = socket.gethostname()
    return ShardCoordinator(
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
