"""A scripted API server below the transport in virtual time: one kind, lists and watches, and all of their failures."""

import asyncio
import itertools
from collections import deque
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import orjson

from kubekit.client.errors import Ambiguous, ApiError
from kubekit.client.resource import Resource
from kubekit.client.transport import Response

THINGS = Resource("test.dev", "v1", "things", "Thing")


@dataclass(frozen=True)
class CutAfter:
    """A watch whose connection is reset after this many lines."""

    lines: int


@dataclass(frozen=True)
class DeadAfter:
    """A watch that sends nothing after this many lines while its connection stays open."""

    lines: int


class ScriptedApi:
    """A log of versions. Each request consumes one of `faults`."""

    def __init__(self):
        self.revision = 100
        self.objects = {}
        self.log = []
        self.forgotten = 0
        self.faults = deque()
        self.requests = []
        self.bookmarks_every = 20.0
        self._uids = itertools.count(1)
        self._news = asyncio.Event()
        self.open_streams = 0

    def put(self, name, namespace="default", **metadata):
        """Create or change an object; return the response to a write."""
        self.revision += 1
        old = self.objects.get((namespace, name))
        uid = old["metadata"]["uid"] if old else f"uid-{next(self._uids)}"
        obj = {
            "apiVersion": "test.dev/v1",
            "kind": "Thing",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": uid,
                "resourceVersion": str(self.revision),
                **metadata,
            },
        }
        self.objects[namespace, name] = obj
        self._append("MODIFIED" if old else "ADDED", obj)
        return obj

    def remove(self, name, namespace="default"):
        self.revision += 1
        last = self.objects.pop((namespace, name))
        metadata = {**last["metadata"], "resourceVersion": str(self.revision)}
        self._append("DELETED", {**last, "metadata": metadata})

    def forget(self):
        """Compact everything before now."""
        self.forgotten = self.revision

    def lose_past(self, revision=10):
        """Like a server restored from a backup: the versions restart lower."""
        self.revision = revision
        self.log, self.forgotten = [], 0
        self.objects = {
            key: {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}
            for key, obj in self.objects.items()
        }

    def versions(self):
        return {key: obj["metadata"]["resourceVersion"] for key, obj in self.objects.items()}

    # The transport.

    async def request(self, method, path, *, query=None, body=None, content_type="", timeout):  # noqa: ASYNC109
        assert method == "GET"
        query = query or {}
        await asyncio.sleep(0.001)
        self.requests.append(("LIST", query.get("continue", "")))
        if self.faults and isinstance(self.faults[0], ApiError):
            raise self.faults.popleft()
        namespace = _namespace(path)
        begin, revision = (int(part) for part in query.get("continue", f"0/{self.revision}").split("/"))
        if revision < self.forgotten:
            return Response(410, {}, orjson.dumps(_status(410, "Expired")))
        matching = [obj for (ns, _), obj in sorted(self.objects.items()) if namespace in (None, ns)]
        end = begin + int(query.get("limit", "1000"))
        metadata = {"resourceVersion": str(revision)}
        if end < len(matching):
            metadata["continue"] = f"{end}/{revision}"
        return Response(200, {}, orjson.dumps({"metadata": metadata, "items": matching[begin:end]}))

    @asynccontextmanager
    async def stream(self, path, *, query, idle_timeout):
        await asyncio.sleep(0.001)
        self.requests.append(("WATCH", query["resourceVersion"]))
        fault = self.faults.popleft() if self.faults else None
        if isinstance(fault, ApiError):
            raise fault
        self.open_streams += 1
        try:
            yield self._lines(path, query, idle_timeout, fault)
        finally:
            self.open_streams -= 1

    async def close(self):
        pass

    async def _lines(self, path, query, idle_timeout, fault):
        loop = asyncio.get_running_loop()
        end = loop.time() + int(query["timeoutSeconds"])
        bookmark = loop.time() + self.bookmarks_every
        since, namespace, sent = int(query["resourceVersion"]), _namespace(path), 0
        if since < self.forgotten:
            yield orjson.dumps({"type": "ERROR", "object": _status(410, "Expired")})
            return
        while True:
            news = [entry for entry in self.log if entry[0] > since]
            self._news.clear()
            lines = [
                orjson.dumps({"type": kind, "object": obj})
                for _, kind, obj in news
                if namespace in (None, obj["metadata"]["namespace"])
            ]
            if news:
                since = news[-1][0]
            if not lines and loop.time() >= bookmark:
                bookmark = loop.time() + self.bookmarks_every
                lines = [_bookmark(self.revision)]
            for line in lines:
                await _fail(fault, sent, idle_timeout)
                yield line
                sent += 1
            await _fail(fault, sent, idle_timeout)
            if loop.time() >= end:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout_at(min(end, bookmark)):
                    await self._news.wait()

    def _append(self, kind, obj):
        self.log.append((self.revision, kind, obj))
        self._news.set()


async def _fail(fault, sent, idle_timeout):
    if fault is None or sent < fault.lines:
        return
    if isinstance(fault, DeadAfter):
        await asyncio.sleep(idle_timeout)
        raise Ambiguous("silent")
    raise Ambiguous("the connection was reset")


def _namespace(path):
    parts = path.split("/")
    return parts[parts.index("namespaces") + 1] if "namespaces" in parts else None


def _bookmark(revision):
    metadata = {"resourceVersion": str(revision)}
    return orjson.dumps({"type": "BOOKMARK", "object": {"kind": "Thing", "metadata": metadata}})


def _status(code, reason):
    return {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": reason}
