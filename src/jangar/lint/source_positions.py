"""Positions of a document's fields in its text."""

from collections.abc import Sequence
from typing import NamedTuple

Path = tuple[str | int, ...]


class Position(NamedTuple):
    """A line and a column, both starting at 1."""

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
        """Offset of the field at `path`, or of its nearest existing parent."""
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
    """The text of one file. Lines are counted from the previous lookup: problems come nearly in order."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._last = 0
        self._last_line = 1

    def position(self, offset: int) -> Position:
        if offset >= self._last:
            self._last_line += self.text.count("\n", self._last, offset)
        else:
            self._last_line -= self.text.count("\n", offset, self._last)
        self._last = offset
        return Position(self._last_line, offset - self.text.rfind("\n", 0, offset))
