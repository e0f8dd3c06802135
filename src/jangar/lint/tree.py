"""Builds the value and the positions of a document from a reader's events.

Knows limits, duplicate keys, aliases and merges; knows neither YAML's nor JSON's spelling.
"""

from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast

from jangar.lint.limits import ALIAS_FACTOR, ALIAS_NODES, MAX_DEPTH, MAX_NODES
from jangar.lint.reasons import FileReason
from jangar.lint.source_positions import Branch, Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """One error of a text at an offset. `path` is the field as far as it is known."""

    reason: FileReason
    offset: int
    message: str
    fix: str = ""
    path: Path = ()
    first_offset: int | None = None
    """For a duplicate: offset of the first one."""


class Refused(Exception):
    """The rest of the document cannot be read."""

    def __init__(self, flaw: Flaw) -> None:
        super().__init__(flaw.message)
        self.flaw = flaw


@dataclass(slots=True)
class Budget:
    """Nodes read so far from one file; shared by its documents."""

    written: int = 0
    aliased: int = 0


_NO_KEY: Final = object()
_DROPPED: Final = object()
"""Key of an entry that has been reported and is left out."""
MERGE: Final = object()
"""What a reader reports as a key for YAML's `<<`."""


class _Frame:
    """An open mapping or list."""

    __slots__ = ("anchor", "branch", "height", "key", "merged", "size", "value")

    def __init__(self, value: dict[str, Any] | list[Any], branch: Branch, anchor: str | None) -> None:
        self.value = value
        self.branch = branch
        self.anchor = anchor
        self.key: Any = _NO_KEY
        self.size = 1
        self.height = 1
        self.merged: list[tuple[dict[str, Any], Branch]] | None = None


@dataclass(frozen=True, slots=True)
class _Anchor:
    value: Any
    branch: Branch | None
    size: int
    height: int


