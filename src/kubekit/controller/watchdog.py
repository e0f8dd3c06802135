"""Detects passes that block the event loop, reports them, and aborts those that exceed the limit.

A pass is pure Python between two awaits. Each such piece is labeled with its object. If the loop's thread spends more
CPU time in one piece than the limit, a watching thread raises `PassAborted` there. Only CPU time counts: a loaded
machine aborts nothing. C code cannot be interrupted, so its callers bound its input.
"""

import asyncio
import ctypes
import logging
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Final, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")

MIN_REPORTED_SECONDS: Final = 0.1
_POLL_SECONDS: Final = 0.02
_LAG_SECONDS: Final = 0.25
_SWITCH_SECONDS: Final = 0.001


class PassAborted(BaseException):
    """Raised inside a pass by the watchdog. No `except Exception` in a reconciler swallows it."""


class PassTooLong(Exception):
    """A pass blocked the event loop for longer than the limit."""


class _Piece:
    __slots__ = ("aborted", "cpu", "label", "since")

    def __init__(self, label: str) -> None:
        self.label = label
        self.since = time.monotonic()
        self.cpu = time.thread_time()
        self.aborted = False


class Watchdog:
    """Watches one event loop from a separate thread."""

    def __init__(
        self,
        *,
        limit: float = 2.0,
        on_lag: Callable[[float], None] | None = None,
        reported: float = MIN_REPORTED_SECONDS,
    ) -> None:
        self.on_lag = on_lag
        """Called every 0.25 s with the lag of the loop in seconds."""
        self._limit = limit
        self._reported = reported
        self._piece: _Piece | None = None
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    async def run(self) -> None:
        """Watch until cancelled. Belongs to the loop that it watches."""
        # Threads release the interpreter lock sooner, which reduces the lag of the loop.
        sys.setswitchinterval(_SWITCH_SECONDS)
        ident = threading.get_ident()
        clock = time.pthread_getcpuclockid(ident)
        thread = threading.Thread(target=self._watch, args=(ident, clock), name="watchdog", daemon=True)
        thread.start()
        try:
            while True:
                due = time.monotonic() + _LAG_SECONDS
                await asyncio.sleep(_LAG_SECONDS)
                if self.on_lag is not None:
                    self.on_lag(max(time.monotonic() - due, 0.0))
        finally:
            self._stopped.set()
            thread.join()

    def guarded(self, work: Coroutine[Any, Any, T], label: str) -> "Guarded[T]":
        """Wrap a coroutine; each piece of it between two awaits is watched. Raises PassTooLong."""
        return Guarded(self, work, label)

    def enter(self, label: str) -> None:
        """Start a piece, on the loop's thread."""
        self._piece = _Piece(label)

    def leave(self) -> None:
        """End the piece and revoke an abort that has not been delivered."""
        with self._lock:
            piece, self._piece = self._piece, None
            if piece is not None and piece.aborted:
                raise_in(threading.get_ident(), None)
        if piece is not None and (seconds := time.monotonic() - piece.since) > self._reported:
            cpu = time.thread_time() - piece.cpu
            log.warning(
                "event loop blocked",
                extra={"by": piece.label, "seconds": round(seconds, 3), "cpu": round(cpu, 3)},
            )

    def _watch(self, ident: int, clock: int) -> None:
        while not self._stopped.wait(_POLL_SECONDS):
            with self._lock:
                piece = self._piece
                if piece is None or piece.aborted:
                    continue
                if time.clock_gettime(clock) - piece.cpu > self._limit:
                    piece.aborted = True
                    raise_in(ident, PassAborted)


class Guarded(Awaitable[T]):
    """Drives a coroutine and labels what runs between its awaits."""

    __slots__ = ("_label", "_watchdog", "_work")

    def __init__(self, watchdog: Watchdog, work: Coroutine[Any, Any, T], label: str) -> None:
        self._watchdog = watchdog
        self._work = work
        self._label = label

    def __await__(self) -> Generator[Any, Any, T]:
        step: Callable[[Any], Any] = self._work.send
        argument: Any = None
        while True:
            try:
                waited_for = self._piece(step, argument)
            except StopIteration as done:
                result: T = done.value
                return result
            try:
                argument = yield waited_for
                step = self._work.send
            except BaseException as error:  # noqa: BLE001 - passed to the work, cancellation above all
                step, argument = self._work.throw, error

    def _piece(self, step: Callable[[Any], Any], argument: Any) -> Any:
        try:
            try:
                self._watchdog.enter(self._label)
                return step(argument)
            finally:
                self._watchdog.leave()
        except PassAborted:
            # The abort may arrive while `leave` runs, which then did not finish.
            self._watchdog.leave()
            raise PassTooLong(f"{self._label} blocked the event loop for too long") from None


def raise_in(ident: int, error: type[BaseException] | None) -> None:
    """Raise an error in another thread when it next runs Python; None revokes one that was not delivered."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(ident), ctypes.py_object(error) if error is not None else None
    )
