"""Candidates for a Lease, and a server and connections between them that a test can slow down, cut and kill."""

import asyncio
from copy import deepcopy

from kubekit.client.errors import AlreadyExists, Ambiguous, Conflict, NotFound, NotSent
from kubekit.leases.lease import Elector, LeaseTiming
from support.virtual_time import wall_clock

TIMING = LeaseTiming(duration=30, renew_deadline=20, retry_period=5)


class Records:
    """The Leases of a server."""

    def __init__(self):
        self.leases = {}
        self.version = 0

    def get(self, name):
        if name not in self.leases:
            raise NotFound(name, status=404)
        return deepcopy(self.leases[name])

    def create(self, obj):
        if obj["metadata"]["name"] in self.leases:
            raise AlreadyExists("taken", status=409)
        return self._put(obj)

    def update(self, obj):
        if (
            self.get(obj["metadata"]["name"])["metadata"]["resourceVersion"]
            != obj["metadata"]["resourceVersion"]
        ):
            raise Conflict("newer", status=409)
        return self._put(obj)

    def _put(self, obj):
        self.version += 1
        kept = deepcopy(obj)
        kept["metadata"]["resourceVersion"] = str(self.version)
        self.leases[kept["metadata"]["name"]] = kept
        return deepcopy(kept)

    @property
    def holder(self):
        return self.leases["leader"]["spec"]["holderIdentity"]


class Wire:
    """A process's connection to the records: each direction has its delay, and may be cut."""

    def __init__(self, records, *, there=lambda: 0.001, back=lambda: 0.001):
        self.records, self.there, self.back = records, there, back
        self.is_cut = False
        self.writes = 0

    async def get(self, resource, name, namespace=None):
        return await self._carry(lambda: self.records.get(name))

    async def create(self, resource, obj):
        self.writes += 1
        return await self._carry(lambda: self.records.create(obj))

    async def update(self, resource, obj):
        self.writes += 1
        return await self._carry(lambda: self.records.update(obj))

    async def _carry(self, act):
        if self.is_cut:
            await asyncio.sleep(10)
            raise NotSent("no route")
        committed = asyncio.get_running_loop().create_future()
        # A request in flight arrives even if its sender does not wait for it.
        asyncio.get_running_loop().call_later(self.there(), _commit, act, committed)
        answer = await asyncio.shield(committed)
        await asyncio.sleep(self.back())
        if self.is_cut:
            raise Ambiguous("reset")
        if isinstance(answer, Exception):
            raise answer
        return answer


def _commit(act, committed):
    try:
        committed.set_result(act())
    except (NotFound, AlreadyExists, Conflict) as refused:
        committed.set_result(refused)


class Candidate:
    def __init__(self, records, name, *, wire=None, offset=0.0, random=lambda: 0.5, **options):
        self.wire = wire or Wire(records)
        self.changes = []
        self.elector = Elector(
            self.wire,
            name="leader",
            namespace="agents",
            identity=name,
            now=wall_clock(offset=offset),
            timing=TIMING,
            random=random,
            **options,
        )
        self.elector.subscribe(
            lambda shard, has_finalizer: self.changes.append(
                (has_finalizer, asyncio.get_running_loop().time())
            )
        )
        self.task = asyncio.create_task(self.elector.run())

    async def stop(self):
        self.task.cancel()
        await asyncio.wait([self.task])
