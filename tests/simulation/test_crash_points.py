"""Kill the controllers at every write they make, and start them again: the same end, and no work done twice (RUN-3).

Every point is a seeded plan: story, number of the write, where in it. `JANGAR_SIMULATION=all` plays all of them; else
every point of a sample is played that moves with the stories.
"""

import os

import pytest

from simulation.faults import Death, Faults
from simulation.stories import STORIES, Told, tell
from support.virtual_time import run_virtual

STRIDE = 1 if os.environ.get("JANGAR_SIMULATION") == "all" else 13


@pytest.mark.rule("RUN-3", "GC-1", "GC-2", "CAN-8")
@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("death", Death)
def test_a_crash_at_any_write_changes_nothing(name, death, record_property):
    story = STORIES[name]
    clean = run_virtual(tell(story))
    offset = (list(STORIES).index(name) + list(Death).index(death)) % STRIDE
    points = range(1 + offset, clean.writes + 1, STRIDE)
    record_property("crash_points", len(points))
    failures = []
    for point in points:
        told = run_virtual(tell(story, faults=Faults(die_at=(point, death))))
        if problems := differences(clean, told):
            failures.append(f"write {point}, {death}: {problems}")
    assert failures == []


def differences(clean: Told, told: Told) -> list[str]:
    """What a crash changed that it should not have."""
    found = [*told.violations, *told.left_over]
    if told.end != clean.end:
        found.append(f"the end is {told.end}, not {clean.end}")
    if told.lives != clean.lives + 1:
        found.append(f"{told.lives} lives")
    return found
