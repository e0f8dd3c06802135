"""Ctrl-C while a run is followed: what the user wants is asked, once; a second Ctrl-C is the answer to leave."""

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any, Final

from jangar.cli.following.keyboard import keys


class Wish(Enum):
    """What to do with the run."""

    CANCEL = "c"
    DETACH = "d"
    GO_ON = "g"


KEYS: Final = {item.value: item for item in Wish}
QUESTION: Final = "Cancel the run (c), detach (d), or keep watching (g)? "
ENDS: Final = (signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Ctrl-C as something to wait for. Being told to end is an answer by itself: leave."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self.must_end = False

    @contextmanager
    def heard(self) -> Iterator["Interrupts"]:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._asked.set)
        for end in ENDS:
            loop.add_signal_handler(end, self._end)
        try:
            yield self
        finally:
            for end in (signal.SIGINT, *ENDS):
                loop.remove_signal_handler(end)

    def _end(self) -> None:
        self.must_end = True
        self._asked.set()

    async def next(self) -> None:
        """Returns at the next Ctrl-C."""
        await self._asked.wait()
        self._asked.clear()

    async def wish(self) -> Wish:
        """Asks; who cannot be asked wants to leave."""
        if self.must_end or not can_ask():
            return Wish.DETACH
        pressed: asyncio.Future[Wish] = asyncio.get_running_loop().create_future()
        again = asyncio.ensure_future(self.next())

        def read(typed: str) -> None:
            """Other keys are passed over; the end of input means leave."""
            wish = next((KEYS[key] for key in typed.lower() if key in KEYS), None if typed else Wish.DETACH)
            if wish is not None and not pressed.done():
                pressed.set_result(wish)

        with keys(read):
            sys.stderr.write(QUESTION)
            sys.stderr.flush()
            both: set[asyncio.Future[Any]] = {pressed, again}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        again.cancel()
        wish = pressed.result() if pressed.done() else Wish.DETACH
        sys.stderr.write(f"{wish.value}\n")
        return wish


def can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
