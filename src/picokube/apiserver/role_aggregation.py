"""Fills aggregated ClusterRoles: their rules are those of the roles that their selectors choose.

What somebody else writes into the rules of such a role does not stay.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from picokube.apiserver import errors
from picokube.apiserver.object_store import update
from picokube.apiserver.options import IGNORE, WriteOptions
from picokube.apiserver.patching import applied
from picokube.apiserver.resources import JsonObject
from picokube.apiserver.server_context import Heard, Serving
from picokube.apiserver.storage.store import Key
from picokube.apiserver.strategies.checks import labels_match

Json = Mapping[str, Any]

GROUP: Final = "rbac.authorization.k8s.io"
ROLES: Final = f"clusterroles.{GROUP}"
_OPTIONS: Final = WriteOptions(manager="clusterrole-aggregation-controller", validation=IGNORE, force=True)


def aggregated_rules(role: Json, roles: Iterable[Json]) -> list[Json]:
    """The rules of the roles that a role selects, selector by selector and by name, each rule once."""
    others = sorted(
        (item for item in roles if item["metadata"]["name"] != role["metadata"]["name"]),
        key=lambda item: str(item["metadata"]["name"]),
    )
    found: list[Json] = []
    for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
        for other in others:
            if labels_match(selector, other["metadata"].get("labels") or {}):
                found += [rule for rule in other.get("rules") or () if rule not in found]
    return found


class RoleAggregation:
    """Looks at all aggregated roles after any ClusterRole was written; a round that changes nothing ends it."""

    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._changed = asyncio.Event()
        serving.listeners.append(self._hear)

    def _hear(self, heard: Heard) -> None:
        if heard.resource.qualified == ROLES:
            self._changed.set()

    async def run(self) -> None:
        """Until cancelled."""
        self._changed.set()
        while True:
            await self._changed.wait()
            self._changed.clear()
            for role in self._roles():
                if role.get("aggregationRule") is not None:
                    await self._fill(role)

    def _roles(self) -> list[JsonObject]:
        return [orjson.loads(item.data) for item in self._serving.store.list(ROLES).objects]

    async def _fill(self, role: JsonObject) -> None:
        rules = aggregated_rules(role, self._roles())
        resource = self._serving.registry.find(GROUP, "v1", "clusterroles")
        if resource is None or rules == (role.get("rules") or []):
            return
        name = role["metadata"]["name"]
        wanted = {
            "apiVersion": f"{GROUP}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": rules,
        }

        def filled(old: JsonObject) -> tuple[JsonObject, bool]:
            return applied(self._serving, resource, old, wanted, _OPTIONS, ""), True

        try:
            await update(self._serving, resource, Key(ROLES, "", name), filled, _OPTIONS)
        except errors.ApiError as error:
            if error.reason not in ("NotFound", "Conflict"):
                raise
