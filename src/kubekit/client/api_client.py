"""The verbs of a Kubernetes API on plain JSON objects. Each call asks once: asking again is the caller's matter.

No write goes out that could hit another object, or another version, than the one meant: an update carries its
resourceVersion, a delete the uid, a patch one of both, an apply its manager.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from enum import StrEnum
from typing import Any, Final, NamedTuple, cast

import orjson

from kubekit.client.builtin import PODS
from kubekit.client.errors import ApiError, Expired, from_answer
from kubekit.client.resource import Obj, Resource
from kubekit.client.transport import NO_QUERY, Response, Transport
from kubekit.client.watch import WatchEvent, parse

__all__ = ["Client", "Obj", "Page", "PatchKind"]

APPLY: Final = "application/apply-patch+yaml"
FIRST_FAILURE: Final = 300
LIST_ATTEMPTS: Final = 5
SILENCE_AFTER_END: Final = 15.0
"""A watch that should have ended this many seconds ago is dead."""


class PatchKind(StrEnum):
    """How the body of a patch is read."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"


class Page(NamedTuple):
    """A part of a list. All parts show one moment, named by the resourceVersion."""

    items: list[Obj]
    resource_version: str
    next: str


class Client:
    """One server, one user, one field manager."""

    def __init__(self, transport: Transport, *, manager: str, request_timeout: float = 10.0) -> None:
        self._transport = transport
        self._manager = {"fieldManager": manager}
        self._timeout = request_timeout

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Obj:
        return await self._ask("GET", resource.path(namespace, name))

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        page_size: int = 500,
    ) -> list[Obj]:
        """Everything at one moment. If the server forgets that moment between two pages, all is read anew."""
        for attempt in range(1, LIST_ATTEMPTS + 1):
            found: list[Obj] = []
            try:
                async for page in self.pages(
                    resource, namespace, labels=labels, fields=fields, page_size=page_size
                ):
                    found += page.items
            except Expired:
                if attempt == LIST_ATTEMPTS:
                    raise
            else:
                break
        return found

    async def pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        page_size: int = 500,
    ) -> AsyncIterator[Page]:
        """The pages of a list. Expired if the server forgets between two: what came before is then worth nothing."""
        query = _selection(labels, fields)
        if page_size:
            query["limit"] = str(page_size)
        path = resource.path(namespace)
        while True:
            page = _page(await self._ask("GET", path, query=query), resource)
            yield page
            if not page.next:
                return
            query["continue"] = page.next

    async def create(self, resource: Resource, obj: Obj) -> Obj:
        namespace = obj.get("metadata", {}).get("namespace")
        if resource.namespaced and not namespace:
            raise ValueError(f"{resource.kind}: an object to create names its namespace")
        return await self._ask("POST", resource.path(namespace), obj, query=self._manager)

    async def update(self, resource: Resource, obj: Obj, *, subresource: str = "") -> Obj:
        metadata = obj["metadata"]
        if not metadata.get("resourceVersion"):
            raise ValueError(
                f"{_told(resource, metadata)}: an update carries the resourceVersion it was made from"
            )
        path = resource.path(metadata.get("namespace"), metadata["name"], subresource)
        return await self._ask("PUT", path, obj, query=self._manager)

    async def patch(
        self,
        resource: Resource,
        name: str,
        namespace: str | None,
        body: Any,
        *,
        kind: PatchKind,
        subresource: str = "",
    ) -> Obj:
        """A merge patch carries metadata.uid or resourceVersion, a JSON patch tests or replaces one of them."""
        if not _is_guarded(body, kind):
            raise ValueError(
                f"{resource.kind} {name}: a patch carries the uid or resourceVersion of what it is for"
            )
        path = resource.path(namespace, name, subresource)
        return await self._ask("PATCH", path, body, query=self._manager, content_type=kind.value)

    async def apply(self, resource: Resource, obj: Obj, *, force: bool = False, subresource: str = "") -> Obj:
        """Server-side apply: create, or own these fields. Conflict names other owners, unless forced."""
        metadata = obj["metadata"]
        path = resource.path(metadata.get("namespace"), metadata["name"], subresource)
        query = {**self._manager, "force": "true" if force else "false"}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
        return await self._ask("PATCH", path, body, query=query, content_type=APPLY)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str,
        resource_version: str = "",
        propagation: str = "Background",
        grace_seconds: int | None = None,
    ) -> Obj | None:
        """Delete this object and no other of its name: Conflict if there is one, NotFound if there is none.

        None if the server says only that it is done; else the object as it stands, which may still be ending.
        """
        if not uid:
            raise ValueError(f"{resource.kind} {name}: a delete names the uid of what it is for")
        preconditions = {"uid": uid}
        if resource_version:
            preconditions["resourceVersion"] = resource_version
        options: Obj = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": preconditions,
            "propagationPolicy": propagation,
        }
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        said = await self._ask("DELETE", resource.path(namespace, name), options)
        return None if said.get("kind") == "Status" else said

    @asynccontextmanager
    async def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        resource_version: str,
        labels: str = "",
        fields: str = "",
        timeout_seconds: float,
        bookmarks: bool = True,
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """What happens after a version, until the server ends it in time. Raises what refuses or breaks it."""
        query = _selection(labels, fields)
        query["watch"] = "true"
        query["resourceVersion"] = resource_version
        query["timeoutSeconds"] = str(max(1, round(timeout_seconds)))
        if bookmarks:
            query["allowWatchBookmarks"] = "true"
        lines = self._transport.stream(
            resource.path(namespace), query=query, idle_timeout=timeout_seconds + SILENCE_AFTER_END
        )
        async with lines as stream, aclosing(_events(stream)) as events:
            yield events

    async def logs(
        self,
        name: str,
        namespace: str,
        *,
        container: str = "",
        tail_lines: int | None = None,
        limit_bytes: int | None = None,
    ) -> bytes:
        asked = {"container": container, "tailLines": tail_lines, "limitBytes": limit_bytes}
        query = {key: str(value) for key, value in asked.items() if value not in ("", None)}
        path = PODS.path(namespace, name, "log")
        answer = await self._transport.request("GET", path, query=query, timeout=self._timeout)
        return _unless_refused(answer).body

    async def close(self) -> None:
        await self._transport.close()

    async def _ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] = NO_QUERY,
        content_type: str = "application/json",
    ) -> Obj:
        answer = await self._transport.request(
            method,
            path,
            query=query,
            body=orjson.dumps(body) if body is not None else None,
            content_type=content_type,
            timeout=self._timeout,
        )
        return _object(_unless_refused(answer), method)


