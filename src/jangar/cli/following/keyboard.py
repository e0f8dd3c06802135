"""Reads single keys from the terminal, or suppresses echo while drawing. Always restores the terminal settings."""

import asyncio
import contextlib
import os
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ECHO = termios.ECHO
LINE_BUFFERED = termios.ICANON


@contextmanager
def keys(read: Callable[[str], None]) -> Iterator[None]:
    """Pass typed keys to `read` immediately, without Enter; an empty text is the end of input."""
    descriptor, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    # What was typed before the question is no answer to it.
    with _without(ECHO | LINE_BUFFERED, termios.TCSAFLUSH):
        loop.add_reader(descriptor, lambda: read(os.read(descriptor, 16).decode(errors="replace")))
        try:
            yield
        finally:
            loop.remove_reader(descriptor)


@contextmanager
def without_echo() -> Iterator[None]:
    """Suppress echo: typed text would corrupt the drawing."""
    if not _is_ours():
        yield
        return
    with _without(ECHO):
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
