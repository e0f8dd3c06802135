"""Compares and writes the generated files; the only I/O of the generator."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath

from jangar.crdgen.generated import CRD_DIRECTORY, HEADER


class Drift(StrEnum):
    """How a file differs from the generated text."""

    MISSING = "missing"
    OUT_OF_DATE = "out of date"
    STALE = "no longer generated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A file that is out of date; `path` is relative to the root."""

    path: PurePosixPath
    drift: Drift

    def __str__(self) -> str:
        return f"{self.path}: {self.drift}"


def differences(root: Path, files: Mapping[PurePosixPath, str]) -> list[Difference]:
    """Every file below `root` that differs from `files` or is no longer generated."""
    return sorted([*_changed(root, files), *_stale(root, files)], key=lambda difference: difference.path)


def bring_up_to_date(root: Path, files: Mapping[PurePosixPath, str]) -> list[Difference]:
    """Write changed files and delete stale ones; returns the differences."""
    outdated = differences(root, files)
    for difference in outdated:
        file = root / difference.path
        if difference.drift is Drift.STALE:
            file.unlink()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(files[difference.path], encoding="utf-8", newline="\n")
    return outdated


def _changed(root: Path, files: Mapping[PurePosixPath, str]) -> Iterator[Difference]:
    for path, text in files.items():
        try:
            same = (root / path).read_bytes() == text.encode()
        except FileNotFoundError:
            yield Difference(path=path, drift=Drift.MISSING)
        else:
            if not same:
                yield Difference(path=path, drift=Drift.OUT_OF_DATE)


def _stale(root: Path, files: Mapping[PurePosixPath, str]) -> Iterator[Difference]:
    # Only files with the generated header: others were added by hand.
    for file in (root / CRD_DIRECTORY).glob("*.yaml"):
        path = CRD_DIRECTORY / file.name
        if path not in files and file.read_bytes().startswith(HEADER.encode()):
            yield Difference(path=path, drift=Drift.STALE)
