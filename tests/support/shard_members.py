"""Members of a set of shards on a server of Leases with watches, over connections that a test can slow and cut."""

import asyncio
import contextlib
from contextlib import asynccontextmanager
from copy import deepcopy

from kubekit.client.api_client import Page, WatchEvent
from kubekit.client.errors import Ambiguous, Conflict
from kubekit.controller.reconcile import Key
from kubekit.leases.shard_records import SetNames
from kubekit.leases.shard_set import Member, ShardSet, Work
from kubekit.selectors import label_selector
from support.lease_candidates import TIMING, Records, Wire
from support.virtual_time import wall_clock

NAMES = SetNames(name="controllers", namespace="agents", domain="example.org")


class WatchedRecords(Records):
    """Leases with a history."""

    def __init__(self):
        super().__init__()
        self.log = []
        """An entry for each version."""
        self.news = asyncio.Event()

    def _put(self, obj):
        kind = "MODIFIED" if obj["metadata"]["name"] in self.leases else "ADDED"
        obj = deepcopy(obj)
        obj["metadata"].setdefault("uid", f"uid-{self.version}")
        kept = super()._put(obj)
        self._notify(kind, kept)
        return kept

    def delete(self, name, uid):
        if self.get(name)["metadata"]["uid"] != uid:
            raise Conflict("another", status=409)
        self.version += 1
        gone = self.leases.pop(name)
        gone["metadata"]["resourceVersion"] = str(self.version)
        self._notify("DELETED", gone)

    def _notify(self, kind, obj):
        self.log.append(WatchEvent(kind, deepcopy(obj)))
        self.news.set()
        self.news = asyncio.Event()

    def annotate(self, name, **annotations):
        """By hand."""
        lease = self.get(name)
        reported = {NAMES.key(word): text for word, text in annotations.items()}
        lease["metadata"]["annotations"] = {**lease["metadata"].get("annotations", {}), **reported}
        self.update(lease)

    def holder_of(self, shard):
        lease = self.leases.get(NAMES.shard(shard))
        return (lease or {"spec": {}})["spec"].get("holderIdentity") or ""


class WatchingWire(Wire):
    """Also the verbs that an informer needs."""

    async def delete(self, resource, name, namespace=None, *, uid):
        self.writes += 1
        return await self._carry(lambda: self.records.delete(name, uid))

    async def pages(self, resource, namespace, *, labels, fields, page_size):
        matches = label_selector(labels)

        def listed():
            leases = [deepcopy(lease) for lease in self.records.leases.values()]
            items = [item for item in leases if matches(item["metadata"].get("labels") or {})]
            return Page(items, str(self.records.version), "")

        yield await self._carry(listed)

    @asynccontextmanager
    async def watch(self, resource, namespace, *, resource_version, labels, fields, timeout_seconds):
        await self._carry(lambda: None)
        yield self._events(int(resource_version), label_selector(labels), timeout_seconds)

    async def _events(self, reported, matches, seconds):
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        while clock() < end:
            coming = self.records.log[reported:]
            for event in coming:
                reported += 1
                await asyncio.sleep(self.back())
                if self.is_cut:
                    await asyncio.sleep(10)
                    raise Ambiguous("reset")
                if matches(event.object["metadata"].get("labels") or {}):
                    yield WatchEvent(event.kind, deepcopy(event.object))
            if not coming:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(end):
                        await self.records.news.wait()


class ShardProcess:
    """One process; `busy` are the shards with active work."""

    def __init__(self, records, name, *, wire=None, offset=0.0, random=lambda: 0.5, count=12):
        self.name = name
        self.wire = wire or WatchingWire(records)
        self.busy = set()
        self.is_ready = True
        self.changes = []
        self.shards = ShardSet(
            self.wire,
            NAMES,
            member=Member(identity=name, about={"version": "1"}),
            count_if_new=count,
            now=wall_clock(offset=offset),
            work=Work(is_ready=lambda: self.is_ready, is_idle=lambda shard: shard not in self.busy),
            timing=TIMING,
            random=random,
        )
        self.shards.subscribe(
            lambda shard, held: self.changes.append((asyncio.get_running_loop().time(), shard, held))
        )
        self.task = asyncio.create_task(self.shards.run())

    @property
    def held(self):
        return set(self.shards.held_shards())

    def kill(self):
        """Like kill -9: its pending requests have no effect."""
        self.wire.is_cut = True
        self.task.cancel()

    async def stop(self):
        self.task.cancel()
        await asyncio.wait([self.task])


def a_key_of(shards, shard):
    """An object key of that shard."""
    return next(
        key
        for key in (Key("default", f"run-{number}") for number in range(10_000))
        if shards.shard_of(key) == shard
    )
