"""Followers of the server on a disk without room: they try again, and end nothing."""

import asyncio

import pytest

from picokube.apiserver.lifecycle import claim_protection, collector, namespaces
from picokube.apiserver.storage.store import Closed, DiskFull
from support.virtual_time import run_virtual

FOLLOWERS = {
    "collector": (collector.Collector, "_consider"),
    "claims": (claim_protection.ClaimProtection, "_look_at"),
    "namespaces": (namespaces.NamespaceController, "_look_at"),
}


class Nothing:
    """A server that holds nothing."""

    def __init__(self):
        self.listeners = []
        self.registry = ()
        self.store = self
        self.objects = ()

    def list(self, _):
        return self


@pytest.mark.parametrize("name", FOLLOWERS)
def test_a_full_disk_is_waited_for(name, monkeypatch):
    """E4: garbage collection and its like ended the process when they could not write."""
    kind, method = FOLLOWERS[name]
    tries = []

    async def attempt(_, what):
        tries.append(what)
        if len(tries) < 3:
            raise DiskFull("no space left on device")
        if len(tries) == 4:
            raise Closed

    monkeypatch.setattr(kind, method, attempt)

    class Key:
        name = "a"

    async def main():
        follower = kind(Nothing())
        running = asyncio.create_task(follower.run())
        subject = "default" if name == "namespaces" else Key()
        follower._queue.put_nowait(subject)
        await asyncio.sleep(30)
        assert tries == [subject] * 3
        assert not running.done()
        follower._queue.put_nowait(subject)
        await running

    run_virtual(main())
