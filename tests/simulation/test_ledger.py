"""The plan of each bug that a trial found keeps passing, and a plan reproduces its trial."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from simulation.faults import Death, Faults
from simulation.plans import Plan, problems

LEDGER = sorted((Path(__file__).parent / "ledger").glob("*.json"))


@pytest.mark.parametrize("file", LEDGER, ids=lambda file: file.stem)
def test_a_fixed_bug_stays_fixed(file):
    assert problems(Plan.of_json(file.read_text())) == []


def test_a_plan_survives_its_file():
    plan = Plan(
        story="chain",
        seed=7,
        lives=(
            Faults(die_at=(3, Death.AFTER_COMMIT), clock=((0.0, -3.5), (2.0, 4.0)), paused=((1.0, 2.0),)),
            Faults(cut_watches=0.5, until=30.0),
        ),
        start=datetime(2028, 2, 29, tzinfo=UTC),
    )
    assert Plan.of_json(plan.as_json()) == plan


def test_a_plan_has_the_same_result_each_time():
    plan = Plan(
        story="retry",
        seed=11,
        lives=(Faults(cut_watches=0.1, lag=1.0, lost_answers=0.1, until=30.0), Faults()),
    )
    assert plan.play() == plan.play()
