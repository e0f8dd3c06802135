"""Keeps a cache up to date with a list followed by watches in each namespace.

No event is lost between the list and the watch, because the watch starts at the resourceVersion of the list. An
interrupted watch resumes at the last observed resourceVersion, including bookmarks. If that has expired, the informer
lists again, compares the cache with the list, and reports missing objects as deleted.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kubekit.cache.namespaces import Namespaces
from kubekit.cache.object_cache import EVERY, Cache, Cached, Change, Handler, Indexer
from kubekit.client.api_client import WATCH_END_GRACE, Client, WatchEvent
from kubekit.client.errors import ApiError, Expired, ServerFailure, is_beyond_server, is_transient
from kubekit.client.resource import Resource
from kubekit.selectors import label_selector

__all__ = ["Cached", "Change", "Counts", "Handler", "Informer", "Pace"]

log = logging.getLogger("kubekit.cache.informer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Timing of an informer, in seconds."""

    watch: float = 60.0
    """Watches time out after one to two times this long, which detects broken ones and spreads reconnects."""
    first_retry: float = 0.1
    last_retry: float = 30.0
    steady: float = 1.0
    """A watch that ends earlier without an event counts as failed."""
    refusals: int = 10
    """Consecutive server failures after which the informer lists again: the resourceVersion may be the cause."""
    page_size: int = 500


@dataclass(slots=True)
class Counts:
    """Counters of an informer."""

    events: int = 0
    lists: int = 0
    watches: int = 0
    failures: int = 0


