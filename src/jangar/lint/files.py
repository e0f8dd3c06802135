"""Finds and reads the files of a command line. The only module of lint with I/O."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from jangar.lint.limits import MAX_BYTES


class LintError(Exception):
    """Base class of this package's errors."""


class CannotRead(LintError):
    """A path does not exist, is not readable, or contains nothing to check."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"cannot read {name}: {why}")
        self.name, self.why = name, why


STDIN: Final = "-"
SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """The bytes of one file. `named`: the user named the file, not its directory."""

    name: str
    data: bytes
    named: bool

    @property
    def is_json(self) -> bool:
        return self.name.endswith(".json")


def read_sources(names: Iterable[str], stdin: BinaryIO) -> Iterator[SourceFile | CannotRead]:
    """Every file once, in the given order, sorted within a directory."""
    seen: set[tuple[int, int] | str] = set()
    for name in names:
        if name == STDIN:
            if STDIN not in seen:
                seen.add(STDIN)
                yield SourceFile(name="<stdin>", data=stdin.read(MAX_BYTES + 1), named=True)
            continue
        try:
            yield from _below(Path(name), seen)
        except (OSError, ValueError) as error:
            yield CannotRead(name, _why(error))


def _below(path: Path, seen: set[tuple[int, int] | str]) -> Iterator[SourceFile | CannotRead]:
    if not path.is_dir():
        yield from _file(path, seen, named=True)
        return
    files = list(_manifests_in(path))
    if not files:
        yield CannotRead(str(path), "no .yaml, .yml or .json files in it")
    for file in files:
        try:
            yield from _file(file, seen, named=False)
        except OSError as error:
            yield CannotRead(str(file), _why(error))


def _manifests_in(directory: Path) -> Iterator[Path]:
    """Manifests at any depth, except for hidden directories and templates of Helm charts."""

    def refuse(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(directory, onerror=refuse):
        is_chart = "Chart.yaml" in names
        folders[:] = sorted(
            item for item in folders if not item.startswith(".") and not (is_chart and item == "templates")
        )
        for name in sorted(names):
            path = Path(folder, name)
            if path.suffix in SUFFIXES and not name.startswith("."):
                yield path


def _file(path: Path, seen: set[tuple[int, int] | str], *, named: bool) -> Iterator[SourceFile]:
    with path.open("rb") as file:
        facts = os.fstat(file.fileno())
        identity = (facts.st_dev, facts.st_ino)
        if identity not in seen:
            seen.add(identity)
            yield SourceFile(name=str(path), data=file.read(MAX_BYTES + 1), named=named)


def _why(error: OSError | ValueError) -> str:
    match error:
        case FileNotFoundError():
            return "no such file"
        case PermissionError():
            return "permission denied"
        case OSError():
            return (error.strerror or str(error)).lower()
        case _:
            return str(error)
