"""What goes wrong between controllers and API server changes no end: rows 3, 5, 6 and 7 of the matrix.

`JANGAR_SIMULATION=all` plays as many trials as the matrix names; else a sample.
"""

import os

import pytest

from simulation.faults import Faults
from simulation.stories import STORIES, tell
from support.virtual_time import run_virtual

ALL = os.environ.get("JANGAR_SIMULATION") == "all"
BLOCKS = 8
FAULTS_END = 30.0

ROWS = {
    "3: watches are cut": (Faults(cut_watches=0.2, until=FAULTS_END), 1000),
    "5: caches lag behind": (Faults(lag=3.0, until=FAULTS_END), 1000),
    "6: writes meet conflicts": (Faults(conflicts=0.3, until=FAULTS_END), 500),
    "6: requests are refused": (Faults(refusals=0.2, until=FAULTS_END), 500),
    "7: answers are lost": (Faults(lost_answers=0.1, until=FAULTS_END), 1000),
    "3-7: everything at once": (
        Faults(cut_watches=0.1, lag=1.0, conflicts=0.1, refusals=0.1, lost_answers=0.05, until=FAULTS_END),
        500,
    ),
}
SAMPLE = 8


@pytest.mark.rule("DAG-12", "RUN-3", "ST-6")
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_faults_change_no_end(row, block, record_property):
    faults, trials = ROWS[row]
    seeds = range(block, trials if ALL else SAMPLE, BLOCKS)
    record_property("trials", len(seeds))
    for seed in seeds:
        name = list(STORIES)[seed % len(STORIES)]
        clean = run_virtual(tell(STORIES[name]))
        told = run_virtual(tell(STORIES[name], faults=faults, seed=seed))
        assert (name, seed, told.end) == (name, seed, clean.end)
        assert (name, seed, told.violations, told.left_over) == (name, seed, [], [])
