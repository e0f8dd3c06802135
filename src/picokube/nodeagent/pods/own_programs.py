"""Programs of this machine that every container may start, whoever it runs as: where they live, how they are reached.

A root's Python often lives below a home that nobody else may enter. In the view of such a container the closed
directory is an empty one that can be entered, with what the program needs in it, read-only, and nothing else.
"""

import os
import shutil
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnProgram:
    """A program, and the directories that it does not run without."""

    path: str
    needs: tuple[str, ...]


def program_needs(
    programs: Iterable[OwnProgram], argv: Sequence[str], env: Mapping[str, str]
) -> tuple[str, ...]:
    """The directories that a command does not run without; none unless it starts one of the programs."""
    found = shutil.which(argv[0], path=env.get("PATH"))
    for each in programs:
        if found is not None and Path(found).absolute() == Path(each.path):
            return tuple(dict.fromkeys(each.needs))
    return ()


def closed_directory(path: str) -> str | None:
    """The outermost directory on the way that others may not enter; what a link leads through counts, too."""
    for way in (path, os.path.realpath(path)):
        for each in reversed(Path(way).parents):
            if not each.stat().st_mode & stat.S_IXOTH:
                return os.path.realpath(each)
    return None