def _unless_refused(answer: Response) -> Response:
    if answer.status >= FIRST_FAILURE:
        raise from_answer(answer.status, answer.headers, answer.body)
    return answer


def _object(answer: Response, method: str) -> Obj:
    try:
        said = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        said = None
    if not isinstance(said, dict):
        raise ApiError(
            f"the answer to {method} is no JSON object: {answer.body[:200]!r}", status=answer.status
        )
    return cast("Obj", said)


def _page(said: Obj, resource: Resource) -> Page:
    """Lists of built-in kinds leave kind and version out of their items."""
    items = said.get("items") or []
    if items and "kind" not in items[0]:
        items = [{"apiVersion": resource.api_version, "kind": resource.kind, **item} for item in items]
    metadata = said.get("metadata", {})
    return Page(items, metadata.get("resourceVersion", ""), metadata.get("continue") or "")


async def _events(lines: AsyncIterator[bytes]) -> AsyncGenerator[WatchEvent]:
    async for line in lines:
        yield parse(line)


def _selection(labels: str, fields: str) -> dict[str, str]:
    asked = {"labelSelector": labels, "fieldSelector": fields}
    return {key: value for key, value in asked.items() if value}


def _is_guarded(body: Any, kind: PatchKind) -> bool:
    if kind is PatchKind.JSON:
        guards = {"/metadata/uid", "/metadata/resourceVersion"}
        return any(step["op"] in ("test", "replace") and step["path"] in guards for step in body)
    metadata = body.get("metadata") or {}
    return bool(metadata.get("uid") or metadata.get("resourceVersion"))


def _told(resource: Resource, metadata: Mapping[str, Any]) -> str:
    return f"{resource.kind} {metadata.get('namespace', '')}/{metadata.get('name', '')}"
