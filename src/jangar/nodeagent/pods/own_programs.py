"""Programs of this machine that every container may start, whoever it runs as: where they live, how they are reached.

A root's Python often lives below a home that nobody else may enter. In the view of such a container the closed
directory is an empty one that can be entered, with what the program needs in it, read-only, and nothing else.
"""

import os
import shutil
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jangar.nodeagent.supervisor.orders import Mount


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnProgram:
    """A program, and the directories that it does not run without."""

    path: str
    needs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What makes a program reachable: directories to hide, and what stands in their place."""

    hidden: tuple[str, ...] = ()
    mounts: tuple[Mount, ...] = ()

    def mounts_with(self, place: str) -> tuple[Mount, ...]:
        """With the place that the program is started in, should that be hidden, too."""
        if _is_inside(place, self.hidden):
            return (*self.mounts, Mount(source=place, target=place))
        return self.mounts


def way_to(programs: Iterable[OwnProgram], argv: tuple[str, ...], env: Mapping[str, str]) -> Way:
    """Nothing, unless a command starts one of them and another user could not reach it."""
    found = shutil.which(argv[0], path=env.get("PATH"))
    for each in programs:
        if found is not None and Path(found).absolute() == Path(each.path):
            return _way(each.needs)
    return Way()


def _way(needs: Iterable[str]) -> Way:
    hidden, mounts = [], []
    for need in dict.fromkeys(needs):
        if (closed := closed_directory(need)) is not None:
            hidden.append(closed)
            mounts.append(Mount(source=os.path.realpath(need), target=need, read_only=True))
    outermost = [each for each in dict.fromkeys(hidden) if not _is_inside(each, hidden)]
    return Way(hidden=tuple(outermost), mounts=tuple(mounts))


def closed_directory(path: str) -> str | None:
    """The outermost directory on the way that others may not enter; what a link leads through counts, too."""
    for way in (path, os.path.realpath(path)):
        for each in reversed(Path(way).parents):
            if not each.stat().st_mode & stat.S_IXOTH:
                return os.path.realpath(each)
    return None


def _is_inside(directory: str, others: Iterable[str]) -> bool:
    return any(Path(each) in Path(directory).parents for each in others)
