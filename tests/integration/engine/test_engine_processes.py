"""The shipped processes are killed, paused and cut off at random moments: every run has the right outcome, and work
runs once.

Rows 1, 3 to 8 of the matrix on real sockets and signals. `JANGAR_SIMULATION=all` runs as many trials as the matrix
names; otherwise a sample.
"""

import os
import time
from random import Random

import pytest

from integration.engine.process_bed import ALONE, QUICK_LEASE, ControllersProcess, ProcessBed, Trial, step
from integration.engine.shard_history import writes_without_shard
from simulation.faults import Faults
from support.api_servers import wait_for
from support.reliability_page import record_trials

ALL = os.environ.get("JANGAR_SIMULATION") == "all"
LINES = {
    "chain-a": 1,
    "chain-b": 1,
    "chain-c": 1,
    "diamond-a": 1,
    "diamond-b": 1,
    "diamond-c": 1,
    "diamond-d": 1,
    "failure-a": 1,
    "retry-a": 2,
    "retry-b": 1,
    "cancel-a": 1,
}
ENDS = {
    "chain": ("Succeeded", {"a": ("Succeeded", 1), "b": ("Succeeded", 1), "c": ("Succeeded", 1)}),
    "diamond": ("Succeeded", dict.fromkeys("abcd", ("Succeeded", 1))),
    "failure": ("Failed", {"a": ("Failed", 1), "b": ("Skipped", 0)}),
    "retry": ("Succeeded", {"a": ("Succeeded", 2), "b": ("Succeeded", 1)}),
    "cancel": ("Cancelled", {"a": ("Cancelled", 1), "b": ("Skipped", 0)}),
}
FAULTS = Faults(
    cut_watches=0.1, lost_answers=0.05, lost_requests=0.05, refusals=0.05, lag=0.2, slow=0.1, until=10.0
)


@pytest.fixture(scope="module")
def bed():
    made = ProcessBed()
    yield made
    made.stop()


@pytest.fixture
def machine(bed):
    yield bed
    bed.end_trial()


def start_all(trial: Trial, rng: Random) -> None:
    """Five runs at once with known outcomes."""

    def some() -> str:
        return f"sleep {rng.uniform(0.05, 1.0):.2f}"

    trial.run("chain", step("a", then=some()), step("b", "a", then=some()), step("c", "b", then=some()))
    trial.run(
        "diamond",
        step("a", then=some()),
        step("b", "a", then=some()),
        step("c", "a", then=some()),
        step("d", "b", "c", then=some()),
    )
    trial.run("failure", step("a", then=f"{some()}; exit 3"), step("b", "a"))
    fails_once = f"grep -c retry-a {trial.ledger} | grep -q 2"
    trial.run("retry", step("a", then=fails_once, retries=2, retryBackoffSeconds=0), step("b", "a"))
    trial.run("cancel", step("a", then="exec sleep 100"), step("b", "a"))


def finish_all(trial: Trial) -> list[str]:
    """Cancel the run that waits for it, wait for all, and compare."""
    try:
        return _differences(trial)
    except AssertionError as late:
        return [str(late)]


def _differences(trial: Trial) -> list[str]:
    wait_for(lambda: trial.executions()["cancel-a"], seconds=60, what="the work that is cancelled")
    trial.api.merge("OrchestrationRun", "cancel", {"spec": {"cancel": True}})
    trial.await_end(*ENDS)
    differences = [
        f"{name} is {trial.end_of(name)}, not {end}"
        for name, end in ENDS.items()
        if trial.end_of(name) != end
    ]
    if trial.executions() != LINES:
        differences.append(f"the work ran {dict(trial.executions())}")
    wait_for(lambda: not trial.held(), seconds=60, what="that nothing is held")
    return differences


