"""Each key once, never two workers on one key, delays and back-off."""

import asyncio

import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st

from kubekit.controller.urgent_work import UrgentWorkGate
from kubekit.controller.workqueue import Backoff, ShutDown, WorkQueue
from support.virtual_time import run_virtual


def now():
    return asyncio.get_running_loop().time()


def a_queue(**given):
    return WorkQueue(random=lambda: 1.0, **given)


async def take(queue):
    key = await queue.get()
    queue.done(key)
    return key


def test_a_key_waits_once_however_often_it_is_added():
    """Ten changes before a pass are one pass."""

    async def main():
        queue = a_queue()
        for key in "aabab":
            queue.add(key)
        assert len(queue) == 2
        return [await take(queue), await take(queue)]

    assert run_virtual(main()) == ["a", "b"]


def test_a_key_added_while_it_is_worked_on_comes_back_after_that():
    """A change during a pass is seen by another pass, and never by a second worker at the same time."""

    async def main():
        queue = a_queue()
        queue.add("a")
        key = await queue.get()
        queue.add("a")
        queue.add("a")
        assert (len(queue), queue.processing) == (0, 1)
        queue.done(key)
        assert len(queue) == 1
        assert await take(queue) == "a"
        assert (len(queue), queue.processing) == (0, 0)

    run_virtual(main())


def test_delayed_keys_are_looked_at_when_the_clock_was_set():
    """E15: a time that was reckoned by another clock counts no more; a new one does."""

    async def main():
        queue = a_queue()
        queue.add_after("a", 365 * 24 * 3600.0)
        queue.add_after("b", 10.0)
        queue.release_delayed()
        assert (len(queue), queue.delayed) == (2, 0)
        assert {await take(queue), await take(queue)} == {"a", "b"}
        queue.add_after("a", 5.0)
        return await take(queue), now()

    assert run_virtual(main()) == ("a", 5.0)


def test_a_delayed_key_comes_at_its_earliest_time_and_once():
    """Of several times the earliest counts, whichever was said first."""

    async def main():
        queue = a_queue()
        queue.add_after("late", 60)
        queue.add_after("a", 30)
        queue.add_after("a", 10)
        queue.add_after("a", 20)
        assert queue.delayed == 2
        seen = [(await take(queue), now()), (await take(queue), now())]
        assert queue.delayed == 0
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(100):
                await queue.get()
        return seen

    assert run_virtual(main()) == [("a", 10), ("late", 60)]


def test_no_delay_is_now():
    """A wait of nothing or less adds at once."""

    async def main():
        queue = a_queue()
        queue.add_after("a", 0)
        queue.add_after("b", -1)
        return len(queue)

    assert run_virtual(main()) == 2


def test_waits_after_failures_double_up_to_a_bound_and_start_over():
    """5 ms, 10 ms, ... 30 s; after `forget` the next failure is the first."""

    async def main():
        queue = a_queue()
        waits = [queue.add_rate_limited("a") for _ in range(20)]
        assert queue.failures("a") == 20
        queue.forget("a")
        return waits, queue.add_rate_limited("a"), queue.add_rate_limited("b")

    waits, again, other = run_virtual(main())
    assert waits[:4] == [0.005, 0.01, 0.02, 0.04]
    assert waits[-1] == 30
    assert (again, other) == (0.005, 0.005)


def test_what_a_server_asks_to_wait_is_waited():
    """`at_least` wins over a shorter back-off."""

    async def main():
        queue = a_queue()
        queue.add_rate_limited("a", at_least=7)
        await queue.get()
        return now()

    assert run_virtual(main()) == 7


def test_jitter_takes_off_up_to_a_half():
    """Keys that fail together do not come back together."""
    backoff = Backoff(first=1, limit=8)
    parts = iter((0.0, 0.5, 1.0))
    assert [backoff.delay(1, lambda: next(parts)) for _ in range(3)] == [1.0, 1.5, 2.0]
    assert backoff.delay(10_000, lambda: 1.0) == 8


def test_a_closed_queue_gives_out_and_takes_nothing():
    """Waiting keys are dropped, waiting workers are notified, keys in progress can still be marked done."""

    async def main():
        queue = a_queue()
        queue.add("under way")
        key = await queue.get()
        waiting = [asyncio.create_task(queue.get()) for _ in range(3)]
        await asyncio.sleep(0)
        queue.add_after("later", 5)
        queue.add("under way")
        queue.shut_down()
        queue.add("b")
        queue.add_after("b", 1)
        queue.done(key)
        await asyncio.sleep(10)
        assert (len(queue), queue.delayed, queue.processing) == (0, 0, 0)
        return [type(item) for item in await asyncio.gather(*waiting, return_exceptions=True)]

    assert run_virtual(main()) == [ShutDown] * 3


def test_a_worker_that_is_cancelled_while_resuming_loses_no_key():
    """The key goes to the next worker."""

    async def main():
        queue = a_queue()
        first, second = (asyncio.create_task(queue.get()) for _ in range(2))
        await asyncio.sleep(0)
        queue.add("a")
        first.cancel()
        return await second

    assert run_virtual(main()) == "a"


