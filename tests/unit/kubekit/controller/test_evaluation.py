"""Large pure work runs outside the event loop, and ends."""

import asyncio
import threading
import time

import pytest

from kubekit.controller.evaluation import INLINE_BYTES, evaluated
from kubekit.controller.watchdog import PassTooLong


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return threading.current_thread().name


def test_small_work_runs_at_once_and_large_work_in_a_thread():
    """E2: the loop gets its turn many times while large work runs."""

    async def main():
        assert await evaluated(lambda: spin(0), size=INLINE_BYTES) == "MainThread"
        turns = 0
        working = asyncio.create_task(evaluated(lambda: spin(0.5), size=INLINE_BYTES + 1))
        while not working.done():
            await asyncio.sleep(0.005)
            turns += 1
        assert await working == "evaluation"
        assert turns > 5

    asyncio.run(main())


def test_an_error_of_large_work_is_raised_where_it_is_awaited():
    async def main():
        with pytest.raises(ValueError, match="as it was"):
            await evaluated(_fail, size=10**6)

    asyncio.run(main())


def _fail():
    raise ValueError("as it was")


def test_work_that_never_ends_is_aborted():
    """E2: and the next work runs."""

    async def main():
        with pytest.raises(PassTooLong):
            await evaluated(lambda: spin(600), size=10**6, limit=0.3)
        assert await evaluated(lambda: spin(0), size=10**6) == "evaluation"

    asyncio.run(main())


def test_work_that_no_one_waits_for_any_more_ends():
    """E2: a request that is cancelled leaves no thread at work."""

    async def main():
        working = asyncio.create_task(evaluated(lambda: spin(60), size=INLINE_BYTES + 1))
        await asyncio.sleep(0.1)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working

    asyncio.run(main())
    for item in threading.enumerate():
        if item.name == "evaluation":
            item.join(10)
            assert not item.is_alive()
