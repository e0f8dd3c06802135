"""A Kubernetes API client for plain JSON objects. Each call sends one request; callers retry.

Every write carries a precondition and cannot change another object or version than intended: an update has a
resourceVersion, a delete a uid, a patch either of them, an apply its field manager.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple, cast

import orjson

from kubekit.client.builtin import PODS
from kubekit.client.errors import ApiError, Expired, from_response, from_status
from kubekit.client.resource import Obj, Resource
from kubekit.client.transport import NO_QUERY, Response, Transport

WatchKind = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
_WATCH_KINDS: Final = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK"})
__all__ = ["Client", "Obj", "Page", "PatchKind"]
APPLY: Final = "application/apply-patch+yaml"
MIN_ERROR_STATUS: Final = 300
LIST_ATTEMPTS: Final = 5
WATCH_END_GRACE: Final = 15.0
"""Seconds after its timeout at which a silent watch counts as broken."""


class WatchEvent(NamedTuple):
    """One change, or a BOOKMARK: all events up to its resourceVersion have been sent."""

    kind: WatchKind
    object: Obj

    @property
    def resource_version(self) -> str:
        return str(self.object["metadata"]["resourceVersion"])


def parse_watch_event(line: bytes) -> WatchEvent:
    """Parse a line. Raises the error in an ERROR event, and ApiError if the line is not a watch event."""
    try:
        event: Any = orjson.loads(line)
        kind, obj = event["type"], event["object"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise ApiError(f"not a watch event: {line[:200]!r}") from error
    if kind == "ERROR":
        raise from_status(obj)
    if kind not in _WATCH_KINDS:
        raise ApiError(f"unknown type of watch event: {kind!r}")
    return WatchEvent(cast("WatchKind", kind), obj)


class PatchKind(StrEnum):
    """The content type of a patch."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"


class Page(NamedTuple):
    """One page of a list. All pages show the same resourceVersion."""

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
        return await self._send("GET", resource.path(namespace, name))

    async def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        page_size: int = 500,
    ) -> list[Obj]:
        """All objects at one resourceVersion. If it expires between two pages, the list restarts."""
        for attempt in range(1, LIST_ATTEMPTS + 1):
            objects: list[Obj] = []
            try:
                async for page in self.pages(
                    resource, namespace, labels=labels, fields=fields, page_size=page_size
                ):
                    objects += page.items
            except Expired:
                if attempt == LIST_ATTEMPTS:
                    raise
            else:
                break
        return objects

    async def pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str = "",
        fields: str = "",
        page_size: int = 500,
    ) -> AsyncIterator[Page]:
        """The pages of a list. Raises Expired if the resourceVersion expires; discard the earlier pages then."""
        query = _selection(labels, fields)
        if page_size:
            query["limit"] = str(page_size)
        path = resource.path(namespace)
        while True:
            page = _page(await self._send("GET", path, query=query), resource)
            yield page
            if not page.next:
                return
            query["continue"] = page.next

    async def create(self, resource: Resource, obj: Obj) -> Obj:
        namespace = obj.get("metadata", {}).get("namespace")
        if resource.namespaced and not namespace:
            raise ValueError(f"{resource.kind}: cannot create an object without metadata.namespace")
        return await self._send("POST", resource.path(namespace), obj, query=self._manager)

    async def update(self, resource: Resource, obj: Obj, *, subresource: str = "") -> Obj:
        metadata = obj["metadata"]
        if not metadata.get("resourceVersion"):
            raise ValueError(f"{_describe(resource, metadata)}: an update requires metadata.resourceVersion")
        path = resource.path(metadata.get("namespace"), metadata["name"], subresource)
        return await self._send("PUT", path, obj, query=self._manager)

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
        """Patch an object. The patch must set, test or replace metadata.uid or metadata.resourceVersion."""
        if not _is_guarded(body, kind):
            raise ValueError(
                f"{resource.kind} {name}: a patch requires metadata.uid or metadata.resourceVersion"
            )
        path = resource.path(namespace, name, subresource)
        return await self._send("PATCH", path, body, query=self._manager, content_type=kind.value)

    async def apply(self, resource: Resource, obj: Obj, *, force: bool = False, subresource: str = "") -> Obj:
        """Server-side apply. Raises Conflict if other managers own the fields, unless forced."""
        metadata = obj["metadata"]
        path = resource.path(metadata.get("namespace"), metadata["name"], subresource)
        query = {**self._manager, "force": "true" if force else "false"}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
        return await self._send("PATCH", path, body, query=query, content_type=APPLY)

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
        """Delete the object with this uid. Raises Conflict if the name has another uid, NotFound if it does not exist.

        Returns the object if it is still terminating, None if the server only confirms the deletion.
        """
        if not uid:
            raise ValueError(f"{resource.kind} {name}: a delete requires a uid")
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
        result = await self._send("DELETE", resource.path(namespace, name), options)
        return None if result.get("kind") == "Status" else result

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
        """The events after a resourceVersion, until the server ends the watch at its timeout."""
        query = _selection(labels, fields)
        query["watch"] = "true"
        query["resourceVersion"] = resource_version
        query["timeoutSeconds"] = str(max(1, round(timeout_seconds)))
        if bookmarks:
            query["allowWatchBookmarks"] = "true"
        lines = self._transport.stream(
            resource.path(namespace), query=query, idle_timeout=timeout_seconds + WATCH_END_GRACE
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
        options = {"container": container, "tailLines": tail_lines, "limitBytes": limit_bytes}
        query = {key: str(value) for key, value in options.items() if value not in ("", None)}
        path = PODS.path(namespace, name, "log")
        response = await self._transport.request("GET", path, query=query, timeout=self._timeout)
        return _raise_for_status(response).body

    async def close(self) -> None:
        await self._transport.close()

    async def _send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] = NO_QUERY,
        content_type: str = "application/json",
    ) -> Obj:
        response = await self._transport.request(
            method,
            path,
            query=query,
            body=orjson.dumps(body) if body is not None else None,
            content_type=content_type,
            timeout=self._timeout,
        )
        return _object(_raise_for_status(response), method)


