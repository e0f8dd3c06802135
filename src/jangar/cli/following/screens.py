"""Where a followed run is shown: a tree that is redrawn on a terminal, or plain lines anywhere else."""

import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Protocol

from jangar.cli.following.keyboard import without_echo
from jangar.cli.following.plain_lines import plain_lines
from jangar.cli.following.tree import Tree
from jangar.cli.following.tree_lines import GLYPHS, PLAIN_GLYPHS, Line, Size, tree_lines
from jangar.cli.terminal import can_redraw, has_box_characters, write_lines

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text


class Screen(Protocol):
    """Shows trees, one after another."""

    tick: float
    """Seconds after which it wants to show the same run again."""
    shows_last_lines: bool
    """Whether it has a place for what the work of a step wrote last."""

    def show(self, tree: Tree) -> None: ...

    def pause(self) -> None:
        """Leave the terminal to somebody else."""

    def go_on(self) -> None: ...

    def close(self) -> None:
        """The last tree stays."""


def screen(environment: Mapping[str, str] = os.environ) -> Screen:
    """A tree for people at a terminal, without colors under NO_COLOR; lines for pipes, CI and dumb terminals."""
    is_live = can_redraw(sys.stdout) and not environment.get("CI")
    return TreeScreen() if is_live else LineScreen()


class LineScreen:
    """A line a transition."""

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

    def go_on(self) -> None:
        self._is_paused = False

    def close(self) -> None: ...


class TreeScreen:
    """One tree, redrawn in place."""

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

    def go_on(self) -> None:
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
