"""Bringing one object of a manifest to an API by server-side apply."""

from typing import TYPE_CHECKING, Any

from jangar.cli.api_session import Failure
from jangar.cli.output.form import object_name
from jangar.cli.served_kinds import resource_of_object
from kubekit.client.errors import Conflict, NotFound

if TYPE_CHECKING:
    from jangar.cli.api_session import Session

UNCHANGED = "unchanged"


async def applied(session: "Session", obj: dict[str, Any], *, force: bool) -> str:
    """What became of one object, in a line: `created`, `configured` or `unchanged`."""
    resource = await resource_of_object(session, obj)
    meta = dict(obj.get("metadata") or {})
    if resource.namespaced:
        meta.setdefault("namespace", session.namespace)
    obj["metadata"] = meta
    if not meta.get("name"):
        return f"{object_name(await session.client.create(resource, obj))} created"
    try:
        before = (await session.client.get(resource, meta["name"], meta.get("namespace")))["metadata"]
    except NotFound:
        before = None
    try:
        after = await session.client.apply(resource, obj, force=force)
    except Conflict as error:
        raise Failure(f"{error}\njangar apply --force-conflicts takes over these fields") from error
    if before is None:
        return f"{object_name(after)} created"
    is_same = before["resourceVersion"] == after["metadata"]["resourceVersion"]
    return f"{object_name(after)} {UNCHANGED if is_same else 'configured'}"
