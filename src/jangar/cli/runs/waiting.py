"""Objects as they change, by watching them: all of them, or one until something holds or a deadline passes."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from jangar.cli.api_session import Failure
from jangar.cli.exit_codes import ExitCode
from kubekit.client.errors import Expired, is_transient

if TYPE_CHECKING:
    from kubekit.client.api_client import Client, Obj, WatchKind
    from kubekit.client.resource import Resource

WATCH_SECONDS: Final = 300.0
AGAIN_SECONDS: Final = 0.5


async def changes(
    client: "Client",
    resource: "Resource",
    namespace: str | None,
    *,
    name: str = "",
    labels: str = "",
    known: "Sequence[Obj]" = (),
) -> "AsyncGenerator[tuple[WatchKind, Obj]]":
    """Every object as it is now, then every change; goes on over lost connections and forgotten versions.

    What is `known` and not there any more is told as deleted.
    """
    fields = f"metadata.name={name}" if name else ""
    seen = {item["metadata"]["uid"]: item for item in known}
    while True:
        try:
            version, there = await _listed(client, resource, namespace, labels, fields)
            for uid in seen.keys() - there.keys():
                yield "DELETED", seen.pop(uid)
            for uid, obj in there.items():
                if uid not in seen or _version(seen[uid]) != _version(obj) or seen[uid] in known:
                    seen[uid] = obj
                    yield "MODIFIED", obj
            async with client.watch(
                resource,
                namespace,
                resource_version=version,
                labels=labels,
                fields=fields,
                timeout_seconds=WATCH_SECONDS,
            ) as events:
                async for kind, obj in events:
                    if kind != "BOOKMARK":
                        _note(seen, kind, obj)
                        yield kind, obj
        except Exception as error:
            if not is_transient(error) and not isinstance(error, Expired):
                raise
            await asyncio.sleep(AGAIN_SECONDS)


async def _listed(
    client: "Client", resource: "Resource", namespace: str | None, labels: str, fields: str
) -> "tuple[str, dict[str, Obj]]":
    version, there = "", dict[str, "Obj"]()
    async for page in client.pages(resource, namespace, labels=labels, fields=fields):
        version = page.resource_version
        there |= {item["metadata"]["uid"]: item for item in page.items}
    return version, there


def _note(seen: "dict[str, Obj]", kind: "WatchKind", obj: "Obj") -> None:
    if kind == "DELETED":
        seen.pop(obj["metadata"]["uid"], None)
    else:
        seen[obj["metadata"]["uid"]] = obj


async def until(
    client: "Client",
    resource: "Resource",
    obj: "Obj",
    holds: "Callable[[Obj], bool]",
    *,
    seconds: float | None,
    waiting_for: str,
) -> "Obj | None":
    """The object once it holds; None if it is gone before. Raises Failure when the time is over."""
    meta = obj["metadata"]
    found = changes(client, resource, meta.get("namespace"), name=meta["name"], known=[obj])
    try:
        async with asyncio.timeout(seconds), aclosing(found) as each_change:
            async for kind, item in each_change:
                if item["metadata"]["uid"] != meta["uid"] or kind == "DELETED":
                    return None
                if holds(item):
                    return item
    except TimeoutError:
        raise Failure(
            f"{meta['name']}: timed out after {seconds:.0f} s waiting for {waiting_for}; the operation continues",
            ExitCode.TIMEOUT,
        ) from None
    return None


def _version(obj: "Obj") -> str:
    return str(obj["metadata"]["resourceVersion"])
