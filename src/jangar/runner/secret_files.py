"""The values of Secrets that a container is given as files: they may be read in nothing that is reported.

Whoever made the container says in a variable where such files are, separated by colons.
"""

from pathlib import Path

VARIABLE = "JANGAR_SECRET_FILES"
MOST_FILES = 200
LONGEST = 64 * 1024
"""Bytes of one file that are read: a longer one is no secret that somebody would tell as a whole."""


def values_in_files(places: str) -> list[str]:
    """Of the files at these places and, where a place is a directory, of those directly in it."""
    found: list[str] = []
    for place in filter(None, places.split(":")):
        for path in _files(Path(place)):
            if len(found) >= MOST_FILES:
                return found
            try:
                with path.open("rb") as file:
                    found.append(file.read(LONGEST).decode("utf-8", "surrogateescape"))
            except OSError:
                continue
    return found


def _files(place: Path) -> list[Path]:
    try:
        # A volume has its files in a directory `..data`, with a link to each beside it.
        listed = sorted(each for each in place.iterdir() if not each.name.startswith(".."))
    except NotADirectoryError:
        return [place]
    except OSError:
        return []
    return [each for each in listed if each.is_file()]
