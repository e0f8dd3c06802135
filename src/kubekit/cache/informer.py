"""Keeps a cache true: a list, then a watch, for ever, in each namespace.

Nothing is lost between the list and the watch, because the watch begins at the version of the list. A stream that is
cut goes on at the last version that was told, bookmarks included. If the server has forgotten that version, the place
is listed anew and the cache compared with it: what is missing is told as deleted.
"""

import asyncio
import logging
import random as chance
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kubekit.cache.indexers import Indexer
from kubekit.cache.label_selector import label_selector
from kubekit.cache.namespaces import Namespaces
from kubekit.cache.object_cache import EVERY, Cache, Cached, Change, Handler
from kubekit.client.api_client import SILENCE_AFTER_END, Client
from kubekit.client.errors import ApiError, Expired, ServerFailure, is_beyond_server, is_transient
from kubekit.client.resource import Resource
from kubekit.client.watch import WatchEvent

__all__ = ["Cached", "Change", "Counts", "Handler", "Informer", "Pace"]

log = logging.getLogger("kubekit.cache.informer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often an informer asks, in seconds."""

    watch: float = 60.0
    """A watch is asked to end after once to twice as long: a dead one is noticed, servers are spread."""
    first_retry: float = 0.1
    last_retry: float = 30.0
    steady: float = 1.0
    """A watch that ends sooner without a word did not work."""
    refusals: int = 10
    """After so many failures of the server in a row the place is listed anew: the version may be at fault."""
    page_size: int = 500


@dataclass(slots=True)
class Counts:
    """What an informer has been through."""

    events: int = 0
    lists: int = 0
    watches: int = 0
    failures: int = 0


class Informer:
    """One kind in some namespaces. `run` is called once and ends only by cancellation."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        *,
        namespaces: Namespaces,
        labels: str = "",
        fields: str = "",
        indexes: Mapping[str, Indexer] | None = None,
        random: Callable[[], float] = chance.random,
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
        """Call `handler` at each change, at once and in order. It must be quick and not write to the cache."""
        self.cache.subscribe(handler)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for reflector in self._reflectors:
                group.create_task(reflector.run(), name=f"{self.resource.plural}-{reflector.place or '*'}")

    async def synced(self) -> None:
        """Until every namespace has been listed once."""
        for reflector in self._reflectors:
            await reflector.listed.wait()

    @property
    def has_synced(self) -> bool:
        return all(reflector.listed.is_set() for reflector in self._reflectors)

    def age(self) -> float:
        """Seconds since the last sign of life of the namespace that has been silent longest; 0 before the start."""
        return max((reflector.age() for reflector in self._reflectors), default=0.0)

    @property
    def longest_silence(self) -> float:
        """The greatest age of an informer that is well; older means that it has not reached the server."""
        return 2 * self._pace.watch + SILENCE_AFTER_END + self._pace.last_retry

    @property
    def pace(self) -> Pace:
        return self._pace

    def _admits(self, cached: Cached) -> bool:
        """Whether an own write belongs in here. What a field selector selects, only the server knows."""
        if self._has_fields and self.cache.get(cached.namespace, cached.name) is None:
            return False
        in_place = not self.resource.namespaced or cached.namespace in self._namespaces
        return in_place and self._matches(cached.labels)

    def _report(self, error: Exception) -> None:
        log.error("a handler of changes failed", exc_info=error, extra={"kind": self.resource.kind})


class _Reflector:
    """The list and the watch of one place."""

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
        self._lives()
        while True:
            try:
                if not self._version:
                    await self._list()
                await self._watch()
            except ApiError as error:
                await self._after(error)
            except Exception as error:
                log.exception("an informer stumbled", extra=self._named)
                self._version = ""
                await self._after(error)

    async def _list(self) -> None:
        found: list[Cached] = []
        version = ""
        async for page in self._client.pages(
            self._resource,
            self.place or None,
            labels=self._labels,
            fields=self._fields,
            page_size=self._pace.page_size,
        ):
            found += map(Cached.of, page.items)
            version = page.resource_version
            self._lives()
            # A page is milliseconds of work: others get their turn between two.
            await asyncio.sleep(0)
        self._informer.cache.replace(self.place, found, version)
        self._informer.counts.lists += 1
        self._version = version
        self._refusals = 0
        self.listed.set()

    async def _watch(self) -> None:
        """One watch to its end."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        seconds = self._pace.watch * (1 + self._random())
        heard = False
        async with self._client.watch(
            self._resource,
            self.place or None,
            resource_version=self._version,
            labels=self._labels,
            fields=self._fields,
            timeout_seconds=seconds,
        ) as events:
            self._informer.counts.watches += 1
            self._lives()
            async for event in events:
                self._take(event)
                heard = True
                self._failures = self._refusals = 0
                self._alive_at = loop.time()
        if heard or loop.time() - began >= self._pace.steady:
            self._failures = self._refusals = 0
            self._lives()
        else:
            await self._pause(None)

    def _take(self, event: WatchEvent) -> None:
        cache = self._informer.cache
        version = event.resource_version
        if int(version) < int(self._version):
            raise Expired(f"the server has lost its past: it tells {version} after {self._version}")
        match event.kind:
            case "ADDED" | "MODIFIED":
                if not cache.knows(event.object):
                    cache.saw(Cached.taking(event.object))
            case "DELETED":
                cache.saw_gone(Cached.of(event.object))
            case "BOOKMARK":
                pass
        self._informer.counts.events += 1
        self._version = version
        cache.progressed(self.place, version)

    async def _after(self, error: Exception) -> None:
        """Decide where to go on, and when."""
        self._informer.counts.failures += 1
        if isinstance(error, ServerFailure):
            self._refusals += 1
        if not is_transient(error) or is_beyond_server(error) or self._refusals >= self._pace.refusals:
            self._version = ""
        log.warning("a list or watch ended: %s", error, extra=self._named)
        await self._pause(error.retry_after if isinstance(error, ApiError) else None)

    async def _pause(self, at_least: float | None) -> None:
        """Short after what worked, so that a cut costs no time; then longer and longer, never in step with others."""
        ceiling = min(self._pace.last_retry, self._pace.first_retry * 2.0**self._failures)
        self._failures = min(self._failures + 1, 30)
        await asyncio.sleep(max(at_least or 0.0, ceiling * (0.5 + self._random() / 2)))

    def _lives(self) -> None:
        self._alive_at = asyncio.get_running_loop().time()

    @property
    def _named(self) -> dict[str, str]:
        return {"kind": self._resource.kind, "place": self.place or "*"}
