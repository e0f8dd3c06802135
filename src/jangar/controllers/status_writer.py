"""The one writer of status: what differs, guarded by uid and version, and nothing when nothing differs.

Keeps fields that it does not know: old and new versions of a controller alternate during a rollout.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jangar.api.kinds import by_api_version_and_kind
from jangar.controllers.json_difference import Operation, difference
from jangar.domain.known_fields import Shape, keep_unknown, shape_of
from jangar.domain.status_contract import needs_write
from kubekit.cache.informer import Informer
from kubekit.cache.object_cache import Cached
from kubekit.client.api_client import Client, PatchKind
from kubekit.client.resource import Resource


class StatusWriter:
    """Writes the status of objects of any kind."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def write(
        self, informer: Informer, seen: Cached, status: Mapping[str, Any], *, known: frozenset[str]
    ) -> Cached:
        """The object with this status: the very one given when there is nothing to write.

        Raises Conflict if the object is not the version, or not the object, that the status was decided for.
        """
        before = seen.view.get("status")
        after = keep_unknown(before or {}, status, known=known, shape=_shape(informer.resource))
        if not needs_write(before or {}, after):
            return seen
        answer = await self._client.patch(
            informer.resource,
            seen.name,
            seen.namespace,
            [*guards(seen), *_changes(before, after)],
            kind=PatchKind.JSON,
            subresource="status",
        )
        return informer.cache.record_write(answer)


def guards(seen: Cached) -> list[Operation]:
    """Refuse with a conflict whatever is not this version of this object."""
    return [
        {"op": "replace", "path": "/metadata/uid", "value": seen.uid},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": seen.resource_version},
    ]


@cache
def _shape(resource: Resource) -> Shape:
    kind = by_api_version_and_kind(resource.api_version, resource.kind)
    if kind is None:
        raise ValueError(f"{resource.kind} is not of this product: nobody here writes its status")
    return shape_of(kind.status)


def _changes(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> list[Operation]:
    if before is None:
        return [{"op": "add", "path": "/status", "value": dict(after)}]
    return list(difference(before, after, "/status"))