class TreeBuilder:
    """One document. Readers call `scalar`, `open_mapping`, `open_list`, `close` and `alias` in text order."""

    def __init__(self, budget: Budget) -> None:
        self.value: Any = None
        self.root: Branch | None = None
        self.flaws: list[Flaw] = []
        self._budget = budget
        self._stack: list[_Frame] = []
        self._anchors: dict[str, _Anchor | None] = {}

    @property
    def wants_key(self) -> bool:
        """Whether the next node is the key of a mapping."""
        if not self._stack:
            return False
        top = self._stack[-1]
        return top.key is _NO_KEY and type(top.value) is dict

    def path(self) -> Path:
        """The field that is being read."""
        parts: list[str | int] = []
        for frame in self._stack:
            if type(frame.value) is list:
                parts.append(len(frame.value))
            elif isinstance(frame.key, str):
                parts.append(frame.key)
        return tuple(parts)

    def flaw(self, reason: FileReason, offset: int, message: str, fix: str = "") -> None:
        self.flaws.append(Flaw(reason=reason, offset=offset, message=message, fix=fix, path=self.path()))

    def scalar(self, value: Any, offset: int, anchor: str | None = None) -> None:
        self._count(offset)
        if anchor is not None:
            self._anchors[anchor] = _Anchor(value, None, 1, 0)
        self._place(value, None, offset, 1, 0)

    def key(self, key: Any, offset: int, anchor: str | None = None) -> None:
        """A key: text, MERGE, or anything else, which is reported."""
        self._count(offset)
        frame = self._stack[-1]
        if anchor is not None:
            self._anchors[anchor] = _Anchor(key, None, 1, 0)
        if type(key) is not str:
            frame.key = key if key is MERGE else _DROPPED
            return
        places = cast("dict[str, int]", frame.branch.places)
        if key in places:
            first = places[key]
            self.flaws.append(
                Flaw(
                    reason=FileReason.DUPLICATE_KEY,
                    offset=offset,
                    message=f'duplicate key "{key}"',
                    fix="keep one of the two",
                    path=(*self.path(), key),
                    first_offset=first,
                )
            )
            frame.key = _DROPPED
            return
        places[key] = offset
        frame.key = key

    def open_mapping(self, offset: int, anchor: str | None = None) -> None:
        self._open(_Frame({}, Branch(offset, {}), anchor), offset)

    def open_list(self, offset: int, anchor: str | None = None) -> None:
        self._open(_Frame([], Branch(offset, []), anchor), offset)

    def _open(self, frame: _Frame, offset: int) -> None:
        self._count(offset)
        if len(self._stack) >= MAX_DEPTH:
            self._refuse(FileReason.TOO_DEEP, offset, f"more than {MAX_DEPTH} levels inside each other")
        if frame.anchor is not None:
            self._anchors[frame.anchor] = None
        self._stack.append(frame)

    def close(self) -> None:
        frame = self._stack.pop()
        if frame.merged:
            self._merge(frame)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = _Anchor(frame.value, frame.branch, frame.size, frame.height)
        if self.wants_key:
            self._stack[-1].key = _DROPPED
            self.flaw(
                FileReason.INVALID_KEY,
                frame.branch.offset,
                "a mapping or list cannot be a key",
                'quote a template: "{{ parameters.name }}"',
            )
            return
        self._place(frame.value, frame.branch, frame.branch.offset, frame.size, frame.height)

    def alias(self, name: str, offset: int) -> None:
        anchor = self._anchors.get(name, _UNKNOWN)
        if anchor is _UNKNOWN:
            self._refuse(FileReason.INVALID_SYNTAX, offset, f"unknown anchor *{name}")
        if anchor is None:
            self._refuse(FileReason.TOO_MANY_ALIASES, offset, f"anchor &{name} contains itself")
        self._budget.aliased += anchor.size
        if self._budget.aliased > ALIAS_NODES + ALIAS_FACTOR * self._budget.written:
            self._refuse(
                FileReason.TOO_MANY_ALIASES,
                offset,
                f"aliases repeat too much: with *{name} they add {self._budget.aliased:,} values",
                "write the values out, or use fewer aliases inside each other",
            )
        if len(self._stack) + anchor.height > MAX_DEPTH:
            self._refuse(FileReason.TOO_DEEP, offset, f"more than {MAX_DEPTH} levels inside each other")
        if self.wants_key:
            self.key(anchor.value if isinstance(anchor.value, str) else None, offset)
            if not isinstance(anchor.value, str):
                self.flaw(FileReason.INVALID_KEY, offset, f"*{name} is not text and cannot be a key")
            return
        self._place(anchor.value, anchor.branch, offset, anchor.size, anchor.height)

    def _place(self, value: Any, branch: Branch | None, offset: int, size: int, height: int) -> None:
        if not self._stack:
            self.value, self.root = value, branch or Branch(offset, {})
            return
        frame = self._stack[-1]
        frame.size += size
        if height >= frame.height:
            frame.height = height + 1
        held = frame.value
        if type(held) is list:
            if branch is not None:
                frame.branch.add_branch(len(held), branch)
            # A list's places are a list.
            cast("list[int]", frame.branch.places).append(offset)
            held.append(value)
            return
        key, frame.key = frame.key, _NO_KEY
        if key is MERGE:
            self._remember_merge(frame, value, branch, offset)
        elif key is not _DROPPED:
            held[key] = value
            if branch is not None:
                frame.branch.add_branch(key, branch)

    def _remember_merge(self, frame: _Frame, value: Any, branch: Branch | None, offset: int) -> None:
        sources = value if isinstance(value, list) else [value]
        if branch is None or not all(isinstance(source, dict) for source in sources):
            self.flaw(FileReason.INVALID_KEY, offset, "<< needs a mapping or a list of mappings")
            return
        frame.merged = frame.merged or []
        for index, item in enumerate(sources):
            below = (branch.branches or {}).get(index, branch) if isinstance(value, list) else branch
            frame.merged.append((item, below))

    def _merge(self, frame: _Frame) -> None:
        """Keys written in the mapping win over merged ones, and earlier merges over later ones."""
        # Only mappings have merges, and a mapping's places are a mapping too.
        held, places = cast("dict[str, Any]", frame.value), cast("dict[str, int]", frame.branch.places)
        for source, branch in frame.merged or ():
            for key, value in source.items():
                if key in held:
                    continue
                held[key] = value
                places[key] = branch.offset_of((key,))
                if branch.branches and key in branch.branches:
                    frame.branch.add_branch(key, branch.branches[key])

    def _count(self, offset: int) -> None:
        self._budget.written += 1
        if self._budget.written > MAX_NODES:
            self._refuse(
                FileReason.TOO_LARGE, offset, f"more than {MAX_NODES:,} values in one file", "split the file"
            )

    def _refuse(self, reason: FileReason, offset: int, message: str, fix: str = "") -> NoReturn:
        raise Refused(Flaw(reason=reason, offset=offset, message=message, fix=fix, path=self.path()))


_UNKNOWN: Final = _Anchor(None, None, 0, 0)