def _raise_for_status(response: Response) -> Response:
    if response.status >= MIN_ERROR_STATUS:
        raise from_response(response.status, response.headers, response.body)
    return response


def _object(response: Response, method: str) -> Obj:
    try:
        obj = orjson.loads(response.body)
    except orjson.JSONDecodeError:
        obj = None
    if not isinstance(obj, dict):
        raise ApiError(
            f"the response to {method} is not a JSON object: {response.body[:200]!r}", status=response.status
        )
    return cast("Obj", obj)


def _page(listing: Obj, resource: Resource) -> Page:
    """Parse a page. Lists of built-in kinds omit kind and apiVersion of their items; they are added."""
    items = listing.get("items") or []
    if items and "kind" not in items[0]:
        items = [{"apiVersion": resource.api_version, "kind": resource.kind, **item} for item in items]
    metadata = listing.get("metadata", {})
    return Page(items, metadata.get("resourceVersion", ""), metadata.get("continue") or "")


async def _events(lines: AsyncIterator[bytes]) -> AsyncGenerator[WatchEvent]:
    async for line in lines:
        yield parse_watch_event(line)


def _selection(labels: str, fields: str) -> dict[str, str]:
    selectors = {"labelSelector": labels, "fieldSelector": fields}
    return {key: value for key, value in selectors.items() if value}


def _is_guarded(body: Any, kind: PatchKind) -> bool:
    if kind is PatchKind.JSON:
        guards = {"/metadata/uid", "/metadata/resourceVersion"}
        return any(step["op"] in ("test", "replace") and step["path"] in guards for step in body)
    metadata = body.get("metadata") or {}
    return bool(metadata.get("uid") or metadata.get("resourceVersion"))


def _describe(resource: Resource, metadata: Mapping[str, Any]) -> str:
    return f"{resource.kind} {metadata.get('namespace', '')}/{metadata.get('name', '')}"
