"""The loop that tests of waiting run on."""

import asyncio

import pytest

from support.virtual_time import EPOCH, NothingCanHappen, run_virtual, wall_clock


def test_sleeping_costs_no_time_and_keeps_its_order():
    """An hour passes at once, and sleepers wake in the order of their times."""
    woken = []

    async def sleeper(seconds):
        await asyncio.sleep(seconds)
        woken.append((seconds, asyncio.get_running_loop().time()))

    async def main():
        async with asyncio.TaskGroup() as group:
            for seconds in (3600, 0.1, 60):
                group.create_task(sleeper(seconds))

    run_virtual(main())
    assert [item for item, _ in woken] == [0.1, 60, 3600]
    assert [at for _, at in woken] == pytest.approx([0.1, 60, 3600])


def test_a_time_limit_ends_what_waits_for_nothing():
    """`asyncio.timeout` works on the same clock."""

    async def main():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    assert run_virtual(main()) == pytest.approx(30)


def test_a_deadlock_is_reported():
    """Waiting for something that can no longer happen is an error, not a test that hangs."""

    async def main():
        await asyncio.Event().wait()

    with pytest.raises(NothingCanHappen):
        run_virtual(main())


def test_the_wall_moves_with_the_loop():
    """A `now` made here shows the loop's time, and may be wrong on purpose."""

    async def main():
        right, wrong = wall_clock(), wall_clock(offset=-3600)
        await asyncio.sleep(90)
        return (right() - EPOCH).total_seconds(), (wrong() - EPOCH).total_seconds()

    assert run_virtual(main()) == (90, 90 - 3600)
