"""How many random scenarios a property is tried on, in blocks, and how a failure names its seed."""

import os
from collections.abc import Iterator

import pytest

TRIALS = int(os.environ.get("JANGAR_PLANNER_TRIALS", "1000"))
"""Scenarios of each property."""
BLOCKS = 10

in_blocks = pytest.mark.parametrize("block", range(BLOCKS))
"""Seeds 0, 10, 20, ... in the first block and so on: each block is a fair sample, and blocks run side by side."""


def seeds(block: int) -> Iterator[int]:
    """The seeds of one block. Whatever fails while one is in use is told with its number."""
    for seed in range(block, TRIALS, BLOCKS):
        print(f"seed {seed}")  # noqa: T201 - pytest shows it for a failure; the last one is the culprit
        yield seed
