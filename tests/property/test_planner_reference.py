"""The planner compared with the reference scheduler: the same outcomes, reasons and attempts."""

import pytest

from support.outcomes import expected_outcome, recorded_outcome, untimed
from support.reference_scheduler import predict
from support.reliability_page import record_trials
from support.scenarios import a_scenario, timeless
from support.simulator import Faults, Simulation
from support.trials import in_blocks, seeds


@pytest.mark.rule(
    "DAG-1", "DAG-4", "DAG-5", "DAG-6", "DAG-7", "DAG-8", "DAG-9", "DAG-10", "DAG-15", "CAN-2", "CAN-6"
)
@in_blocks
def test_runs_end_as_the_contract_requires(block, record_property):
    """Phases, reasons, causes, attempts and leftover children equal those of a scheduler written from the contract."""
    tried = []
    for seed in seeds(block):
        scenario = a_scenario(seed)
        assert recorded_outcome(Simulation(scenario).run()) == expected_outcome(predict(scenario))
        tried.append(seed)
    record_trials(
        record_property, row="16: random DAGs against a reference scheduler", bed="G", seeds=tried, failures=0
    )


@pytest.mark.rule("DAG-4", "DAG-5", "DAG-9", "DAG-12", "GC-2")
@in_blocks
def test_a_stale_cache_changes_only_the_timing(block):
    """With caches seconds behind, duplicate events and restarts, every step still has the same outcome.

    Time and parallelism limits are left out: their effect depends on the time of observation.
    """
    for seed in seeds(block):
        scenario = timeless(a_scenario(seed, most_steps=8))
        faults = Faults(lag=4000, crashes=0.2, idle_looks=0.2)
        ended = recorded_outcome(Simulation(scenario, faults).run())
        assert untimed(ended) == untimed(expected_outcome(predict(scenario)))
