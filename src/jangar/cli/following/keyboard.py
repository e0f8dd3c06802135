"""The keys of the terminal: read one by one, or kept from scribbling over what is drawn. Always put back as it was."""

import asyncio
import contextlib
import os
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHOWS_TYPING = termios.ECHO
WAITS_FOR_ENTER = termios.ICANON


@contextmanager
def keys(read: Callable[[str], None]) -> Iterator[None]:
    """Whatever is typed from now on is handed over at once, without Enter; an empty text is the end of input."""
    descriptor, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    # What was typed before the question is no answer to it.
    with _without(SHOWS_TYPING | WAITS_FOR_ENTER, termios.TCSAFLUSH):
        loop.add_reader(descriptor, lambda: read(os.read(descriptor, 16).decode(errors="replace")))
        try:
            yield
        finally:
            loop.remove_reader(descriptor)


@contextmanager
def unseen_typing() -> Iterator[None]:
    """What is typed is not shown: it would end up in the middle of the picture."""
    if not _is_ours():
        yield
        return
    with _without(SHOWS_TYPING):
        yield


@contextmanager
def _without(flags: int, when: int = termios.TCSADRAIN) -> Iterator[None]:
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    changed = termios.tcgetattr(descriptor)
    changed[3] &= ~flags
    termios.tcsetattr(descriptor, when, changed)
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _is_ours() -> bool:
    """Whether the terminal's keys come to us; a process in the background would be stopped for touching them."""
    try:
        return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:
        return False
