"""E2: a collection of all objects, which stops every thread, waits until the process is idle."""

import asyncio
import gc
import weakref

import pytest

from jangar.processes.cycle_collector import Idleness, collecting_when_idle


@pytest.mark.parametrize(
    ("since_last", "cpu_share", "is_due"),
    [(10, 0.0, False), (300, 0.05, True), (300, 0.5, False), (3_599, 1.0, False), (3_600, 1.0, True)],
)
def test_all_objects_are_collected_when_idle_or_late(since_last, cpu_share, is_due):
    assert Idleness().is_due(since_last=since_last, cpu_share=cpu_share) is is_due


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
        idleness = Idleness(min_seconds=0.0, look_seconds=0.01, max_cpu_share=100.0)
        async with collecting_when_idle(idleness):
            assert gc.get_threshold()[2] > 100_000
            found = old_cycle()
            async with asyncio.timeout(10):
                while found() is not None:  # noqa: ASYNC110 - the collector tells nobody
                    await asyncio.sleep(0.01)

    asyncio.run(main())
    assert gc.get_threshold() == before
    gc.unfreeze()
