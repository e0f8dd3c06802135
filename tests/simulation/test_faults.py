"""Faults between controllers and API server change no outcome: rows 3 to 7 and 10 of the matrix.

`JANGAR_SIMULATION=all` runs as many trials as the matrix names; otherwise a sample.
"""

import pytest

from simulation.faults import Faults
from simulation.plans import BLOCKS, Plan, block_of, prove
from simulation.stories import STORIES

FAULTS_END = 30.0
ROWS = {
    "3: watches are cut": (Faults(cut_watches=0.2, until=FAULTS_END), 1000),
    "3: watches fall silent": (Faults(silent_watches=0.02, until=FAULTS_END), 100),
    "4: 410 Gone, and everything is listed anew": (Faults(compactions=0.4, until=FAULTS_END), 300),
    "5: caches lag behind": (Faults(lag=3.0, until=FAULTS_END), 1000),
    "6: writes meet conflicts": (Faults(conflicts=0.3, until=FAULTS_END), 500),
    "6: requests are answered 429": (Faults(refusals=0.2, refused_with=429, until=FAULTS_END), 500),
    "6: requests are answered 500": (Faults(refusals=0.2, refused_with=500, until=FAULTS_END), 500),
    "6: requests are answered 503": (Faults(refusals=0.2, refused_with=503, until=FAULTS_END), 500),
    "6: requests are answered 504": (Faults(refusals=0.2, refused_with=504, until=FAULTS_END), 500),
    "6: connections are reset, requests are slow": (
        Faults(lost_requests=0.2, slow=0.5, until=FAULTS_END),
        500,
    ),
    "6: requests hang": (Faults(hangs=0.2, until=FAULTS_END), 500),
    "7: answers are lost": (Faults(lost_answers=0.1, until=FAULTS_END), 1000),
    "10: events come twice, late and in another order": (
        Faults(repeats=0.2, late=0.1, lag=0.3, until=FAULTS_END),
        2000,
    ),
    "3-7: everything at once": (
        Faults(
            cut_watches=0.1,
            lag=1.0,
            conflicts=0.1,
            refusals=0.1,
            lost_answers=0.05,
            repeats=0.1,
            compactions=3.0,
            until=FAULTS_END,
        ),
        500,
    ),
}
SAMPLE = 3


@pytest.mark.rule("DAG-12", "RUN-3", "ST-6")
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_faults_change_no_outcome(row, block, record_property):
    faults, trials = ROWS[row]
    first = list(ROWS).index(row) * SAMPLE
    names = list(STORIES)
    plans = (
        Plan(story=names[(first + seed) % len(names)], seed=seed, lives=(faults,))
        for seed in block_of(block, trials, SAMPLE)
    )
    prove(row, plans, record_property)
