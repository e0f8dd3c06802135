"""The state of the cluster around a control plane: controller processes with their shards, and served kinds."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

import orjson

from jangar.api.kind import VERSION
from jangar.api.kinds import KINDS
from kubekit.client.api_client import Client
from kubekit.client.builtin import LEASES
from kubekit.client.errors import ApiError
from kubekit.client.resource import Obj
from kubekit.client.transport import Transport
from kubekit.leases.shard_records import LeaseRecord, Role, SetNames, agreed_count, record_of
from kubekit.times import parse_rfc3339

DOMAIN: Final = "jangar.proompteng.ai"
SELECTOR: Final = f"{DOMAIN}/shard-set"
CRDS_TTL: Final = 30.0
"""Seconds for which the list of served kinds is cached."""
REQUEST_TIMEOUT: Final = 5.0
RUNTIMES: Final = {
    "job": "",
    "workflow": "",
    "temporal": "not implemented: AgentRuns with this runtime are rejected",
    "custom": "not implemented: AgentRuns with this runtime are rejected",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """One shard that a member holds."""

    number: int
    since: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardMember:
    """One controller process. The name is empty for shards without a holder."""

    name: str
    lease: str
    version: str
    host: str
    started_at: str
    renewed_at: str
    is_alive: bool
    holds: Sequence[Holding]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardSetStatus:
    """One set of shards and the processes that share it."""

    name: str
    namespace: str
    count: int
    members: Sequence[ShardMember]
    unheld: Sequence[int]


async def list_controllers(client: Client, namespace: str | None) -> list[Obj]:
    """The Leases of the controller processes in a namespace, or in all."""
    return await client.list(LEASES, namespace, labels=SELECTOR)


def shard_sets(leases: Iterable[Obj], now: datetime) -> list[ShardSetStatus]:
    """The shard sets that the Leases describe, by name."""
    by_set: dict[tuple[str, str], list[Obj]] = {}
    for lease in leases:
        metadata = lease["metadata"]
        label = (metadata.get("labels") or {}).get(SELECTOR, "")
        by_set.setdefault((metadata.get("namespace", ""), label), []).append(lease)
    return [_shard_set(namespace, label, item, now) for (namespace, label), item in sorted(by_set.items())]


def _shard_set(namespace: str, label: str, leases: Sequence[Obj], now: datetime) -> ShardSetStatus:
    names = SetNames(name=label, namespace=namespace, domain=DOMAIN)
    records = [record_of(names, lease) for lease in leases]
    members = {record.holder: record for record in records if record.role is Role.MEMBER}
    count = agreed_count(records) or 0
    holds: dict[str, list[Holding]] = {name: [] for name in members}
    for record in sorted(records, key=lambda record: record.number or 0):
        if record.number is not None and record.number < count and record.holder:
            holds.setdefault(record.holder, []).append(Holding(number=record.number, since=record.since))
    held = {shard.number for shards in holds.values() for shard in shards}
    return ShardSetStatus(
        name=next((record.name for record in records if record.role is Role.SET), label),
        namespace=namespace,
        count=count,
        members=[_member(name, members.get(name), tuple(holds[name]), now) for name in sorted(holds)],
        unheld=[number for number in range(count) if number not in held],
    )


def _member(name: str, member: LeaseRecord | None, holds: Sequence[Holding], now: datetime) -> ShardMember:
    about: Mapping[str, str] = member.about if member else {}
    renewed = parse_timestamp(member.renewed) if member else None
    return ShardMember(
        name=name,
        lease=member.name if member else "",
        version=about.get("version", ""),
        host=about.get("host", ""),
        started_at=about.get("started-at", ""),
        renewed_at=member.renewed if member else "",
        is_alive=bool(member and renewed and now < renewed + timedelta(seconds=member.duration)),
        holds=holds,
    )


def parse_timestamp(text: str) -> datetime | None:
    try:
        return parse_rfc3339(text).astimezone(UTC) if text else None
    except ValueError:
        return None


class ClusterStatus:
    """Reads with the control plane's own permissions; what these do not allow is omitted."""

    def __init__(self, client: Client, transport: Transport, namespaces: tuple[str, ...] | None) -> None:
        self._client = client
        self._transport = transport
        self._namespaces = namespaces
        self._crds: tuple[float, list[dict[str, Any]]] = (float("-inf"), [])

    async def controllers(self, now: datetime) -> list[dict[str, Any]]:
        leases: list[Obj] = []
        for namespace in self._namespaces if self._namespaces is not None else (None,):
            try:
                leases += await list_controllers(self._client, namespace)
            except ApiError:
                continue
        return [
            {
                "name": member.name,
                "version": member.version,
                "alive": member.is_alive,
                "shards": len(member.holds),
                "renewedAt": member.renewed_at,
            }
            for shard_set in shard_sets(leases, now)
            for member in shard_set.members
        ]

    async def crds(self) -> list[dict[str, Any]]:
        read_at, cached = self._crds
        if time.monotonic() - read_at < CRDS_TTL:
            return cached
        groups = sorted({kind.group for kind in KINDS})
        served = dict(zip(groups, await asyncio.gather(*map(self._served, groups)), strict=True))
        crds = [
            {"kind": kind.name, "group": kind.group, "served": kind.plural in served[kind.group]}
            for kind in KINDS
        ]
        self._crds = (time.monotonic(), crds)
        return crds

    def runtimes(self) -> list[dict[str, Any]]:
        return [{"name": name, "available": not why, "message": why} for name, why in RUNTIMES.items()]

    async def _served(self, group: str) -> frozenset[str]:
        try:
            path = f"/apis/{group}/{VERSION}"
            response = await self._transport.request("GET", path, timeout=REQUEST_TIMEOUT)
        except ApiError:
            return frozenset()
        document = orjson.loads(response.body) if response.status == HTTPStatus.OK else {}
        return frozenset(resource["name"] for resource in document.get("resources") or ())
