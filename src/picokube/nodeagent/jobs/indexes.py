"""Completion indexes of an Indexed Job: formats and parses them (`0-2,5`), and chooses the next ones. Pure."""

from collections.abc import Container, Iterable
from itertools import islice

INDEX = "batch.kubernetes.io/job-completion-index"
"""Annotation and label with the index of a pod."""


def parse_indexes(text: str | None) -> set[int]:
    indexes: set[int] = set()
    for part in (text or "").split(","):
        first, _, last = part.partition("-")
        if first:
            indexes.update(range(int(first), int(last or first) + 1))
    return indexes


def format_indexes(indexes: Iterable[int]) -> str:
    """Consecutive indexes as a range: `0,2-3,5-7`."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def next_indexes(completions: int, used: Container[int], limit: int) -> tuple[int, ...]:
    """Up to `limit` of the lowest unused indexes."""
    return tuple(islice((index for index in range(completions) if index not in used), limit))