class Informer:
    """Watches one kind in some namespaces. `run` is called once and ends only by cancellation."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        *,
        namespaces: Namespaces,
        labels: str = "",
        fields: str = "",
        indexes: Mapping[str, Indexer] | None = None,
        random: Callable[[], float] = random.random,
        pace: Pace = Pace(),  # noqa: B008 - a frozen value
    ) -> None:
        self.resource = resource
        self.counts = Counts()
        self._namespaces = namespaces
        self._matches = label_selector(labels)
        self._has_fields = bool(fields)
        self._pace = pace
        self.cache = Cache(indexes, admits=self._admits, report=self._report)
        places = namespaces.names if resource.namespaced and namespaces.names is not None else (EVERY,)
        self._reflectors = [
            _Reflector(client, self, place, labels=labels, fields=fields, random=random) for place in places
        ]

    def subscribe(self, handler: Handler) -> None:
        """Call `handler` synchronously for each change, in order. It must be fast and not write to the cache."""
        self.cache.subscribe(handler)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for reflector in self._reflectors:
                group.create_task(reflector.run(), name=f"{self.resource.plural}-{reflector.place or '*'}")

    async def synced(self) -> None:
        """Wait until every namespace has been listed once."""
        for reflector in self._reflectors:
            await reflector.listed.wait()

    @property
    def has_synced(self) -> bool:
        return all(reflector.listed.is_set() for reflector in self._reflectors)

    def age(self) -> float:
        """Seconds since the last response for the namespace that has been silent longest; 0 before the start."""
        return max((reflector.age() for reflector in self._reflectors), default=0.0)

    @property
    def longest_silence(self) -> float:
        """Maximum age of a healthy informer; a greater age means that it does not reach the server."""
        return 2 * self._pace.watch + WATCH_END_GRACE + self._pace.last_retry

    @property
    def pace(self) -> Pace:
        return self._pace

    def _admits(self, cached: Cached) -> bool:
        """Whether an own write belongs in the cache. Field selectors can only be evaluated by the server."""
        if self._has_fields and self.cache.get(cached.namespace, cached.name) is None:
            return False
        in_place = not self.resource.namespaced or cached.namespace in self._namespaces
        return in_place and self._matches(cached.labels)

    def _report(self, error: Exception) -> None:
        log.error("change handler failed", exc_info=error, extra={"kind": self.resource.kind})


class _Reflector:
    """Lists and watches one namespace, or all of them."""

    def __init__(
        self,
        client: Client,
        informer: Informer,
        place: str,
        *,
        labels: str,
        fields: str,
        random: Callable[[], float],
    ) -> None:
        self.place = place
        self.listed = asyncio.Event()
        self._client = client
        self._resource = informer.resource
        self._informer = informer
        self._labels = labels
        self._fields = fields
        self._random = random
        self._pace = informer.pace
        self._version = ""
        self._failures = 0
        self._refusals = 0
        self._alive_at: float | None = None

    def age(self) -> float:
        return 0.0 if self._alive_at is None else asyncio.get_running_loop().time() - self._alive_at

    async def run(self) -> None:
        self._mark_alive()
        while True:
            try:
                if not self._version:
                    await self._list()
                await self._watch()
            except ApiError as error:
                await self._handle_error(error)
            except Exception as error:
                log.exception("informer failed; relisting", extra=self._log_fields)
                self._version = ""
                await self._handle_error(error)

    async def _list(self) -> None:
        objects: list[Cached] = []
        version = ""
        async for page in self._client.pages(
            self._resource,
            self.place or None,
            labels=self._labels,
            fields=self._fields,
            page_size=self._pace.page_size,
        ):
            objects += map(Cached.of, page.items)
            version = page.resource_version
            self._mark_alive()
            # A page takes milliseconds; let other tasks run between pages.
            await asyncio.sleep(0)
        self._informer.cache.replace(self.place, objects, version)
        self._informer.counts.lists += 1
        self._version = version
        self._refusals = 0
        self.listed.set()

    async def _watch(self) -> None:
        """Run one watch until it ends."""
        loop = asyncio.get_running_loop()
        started_at = loop.time()
        seconds = self._pace.watch * (1 + self._random())
        received_event = False
        async with self._client.watch(
            self._resource,
            self.place or None,
            resource_version=self._version,
            labels=self._labels,
            fields=self._fields,
            timeout_seconds=seconds,
        ) as events:
            self._informer.counts.watches += 1
            self._mark_alive()
            async for event in events:
                self._apply(event)
                received_event = True
                self._failures = self._refusals = 0
                self._alive_at = loop.time()
        if received_event or loop.time() - started_at >= self._pace.steady:
            self._failures = self._refusals = 0
            self._mark_alive()
        else:
            await self._pause(None)

    def _apply(self, event: WatchEvent) -> None:
        cache = self._informer.cache
        version = event.resource_version
        if int(version) < int(self._version):
            raise Expired(
                f"resourceVersion went backwards ({self._version} to {version}); "
                "the server was probably restored from a backup"
            )
        match event.kind:
            case "ADDED" | "MODIFIED":
                if not cache.knows(event.object):
                    cache.upsert(Cached.adopt(event.object))
            case "DELETED":
                cache.remove_observed(Cached.of(event.object))
            case "BOOKMARK":
                pass
        self._informer.counts.events += 1
        self._version = version
        cache.progressed(self.place, version)

    async def _handle_error(self, error: Exception) -> None:
        """Decide whether to relist or resume the watch, then wait."""
        self._informer.counts.failures += 1
        if isinstance(error, ServerFailure):
            self._refusals += 1
        if not is_transient(error) or is_beyond_server(error) or self._refusals >= self._pace.refusals:
            self._version = ""
        log.warning("list or watch failed", extra=self._log_fields | {"error": str(error)})
        await self._pause(error.retry_after if isinstance(error, ApiError) else None)

    async def _pause(self, at_least: float | None) -> None:
        """Wait with exponential backoff and jitter; the first wait after a success is short."""
        ceiling = min(self._pace.last_retry, self._pace.first_retry * 2.0**self._failures)
        self._failures = min(self._failures + 1, 30)
        await asyncio.sleep(max(at_least or 0.0, ceiling * (0.5 + self._random() / 2)))

    def _mark_alive(self) -> None:
        self._alive_at = asyncio.get_running_loop().time()

    @property
    def _log_fields(self) -> dict[str, str]:
        return {"kind": self._resource.kind, "namespace": self.place or "*"}
