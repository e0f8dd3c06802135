"""Who may change a key next, however callers come and go."""

import asyncio

import pytest

from contract.storage.implementations import pod, run
from picokube.apiserver.storage.sqlite_store import KeyLocks


def test_turns_are_given_in_request_order():
    async def scenario():
        turns, order = KeyLocks(), []

        async def visit(name):
            await turns.take(pod("a"))
            order.append(name)
            await asyncio.sleep(0)
            turns.pass_on(pod("a"))

        await asyncio.gather(*(visit(name) for name in "abcd"))
        assert order == list("abcd")

    run(scenario())


@pytest.mark.parametrize("handed", [False, True], ids=["while-waiting", "as-the-turn-comes"])
def test_a_turn_is_not_lost_with_a_caller_that_is_cancelled(handed):
    async def scenario():
        turns = KeyLocks()
        await turns.take(pod("a"))
        gone, next_one = (asyncio.create_task(turns.take(pod("a"))) for _ in range(2))
        await asyncio.sleep(0)
        if handed:
            turns.pass_on(pod("a"))
        gone.cancel()
        await asyncio.wait([gone])
        if not handed:
            turns.pass_on(pod("a"))
        await next_one
        turns.pass_on(pod("a"))
        assert turns._waiting == {}, "nothing is kept about a key without writers"

    run(scenario())
