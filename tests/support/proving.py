"""Runs a property on generated input as often as the matrix requires, and counts it on the reliability page.

`JANGAR_SIMULATION=all` selects the full counts.
"""

import os
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

from support.reliability_page import record_trials

FULL = os.environ.get("JANGAR_SIMULATION") == "all"

T = TypeVar("T")


def prove(
    record_property: Callable[[str, object], None],
    row: str,
    trials: int,
    strategy: SearchStrategy[T],
    holds: Callable[[T], Any],
    *,
    bed: str = "G",
) -> None:
    """Fail with the smallest counterexample; then nothing is counted, and the page reports it."""
    tried = 0

    @settings(max_examples=trials, deadline=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def each(example: T) -> None:
        nonlocal tried
        tried += 1
        holds(example)

    each()
    record_trials(record_property, row=row, bed=bed, seeds=range(tried), failures=0)
