"""Watches objects: every change, or one object until a condition holds or a deadline passes."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Final

from jangar.operations.refusals import ErrorKind, Refused
from kubekit.client.api_client import Client, Obj, WatchKind
from kubekit.client.errors import Expired, is_transient
from kubekit.client.resource import Resource

WATCH_TIMEOUT: Final = 300.0
RETRY_DELAY: Final = 0.5


async def changes(
    client: Client,
    resource: Resource,
    namespace: str | None,
    *,
    name: str = "",
    labels: str = "",
    known: "Sequence[Obj]" = (),
) -> "AsyncGenerator[tuple[WatchKind, Obj]]":
    """Every object, then every change. Survives lost connections and expired versions.

    `known` objects that do not exist any more are reported as deleted.
    """
    fields = f"metadata.name={name}" if name else ""
    seen = {item["metadata"]["uid"]: item for item in known}
    while True:
        try:
            version, current = await _list(client, resource, namespace, labels, fields)
            for uid in seen.keys() - current.keys():
                yield "DELETED", seen.pop(uid)
            for uid, obj in current.items():
                if uid not in seen or _version(seen[uid]) != _version(obj) or seen[uid] in known:
                    seen[uid] = obj
                    yield "MODIFIED", obj
            async with client.watch(
                resource,
                namespace,
                resource_version=version,
                labels=labels,
                fields=fields,
                timeout_seconds=WATCH_TIMEOUT,
            ) as events:
                async for kind, obj in events:
                    if kind != "BOOKMARK":
                        _record(seen, kind, obj)
                        yield kind, obj
        except Exception as error:
            if not is_transient(error) and not isinstance(error, Expired):
                raise
            await asyncio.sleep(RETRY_DELAY)


async def _list(
    client: Client, resource: Resource, namespace: str | None, labels: str, fields: str
) -> "tuple[str, dict[str, Obj]]":
    version, current = "", dict[str, Obj]()
    async for page in client.pages(resource, namespace, labels=labels, fields=fields):
        version = page.resource_version
        current |= {item["metadata"]["uid"]: item for item in page.items}
    return version, current


def _record(seen: "dict[str, Obj]", kind: WatchKind, obj: Obj) -> None:
    if kind == "DELETED":
        seen.pop(obj["metadata"]["uid"], None)
    else:
        seen[obj["metadata"]["uid"]] = obj


async def wait_until(
    client: Client,
    resource: Resource,
    obj: Obj,
    condition: "Callable[[Obj], bool]",
    *,
    seconds: float | None,
    waiting_for: str,
) -> Obj | None:
    """The object once the condition holds; None if it is deleted first. Raises Refused when the time is over."""
    meta = obj["metadata"]
    object_changes = changes(client, resource, meta.get("namespace"), name=meta["name"], known=[obj])
    try:
        async with asyncio.timeout(seconds), aclosing(object_changes) as events:
            async for kind, item in events:
                if item["metadata"]["uid"] != meta["uid"] or kind == "DELETED":
                    return None
                if condition(item):
                    return item
    except TimeoutError:
        raise Refused(
            f"{meta['name']}: timed out after {seconds:.0f} s waiting for {waiting_for}; the operation continues",
            ErrorKind.TIMEOUT,
        ) from None
    return None


def _version(obj: Obj) -> str:
    return str(obj["metadata"]["resourceVersion"])
