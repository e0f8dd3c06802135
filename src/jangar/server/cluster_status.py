"""What is around the control plane, asked of the API now: who runs the controllers, which kinds are served."""

import asyncio
import time
from datetime import datetime
from typing import Any, Final

import orjson

from jangar.api.kind import VERSION
from jangar.api.kinds import KINDS
from jangar.server.shard_members import SELECTOR, shared_work
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
    "temporal": "not built yet: AgentRuns of it are refused",
    "custom": "not built yet: AgentRuns of it are refused",
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
                "name": each.name,
                "version": each.version,
                "alive": each.is_alive,
                "shards": len(each.holds),
                "renewedAt": each.renewed_at,
            }
            for work in shared_work(leases, now)
            for each in work.members
        ]

    async def crds(self) -> list[dict[str, Any]]:
        at, known = self._crds
        if time.monotonic() - at < BELIEVED:
            return known
        groups = sorted({each.group for each in KINDS})
        served = dict(zip(groups, await asyncio.gather(*map(self._served, groups)), strict=True))
        found = [
            {"kind": each.name, "group": each.group, "served": each.plural in served[each.group]}
            for each in KINDS
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
        return frozenset(each["name"] for each in found.get("resources") or ())
