"""What is around the control plane, asked of the API now: who runs the controllers, which kinds are served."""

import asyncio
import time
from datetime import datetime
from typing import Any, Final

import orjson

from jangar.api.kind import VERSION
from jangar.api.kinds import KINDS
from jangar.operations.shard_members import SELECTOR, shared_work
from kubekit.client.api_client import Client
from kubekit.client.builtin import LEASES
from kubekit.client.errors import ApiError
from kubekit.client.transport import Transport

BELIEVED: Final = 30.0
SECONDS: Final = 5.0
OK: Final = 200
RUNTIMES: Final = {
    "job": "",
    "workflow": "",
    "temporal": "not implemented: AgentRuns with this runtime are rejected",
    "custom": "not implemented: AgentRuns with this runtime are rejected",
}


class ClusterStatus:
    """Asked with the control plane's own rights; what it may not see is left out."""

    def __init__(self, client: Client, transport: Transport, namespaces: tuple[str, ...] | None) -> None:
        self._client = client
        self._transport = transport
        self._namespaces = namespaces
        self._crds: tuple[float, list[dict[str, Any]]] = (float("-inf"), [])

    async def controllers(self, now: datetime) -> list[dict[str, Any]]:
        leases: list[Any] = []
        for place in self._namespaces if self._namespaces is not None else (None,):
            try:
                leases += await self._client.list(LEASES, place, labels=SELECTOR)
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
            for work in shared_work(leases, now)
            for member in work.members
        ]

    async def crds(self) -> list[dict[str, Any]]:
        at, known = self._crds
        if time.monotonic() - at < BELIEVED:
            return known
        groups = sorted({kind.group for kind in KINDS})
        served = dict(zip(groups, await asyncio.gather(*map(self._served, groups)), strict=True))
        found = [
            {"kind": kind.name, "group": kind.group, "served": kind.plural in served[kind.group]}
            for kind in KINDS
        ]
        self._crds = (time.monotonic(), found)
        return found

    def runtimes(self) -> list[dict[str, Any]]:
        return [{"name": name, "available": not why, "message": why} for name, why in RUNTIMES.items()]

    async def _served(self, group: str) -> frozenset[str]:
        try:
            answer = await self._transport.request("GET", f"/apis/{group}/{VERSION}", timeout=SECONDS)
        except ApiError:
            return frozenset()
        found = orjson.loads(answer.body) if answer.status == OK else {}
        return frozenset(resource["name"] for resource in found.get("resources") or ())
