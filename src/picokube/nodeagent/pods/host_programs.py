"""Host programs that containers of any user may start.

Root's Python is often installed below a home directory that other users can't enter. In the view of such a container,
that directory is replaced with an empty one that contains read-only mounts of only what the program needs.
"""

import os
import shutil
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class HostProgram:
    """A program and the directories that it needs."""

    path: str
    needs: tuple[str, ...]


def required_directories(
    programs: Iterable[HostProgram], argv: Sequence[str], env: Mapping[str, str]
) -> tuple[str, ...]:
    """The directories that a command needs. Empty unless it starts one of the programs."""
    executable = shutil.which(argv[0], path=env.get("PATH"))
    for program in programs:
        if executable is not None and Path(executable).absolute() == Path(program.path):
            return tuple(dict.fromkeys(program.needs))
    return ()


def inaccessible_parent(path: str) -> str | None:
    """The outermost parent directory that other users can't enter, on the path itself or its symlink target."""
    for resolved in (path, os.path.realpath(path)):
        for parent in reversed(Path(resolved).parents):
            if not parent.stat().st_mode & stat.S_IXOTH:
                return os.path.realpath(parent)
    return None
