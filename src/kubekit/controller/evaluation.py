"""Evaluates user-written input: small input inline, large input in a thread that does not block the event loop.

Threads share the interpreter, so the work is not faster, but the loop runs every few milliseconds. Only one evaluation
runs in a thread at a time. An evaluation that exceeds the CPU time limit is aborted.
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
"""Input up to this size is evaluated inline."""
MAX_CPU_SECONDS: Final = 20.0
"""A run of 10,000 steps takes a few seconds."""
_POLL_SECONDS: Final = 0.25
_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


async def evaluated(
    work: Callable[[], T], *, size: int, inline: int = 0, limit: float = MAX_CPU_SECONDS
) -> T:
    """The result of work over `size` bytes. Raises the error of the work, or PassTooLong if it exceeds the limit.

    Up to `inline` bytes, or INLINE_BYTES if that is more, it runs inline.
    """
    if size <= max(inline, INLINE_BYTES):
        return work()
    loop = asyncio.get_running_loop()
    async with _locks.setdefault(loop, asyncio.Lock()):
        result, failure = await _in_thread(work, limit)
    try:
        if failure is not None:
            raise failure
        return cast("T", result)
    finally:
        # The traceback of a failure refers to this frame: break the cycle to free the input at once.
        del failure


async def _in_thread(work: Callable[[], T], limit: float) -> tuple[T | None, BaseException | None]:
    """The result or the error of the work."""
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
        with suppress(RuntimeError):  # the loop was closed in the meantime
            loop.call_soon_threadsafe(_set_result, done, (result, failure))
        del failure  # its traceback refers to this frame

    thread = threading.Thread(target=run, name="evaluation", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no thread available: run inline rather than fail
        return work(), None
    started_at = time.monotonic()
    try:
        while not (await asyncio.wait([done], timeout=_POLL_SECONDS))[0]:
            if time.monotonic() - started_at > limit and _cpu(thread) > limit:
                _abort(thread)
                await asyncio.wait([done], timeout=_POLL_SECONDS)
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


def _set_result(done: asyncio.Future[Any], result: tuple[Any, BaseException | None]) -> None:
    if not done.done():
        done.set_result(result)
