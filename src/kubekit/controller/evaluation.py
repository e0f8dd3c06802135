"""Runs pure work over what a user wrote: a little at once, much in a thread, so that the event loop goes on.

Threads share the interpreter, so the work takes as long as ever; the loop gets its turn every few milliseconds. One
evaluation runs in a thread at a time. One that takes more CPU time than the limit is aborted there.
"""

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar, cast
from weakref import WeakKeyDictionary

from kubekit.controller.watchdog import PassAborted, PassTooLong, raise_in

T = TypeVar("T")

INLINE_BYTES: Final = 32 * 1024
"""What is read from fewer bytes is evaluated at once."""
MAX_CPU_SECONDS: Final = 20.0
"""A run of 10,000 steps takes a few seconds."""
_LOOK_SECONDS: Final = 0.25
_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


async def evaluated(
    work: Callable[[], T], *, size: int, inline: int = 0, limit: float = MAX_CPU_SECONDS
) -> T:
    """The result of work over `size` bytes. Raises what it raises, and PassTooLong for what takes too long.

    Up to `inline` bytes, or INLINE_BYTES if that is more, it runs at once.
    """
    if size <= max(inline, INLINE_BYTES):
        return work()
    loop = asyncio.get_running_loop()
    async with _turns.setdefault(loop, asyncio.Lock()):
        result, failure = await _in_thread(work, limit)
    try:
        if failure is not None:
            raise failure
        return cast("T", result)
    finally:
        # The traceback of a failure refers to this frame: without a cycle, what the work read is freed at once.
        del failure


async def _in_thread(work: Callable[[], T], limit: float) -> tuple[T | None, BaseException | None]:
    """What the work returned or raised."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[T | None, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def run() -> None:
        result: T | None = None
        failure: BaseException | None = None
        try:
            result = context.run(work)
        except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
            failure = error
        with suppress(RuntimeError):  # the loop was closed meanwhile, and nobody waits
            loop.call_soon_threadsafe(_settle, done, (result, failure))
        del failure  # its traceback refers to this frame

    thread = threading.Thread(target=run, name="evaluation", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # the machine has no thread left, and a late answer is better than none
        return work(), None
    began = time.monotonic()
    try:
        while not (await asyncio.wait([done], timeout=_LOOK_SECONDS))[0]:
            if time.monotonic() - began > limit and _cpu(thread) > limit:
                _abort(thread)
                await asyncio.wait([done], timeout=_LOOK_SECONDS)
                raise PassTooLong(f"an evaluation took more than {limit:.0f} s")
    except asyncio.CancelledError:
        _abort(thread)
        raise
    return done.result()


def _abort(thread: threading.Thread) -> None:
    if thread.is_alive() and thread.ident is not None:
        raise_in(thread.ident, PassAborted)


def _cpu(thread: threading.Thread) -> float:
    if not thread.is_alive() or thread.ident is None:
        return 0.0
    return time.clock_gettime(time.pthread_getcpuclockid(thread.ident))


def _settle(done: asyncio.Future[Any], answer: tuple[Any, BaseException | None]) -> None:
    if not done.done():
        done.set_result(answer)
