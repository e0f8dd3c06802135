"""The generated files on disk: what differs, and putting it right. The generator's only I/O."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath

from jangar.crdgen.generated import CRD_DIRECTORY, HEADER


class Drift(StrEnum):
    """How a file differs from what the types say."""

    MISSING = "missing"
    OUT_OF_DATE = "out of date"
    STALE = "no longer generated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A file that is not as the types say; `path` is below the root."""

    path: PurePosixPath
    drift: Drift

    def __str__(self) -> str:
        return f"{self.path}: {self.drift}"


def differences(root: Path, files: Mapping[PurePosixPath, str]) -> list[Difference]:
    """Every file below `root` that differs from `files`, and every one that an earlier run left behind."""
    return sorted([*_changed(root, files), *_stale(root, files)], key=lambda found: found.path)


def bring_up_to_date(root: Path, files: Mapping[PurePosixPath, str]) -> list[Difference]:
    """Writes what differs, removes what is stale; returns what was not as it should be."""
    found = differences(root, files)
    for each in found:
        file = root / each.path
        if each.drift is Drift.STALE:
            file.unlink()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(files[each.path], encoding="utf-8", newline="\n")
    return found


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
    # Only what begins as a generated file does: a file that somebody put there is theirs.
    for file in (root / CRD_DIRECTORY).glob("*.yaml"):
        path = CRD_DIRECTORY / file.name
        if path not in files and file.read_bytes().startswith(HEADER.encode()):
            yield Difference(path=path, drift=Drift.STALE)