def test_it_reports_how_long_keys_wait():
    """Age of the next in line, the wait of each taken key, the longest under way."""
    waits = []

    async def main():
        queue = a_queue(on_wait=waits.append)
        assert (queue.oldest_age(), queue.longest_processing()) == (0, None)
        queue.add("a")
        await asyncio.sleep(3)
        queue.add("b")
        await asyncio.sleep(4)
        assert queue.oldest_age() == 7
        await queue.get()
        await queue.get()
        await asyncio.sleep(2)
        assert queue.oldest_age() == 0
        return queue.longest_processing()

    assert run_virtual(main()) == ("a", 2)
    assert waits == [7, 4]


def test_ever_earlier_times_do_not_pile_up():
    """A key that is delayed again and again holds one place."""

    async def main():
        queue = a_queue()
        for seconds in range(10_000, 0, -1):
            queue.add_after("a", seconds)
        assert len(queue._heap) < 200
        await take(queue)
        return now()

    assert run_virtual(main()) == 1


@settings(deadline=None)
@given(
    adds=st.lists(
        st.tuples(st.floats(0, 5), st.sampled_from("abcd"), st.floats(0, 3)), min_size=1, max_size=40
    ),
    workers=st.integers(1, 4),
    work=st.floats(0, 2),
)
def test_every_change_is_seen_by_a_later_pass_and_never_by_two_at_once(adds, workers, work):
    """Whatever the times: after each add of a key a pass over it begins, and passes over one key never overlap."""
    began: dict[str, list[float]] = {}
    under_way: set[str] = set()

    async def worker(queue):
        while True:
            key = await queue.get()
            assert key not in under_way
            under_way.add(key)
            began.setdefault(key, []).append(now())
            await asyncio.sleep(work)
            under_way.discard(key)
            queue.done(key)

    async def main():
        queue = a_queue()
        tasks = [asyncio.create_task(worker(queue)) for _ in range(workers)]
        due: dict[str, float] = {}
        for wait, key, delay in adds:
            await asyncio.sleep(wait)
            queue.add_after(key, delay)
            due[key] = max(due.get(key, 0), now())
        await asyncio.sleep(10 * len(adds))
        assert (len(queue), queue.delayed, queue.processing) == (0, 0, 0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert all(began[key][-1] >= last for key, last in due.items())

    run_virtual(main())


def test_delays_that_are_due_at_once_are_kept_by_every_loop():
    """The loop of the processes answers a time that is due with another kind of timer."""

    async def main():
        queue = a_queue()
        for number in range(3):
            queue.add_after(number, 1e-9)
        return [await take(queue) for _ in range(3)]

    assert sorted(uvloop.run(main())) == [0, 1, 2]


def test_what_is_added_first_is_taken_before_all_that_wait():
    """In the order in which it came; a key that waits already is moved up."""

    async def story():
        queue = WorkQueue()
        for key in ("a", "b", "c"):
            queue.add(key)
        queue.add("x", first=True)
        queue.add("b", first=True)
        return [await queue.get() for _ in range(len(queue))]

    assert run_virtual(story()) == ["x", "b", "a", "c"]


def test_a_key_that_is_worked_on_comes_back_first_when_it_is_added_so():
    """A key that gets a stop request during its pass is requeued before others."""

    async def story():
        queue = WorkQueue()
        queue.add("a")
        taken = await queue.get()
        queue.add("b")
        queue.add("a", first=True)
        queue.done(taken)
        return [await queue.get(), await queue.get(), len(queue), queue.oldest_age()]

    assert run_virtual(story()) == ["a", "b", 0, 0.0]


def test_what_is_urgent_in_one_queue_goes_before_what_waits_in_another():
    """Until it is done, and a moment longer: what it leads to is often urgent elsewhere."""

    async def story():
        urgent_work = UrgentWorkGate(limit=10, linger=1)
        calls, others = WorkQueue(urgent_work=urgent_work), WorkQueue(urgent_work=urgent_work)
        calls.add("stop", first=True)
        others.add("tidy")
        waiting = asyncio.create_task(others.get())
        urgent = await calls.get()
        await asyncio.sleep(3)
        calls.done(urgent)
        others.add("stop, too", first=True)
        taken = [await others.get()]
        others.done(taken[0])
        return [*taken, await waiting, now()]

    assert run_virtual(story()) == ["stop, too", "tidy", 4.0]


def test_what_can_wait_does_not_wait_for_ever():
    """A pass that hangs, or an endless series of stop requests, delays no other key for longer than the limit."""

    async def story():
        urgent_work = UrgentWorkGate(limit=2)
        calls, others = WorkQueue(urgent_work=urgent_work), WorkQueue(urgent_work=urgent_work)
        calls.add("hangs", first=True)
        others.add("tidy")
        await calls.get()
        return [await others.get(), now(), urgent_work.is_on]

    assert run_virtual(story()) == ["tidy", 2.0, False]


def test_a_queue_that_shuts_down_with_urgent_keys_holds_no_one_back():
    """Its keys are dropped, and so is their urgent_work."""

    async def story():
        urgent_work = UrgentWorkGate(limit=60, linger=1)
        calls, others = WorkQueue(urgent_work=urgent_work), WorkQueue(urgent_work=urgent_work)
        calls.add("stop", first=True)
        others.add("tidy")
        calls.shut_down()
        return [await others.get(), now()]

    assert run_virtual(story()) == ["tidy", 1.0]
