"""How an object says that it is in quarantine: by its condition Degraded, for one generation of its spec."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from jangar.api.reasons import Reason
from jangar.controllers.status_writer import guards
from jangar.domain.conditions import ConditionStatus, ConditionType
from kubekit.cache.informer import Informer
from kubekit.cache.object_cache import Cached
from kubekit.client.api_client import Client, PatchKind
from kubekit.client.resource import Obj
from kubekit.controller.controller import Quarantine
from kubekit.times import whole_second

_ADVICE = "It is not evaluated again until its spec changes: make it smaller or simpler, or delete it."


def quarantine_of(informer: Informer, client: Client, now: Callable[[], datetime]) -> Quarantine:
    """The quarantine of the objects of one kind."""
    return Quarantine(
        subject=lambda key: informer.cache.get(key.namespace, key.name),
        is_recorded=is_recorded,
        record=partial(_record, informer, client, now),
    )


def is_recorded(seen: Cached) -> bool:
    """Whether the object is in quarantine for the spec that it has."""
    # Nearly no object is: the bytes say so without being decoded.
    if Reason.RECONCILE_ABORTED.encode() not in seen.raw:
        return False
    return any(
        condition.get("type") == ConditionType.DEGRADED
        and condition.get("status") == ConditionStatus.TRUE
        and condition.get("reason") == Reason.RECONCILE_ABORTED
        and condition.get("observedGeneration") == seen.generation
        for condition in _conditions(seen.view)
    )


async def _record(
    informer: Informer, client: Client, now: Callable[[], datetime], seen: Cached, reason: str
) -> None:
    moment = f"{whole_second(now()):%Y-%m-%dT%H:%M:%SZ}"
    others = [
        condition for condition in _conditions(seen.view) if condition.get("type") != ConditionType.DEGRADED
    ]
    degraded = {
        "type": str(ConditionType.DEGRADED),
        "status": str(ConditionStatus.TRUE),
        "reason": str(Reason.RECONCILE_ABORTED),
        "message": f"{reason[:1].upper()}{reason[1:]}. {_ADVICE}",
        "lastTransitionTime": moment,
        "observedGeneration": seen.generation,
    }
    status = {**(seen.view.get("status") or {}), "conditions": [*others, degraded], "updatedAt": moment}
    answer = await client.patch(
        informer.resource,
        seen.name,
        seen.namespace,
        [*guards(seen), {"op": "add", "path": "/status", "value": status}],
        kind=PatchKind.JSON,
        subresource="status",
    )
    informer.cache.record_write(answer)


def _conditions(obj: Obj) -> list[Obj]:
    found: list[Obj] = (obj.get("status") or {}).get("conditions") or []
    return found
