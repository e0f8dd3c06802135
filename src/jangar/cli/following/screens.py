"""The terminal of a followed run: a redrawn tree or plain lines, and what the user wants after Ctrl-C.

The terminal's settings are always restored.
"""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import termios
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Protocol

from jangar.cli.following.rendering import GLYPHS, PLAIN_GLYPHS, Line, Size, plain_lines, tree_lines
from jangar.cli.following.tree import Tree
from jangar.cli.terminal import can_redraw, has_box_characters, write_lines

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

ECHO = termios.ECHO
LINE_BUFFERED = termios.ICANON


@contextmanager
def keys(read: Callable[[str], None]) -> Iterator[None]:
    """Pass typed keys to `read` immediately, without Enter; an empty text is the end of input."""
    descriptor, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    # Discard what was typed before the question.
    with _without(ECHO | LINE_BUFFERED, termios.TCSAFLUSH):
        loop.add_reader(descriptor, lambda: read(os.read(descriptor, 16).decode(errors="replace")))
        try:
            yield
        finally:
            loop.remove_reader(descriptor)


@contextmanager
def without_echo() -> Iterator[None]:
    """Suppress echo: typed text would corrupt the drawing."""
    if not _is_foreground():
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


def _is_foreground() -> bool:
    """Whether this process is in the foreground: the kernel stops a background process that changes the terminal."""
    try:
        return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:
        return False


class Choice(Enum):
    """What the user wants after Ctrl-C."""

    CANCEL = "c"
    DETACH = "d"
    KEEP_WATCHING = "g"


KEYS: Final = {choice.value: choice for choice in Choice}
QUESTION: Final = "Cancel the run (c), detach (d), or keep watching (g)? "
END_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Waits for Ctrl-C and asks what to do. SIGTERM and SIGHUP detach without a question."""

    def __init__(self) -> None:
        self._interrupted = asyncio.Event()
        self.must_end = False

    @contextmanager
    def handling(self) -> Iterator["Interrupts"]:
        """Handle the signals while the block runs."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupted.set)
        for end in END_SIGNALS:
            loop.add_signal_handler(end, self._end)
        try:
            yield self
        finally:
            for end in (signal.SIGINT, *END_SIGNALS):
                loop.remove_signal_handler(end)

    def _end(self) -> None:
        self.must_end = True
        self._interrupted.set()

    async def next(self) -> None:
        """Returns at the next Ctrl-C."""
        await self._interrupted.wait()
        self._interrupted.clear()

    async def choice(self) -> Choice:
        """Ask the user; without a terminal, and after a second Ctrl-C, detach."""
        if self.must_end or not can_ask():
            return Choice.DETACH
        pressed: asyncio.Future[Choice] = asyncio.get_running_loop().create_future()
        again = asyncio.ensure_future(self.next())

        def read(typed: str) -> None:
            """Ignore other keys; the end of input detaches."""
            choice = next(
                (KEYS[key] for key in typed.lower() if key in KEYS), None if typed else Choice.DETACH
            )
            if choice is not None and not pressed.done():
                pressed.set_result(choice)

        with keys(read):
            sys.stderr.write(QUESTION)
            sys.stderr.flush()
            both: set[asyncio.Future[Any]] = {pressed, again}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        again.cancel()
        choice = pressed.result() if pressed.done() else Choice.DETACH
        sys.stderr.write(f"{choice.value}\n")
        return choice


def can_ask() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


class Screen(Protocol):
    """Shows a run as trees, one after another."""

    tick: float
    """Seconds after which an unchanged run is shown again."""
    shows_last_lines: bool
    """Whether it shows the last log line of a step."""

    def show(self, tree: Tree) -> None: ...

    def pause(self) -> None:
        """Stop drawing; the terminal is needed for a question."""

    def resume(self) -> None: ...

    def close(self) -> None:
        """Stop drawing; the last tree stays."""


def screen(environment: Mapping[str, str] = os.environ) -> Screen:
    """A tree for people at a terminal, without colors under NO_COLOR; lines for pipes, CI and dumb terminals."""
    is_live = can_redraw(sys.stdout) and not environment.get("CI")
    return TreeScreen() if is_live else LineScreen()


class LineScreen:
    """Writes a line per transition."""

    tick = 0.5
    shows_last_lines = False

    def __init__(self) -> None:
        self._before: Tree | None = None
        self._is_paused = False

    def show(self, tree: Tree) -> None:
        if not self._is_paused:
            write_lines(plain_lines(self._before, tree))
            self._before = tree

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False

    def close(self) -> None: ...


class TreeScreen:
    """Redraws one tree in place."""

    tick = 0.25
    shows_last_lines = True

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415 - heavy, and for terminals only

        self._console = Console(highlight=False, markup=False, emoji=False)
        self._glyphs = GLYPHS if has_box_characters(sys.stdout) else PLAIN_GLYPHS
        self._live: Live | None = None
        self._typing = ExitStack()
        self._tree: Tree | None = None
        self._is_paused = False

    def show(self, tree: Tree) -> None:
        self._tree = tree
        if not self._is_paused:
            self._draw()

    def pause(self) -> None:
        self._is_paused = True
        self.close()

    def resume(self) -> None:
        self._is_paused = False
        self._draw()

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        self._typing.close()

    def _draw(self) -> None:
        if self._tree is None:
            return
        if self._live is None:
            from rich.live import Live  # noqa: PLC0415 - heavy, and for terminals only

            self._live = Live(console=self._console, auto_refresh=False, redirect_stdout=False)
            self._live.start()
            self._typing.enter_context(without_echo())
        columns, rows = shutil.get_terminal_size((80, 24))
        lines = tree_lines(self._tree, Size(width=max(columns - 1, 20), height=rows), self._glyphs)
        self._live.update(_text(lines), refresh=True)


def _text(lines: list[Line]) -> "Text":
    from rich.text import Text  # noqa: PLC0415 - heavy, and for terminals only

    drawn = Text(no_wrap=True, overflow="ellipsis")
    for number, line in enumerate(lines):
        if number:
            drawn.append("\n")
        for part in line:
            drawn.append(part.text, part.style or None)
    return drawn
