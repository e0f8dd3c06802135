"""The values of Secrets that a container is given as files: they may be read in nothing that is reported.

A variable of the container lists their paths, separated by colons.
"""

from pathlib import Path

VARIABLE = "JANGAR_SECRET_FILES"
MAX_FILE_COUNT = 200
MAX_LENGTH = 64 * 1024
"""Bytes of one file that are read: a longer one is no secret that somebody would tell as a whole."""


def values_in_files(places: str) -> list[str]:
    """Of the files at these places and, where a place is a directory, of those directly in it."""
    found: list[str] = []
    for place in filter(None, places.split(":")):
        for path in _files(Path(place)):
            if len(found) >= MAX_FILE_COUNT:
                return found
            try:
                with path.open("rb") as file:
                    found.append(file.read(MAX_LENGTH).decode("utf-8", "surrogateescape"))
            except OSError:
                continue
    return found


def _files(place: Path) -> list[Path]:
    try:
        # A volume has its files in a directory `..data`, with a link to each beside it.
        listed = sorted(path for path in place.iterdir() if not path.name.startswith(".."))
    except NotADirectoryError:
        return [place]
    except OSError:
        return []
    return [item for item in listed if item.is_file()]