def _after_writes(controllers: ControllersProcess, rng: Random) -> None:
    """During its work: some writes later, or when there are no more writes."""
    enough = len(controllers.proxy.writes) + rng.randint(1, 30)
    deadline = time.monotonic() + 6.0
    while len(controllers.proxy.writes) < enough and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(0.02 * rng.random())


def reported(record_property, row, seed, differences):
    record_trials(record_property, row=row, bed="P", seeds=[seed], failures=bool(differences))
    assert differences == []


@pytest.mark.rule("RUN-3", "GC-1", "GC-2")
@pytest.mark.parametrize("seed", range(60 if ALL else 3))
def test_controllers_killed_at_random_change_nothing(machine, seed, record_property):
    rng = Random(f"kill {seed}")  # noqa: S311
    trial = Trial(machine, f"kill-{seed}")
    controllers = machine.controllers(f"controllers-{seed}", ALONE, seed=seed)
    start_all(trial, rng)
    for _ in range(3):
        _after_writes(controllers, rng)
        controllers.kill()
        controllers.start()
    reported(record_property, "1: controllers killed at random", seed, finish_all(trial))


@pytest.mark.rule("RUN-3", "DAG-12")
@pytest.mark.parametrize("seed", range(20 if ALL else 1))
def test_a_bad_connection_changes_nothing(machine, seed, record_property):
    """Requests and responses lost, rejected and late, watches cut: on sockets, for ten seconds."""
    trial = Trial(machine, f"wire-{seed}")
    controllers = machine.controllers(f"wire-{seed}", ALONE, seed=seed)
    controllers.proxy.play(FAULTS)
    start_all(trial, Random(f"wire {seed}"))  # noqa: S311
    reported(record_property, "3-7: a bad connection", seed, finish_all(trial))


@pytest.mark.rule("RUN-3")
@pytest.mark.parametrize("seed", range(20 if ALL else 1))
def test_an_api_server_killed_at_random_changes_nothing(machine, seed, record_property):
    rng = Random(f"server {seed}")  # noqa: S311
    trial = Trial(machine, f"server-{seed}")
    machine.controllers(f"server-{seed}", ALONE, seed=seed)
    start_all(trial, rng)
    for _ in range(2):
        time.sleep(1.0 + 2 * rng.random())
        machine.server.kill()
        machine.server.start()
    reported(record_property, "1: the API server killed at random", seed, finish_all(trial))


@pytest.mark.rule("RUN-3")
@pytest.mark.parametrize("way", ["killed", "paused", "partitioned"])
@pytest.mark.parametrize("seed", range(7 if ALL else 1))
def test_only_one_of_two_processes_acts(machine, way, seed, record_property):
    """The other takes over once, no other process writes meanwhile, and no work is repeated."""
    rng = Random(f"rivals {way} {seed}")  # noqa: S311
    trial = Trial(machine, f"{way}-{seed}")
    pair = [machine.controllers(f"{way}-{seed}-{n}", QUICK_LEASE, seed=seed) for n in range(2)]
    wait_for(lambda: all(item.proxy.renewals for item in pair), seconds=60, what="that both are members")
    time.sleep(1.5)
    start_all(trial, rng)
    wait_for(trial.executions, seconds=60, what="the first work")
    time.sleep(rng.random())
    # The second process may become the rightful holder of the shard: the first has then handed it over.
    other, holder = sorted(pair, key=lambda item: max((at for at, _ in item.proxy.writes), default=0.0))
    before = len(other.proxy.writes)
    match way:
        case "killed":
            holder.kill()
        case "paused":
            holder.pause()
        case "partitioned":
            holder.proxy.play(Faults(away=((0.0, 20.0),)))
    wait_for(lambda: len(other.proxy.writes) > before, seconds=60, what="the other one's first write")
    if way == "paused":
        time.sleep(20.0 if ALL else 3.0)
        holder.resume()
    differences = [*finish_all(trial), *writes_without_shard(pair, shards=1)]
    reported(record_property, f"8: the lease's holder is {way}", seed, differences)
