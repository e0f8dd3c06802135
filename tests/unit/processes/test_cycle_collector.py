"""A collection of all objects, which stops every thread, waits until the process is idle."""

import asyncio
import gc
import weakref

import pytest

from jangar.processes.lifecycle import CollectionSchedule, collecting_when_idle


@pytest.mark.parametrize(
    ("since_last", "idle_for", "is_due"),
    [(10, 10, False), (300, 60, True), (300, 55, False), (3_599, 0, False), (3_600, 0, True)],
)
def test_all_objects_are_collected_when_idle_or_late(since_last, idle_for, is_due):
    assert CollectionSchedule().is_due(since_last=since_last, idle_for=idle_for) is is_due


class Node:
    pass


def old_cycle():
    node = Node()
    node.self = node
    gc.collect(1)
    return weakref.ref(node)


def test_an_old_cycle_is_freed_and_the_interpreter_gets_its_thresholds_back():
    before = gc.get_threshold()

    async def main():
        schedule = CollectionSchedule(
            min_interval=0.0, idle_seconds=0.0, sample_seconds=0.01, max_idle_cpu_share=100.0
        )
        async with collecting_when_idle(schedule):
            assert gc.get_threshold()[2] > 100_000
            found = old_cycle()
            async with asyncio.timeout(10):
                while found() is not None:  # noqa: ASYNC110 - the collector sends no event
                    await asyncio.sleep(0.01)

    asyncio.run(main())
    assert gc.get_threshold() == before
    gc.unfreeze()
