"""Indexes of an indexed job: as a status writes them (`0-2,5`), and which one is next. Pure."""

from collections.abc import Container, Iterable

INDEX = "batch.kubernetes.io/job-completion-index"
"""The annotation and label of a pod that tell which index it works on."""


def read_indexes(text: str | None) -> set[int]:
    found: set[int] = set()
    for part in (text or "").split(","):
        first, _, last = part.partition("-")
        if first:
            found.update(range(int(first), int(last or first) + 1))
    return found


def written_indexes(indexes: Iterable[int]) -> str:
    """Neighbours as a range: `0,2-3,5-7`."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def next_indexes(completions: int, taken: Container[int], most: int) -> tuple[int, ...]:
    """The lowest that nobody works on or has done."""
    found: list[int] = []
    for index in range(completions):
        if len(found) >= most:
            break
        if index not in taken:
            found.append(index)
    return tuple(found)
