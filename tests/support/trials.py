"""The number of random scenarios per property in blocks; a failure names its seed."""

import os
from collections.abc import Iterator

import pytest

TRIALS = int(os.environ.get("JANGAR_PLANNER_TRIALS", "1000"))
"""Scenarios of each property."""
BLOCKS = 10

in_blocks = pytest.mark.parametrize("block", range(BLOCKS))
"""Seeds 0, 10, 20, ... in the first block and so on: each block is a fair sample, and blocks run in parallel."""


def seeds(block: int) -> Iterator[int]:
    """The seeds of one block. A failure while one is in use is reported with its number."""
    for seed in range(block, TRIALS, BLOCKS):
        print(f"seed {seed}")  # noqa: T201 - pytest shows it for a failure; the last one is the culprit
        yield seed
