"""No write leaves for an object that the process may not act on any more."""

import asyncio

import pytest

from kubekit.client.api_client import Client
from kubekit.client.errors import NotSent
from kubekit.client.resource import Resource
from kubekit.client.transport import Response
from kubekit.controller.controller import Controller, Outcome
from kubekit.controller.fence import AuthorityLost, FencedTransport, acting_on
from kubekit.controller.reconcile import DONE, Key
from support.virtual_time import run_virtual

THINGS = Resource("example.org", "v1", "things", "Thing")
OURS, THEIRS = Key("default", "ours"), Key("default", "theirs")


class Sent:
    """A transport that remembers what was sent."""

    def __init__(self):
        self.requests = []
        self.while_connecting = lambda: None

    async def request(self, method, path, *, may_leave, **_):
        self.while_connecting()
        if not may_leave():
            raise NotSent("held back")
        self.requests.append(method)
        return Response(200, {}, b"{}")


def fenced(held):
    sent = Sent()
    return sent, Client(FencedTransport(sent, lambda key: key in held), manager="test")


def a_thing(key):
    return {"metadata": {"name": key.name, "namespace": key.namespace, "resourceVersion": "1"}}


@pytest.mark.rule("CHART-4")
def test_a_write_for_an_object_that_was_lost_is_not_sent():
    """Reads are, and writes for what is held; tasks of a pass are bound like the pass."""

    async def main():
        sent, client = fenced({OURS})
        with acting_on(THEIRS):
            await client.get(THINGS, "theirs", "default")
            with pytest.raises(AuthorityLost, match="another process may act on default/theirs"):
                await client.update(THINGS, a_thing(THEIRS))
            with pytest.raises(NotSent):
                await asyncio.create_task(client.create(THINGS, a_thing(OURS)))
        with acting_on(OURS):
            await client.update(THINGS, a_thing(OURS))
        await client.create(THINGS, a_thing(THEIRS))
        assert sent.requests == ["GET", "PUT", "POST"]

    run_virtual(main())


@pytest.mark.rule("CHART-4")
def test_authority_that_ends_while_a_write_waits_for_its_connection_holds_it_back():
    """A process that stood still there must not wake up and write."""

    async def main():
        held = {OURS}
        sent, client = fenced(held)
        sent.while_connecting = held.clear
        with acting_on(OURS), pytest.raises(AuthorityLost, match="another process may act on default/ours"):
            await client.update(THINGS, a_thing(OURS))
        assert sent.requests == []

    run_virtual(main())


def test_a_pass_that_meets_the_fence_is_left_to_the_next_holder():
    """Authority that ended between two writes of one pass stops the second, and the key is not tried again."""

    async def main():
        held, outcomes = {OURS}, []
        sent, client = fenced(held)

        async def reconcile(key):
            await client.update(THINGS, a_thing(key))
            held.clear()
            await client.update(THINGS, a_thing(key))
            return DONE

        controller = Controller("things", reconcile, may_act=lambda key: key in held)
        controller.on_pass = lambda _, how, __: outcomes.append(how)
        working = asyncio.create_task(controller.run())
        controller.enqueue(OURS)
        await asyncio.sleep(60)
        controller.stop()
        await working
        assert sent.requests == ["PUT"]
        assert outcomes[0] is Outcome.TRANSIENT
        assert set(outcomes[1:]) == {Outcome.NOT_OURS}
        assert controller.keys_in_progress == []

    run_virtual(main())
