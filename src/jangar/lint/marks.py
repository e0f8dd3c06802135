"""Where each field of a document stands in its text. Knows offsets, lines and columns; knows no syntax."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

Path = tuple[str | int, ...]


class Position(NamedTuple):
    """A place in a text as editors count: both from 1."""

    line: int
    column: int


class Branch:
    """Offsets of what one mapping or list holds: of keys in a mapping, of items in a list.

    A plain class with slots, because there is one for every mapping and list of every file.
    """

    __slots__ = ("branches", "offset", "places")

    def __init__(self, offset: int, places: dict[str, int] | list[int]) -> None:
        self.offset = offset
        self.places = places
        self.branches: dict[str | int, Branch] | None = None

    def add_branch(self, part: str | int, branch: "Branch") -> None:
        if self.branches is None:
            self.branches = {}
        self.branches[part] = branch

    def offset_of(self, path: Sequence[str | int]) -> int:
        """Offset of the field at `path`, or of its nearest ancestor that is written down."""
        branch, found = self, self.offset
        for part in path:
            place = branch._place(part)
            if place is None:
                break
            found = place
            below = branch.branches and branch.branches.get(part)
            if not below:
                break
            branch = below
        return found

    def _place(self, part: str | int) -> int | None:
        if isinstance(self.places, dict):
            return self.places.get(part) if isinstance(part, str) else None
        return self.places[part] if isinstance(part, int) and 0 <= part < len(self.places) else None


class Text:
    """The text of one file, and where its lines begin."""

    def __init__(self, text: str) -> None:
        self.text = text

    def position(self, offset: int) -> Position:
        line = bisect_right(self._line_starts, offset)
        return Position(line, offset - self._line_starts[line - 1] + 1)

    @cached_property
    def _line_starts(self) -> list[int]:
        starts, offset = [0], self.text.find("\n")
        while offset >= 0:
            starts.append(offset + 1)
            offset = self.text.find("\n", offset + 1)
        return starts
