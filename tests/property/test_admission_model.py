"""Admission compared with a small model on random sets of runs."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random

from jangar.domain.policies.admit import Admitted, LiveRun, Observation, WaitingRun, admit
from jangar.domain.policies.policy import AdmissionPolicy, Concurrency, Queue, Rate
from jangar.domain.policies.request import RunRequest
from jangar.domain.policies.verdicts import Allow, Hold
from support.admission_model import model
from support.trials import in_blocks, seeds

NOON = datetime(2026, 2, 7, 12, tzinfo=UTC)
NAMESPACES, AGENTS, REPOSITORIES = "abcd", ("x", "y", "z"), (None, "o/one", "o/two")


def a_crowd(seed):
    """Some live, some recently admitted, some waiting runs, and limits that apply."""
    rng = Random(f"crowd {seed}")  # noqa: S311
    at = lambda most: NOON - timedelta(seconds=rng.randint(-90, most))  # noqa: E731
    live = [
        LiveRun(namespace=rng.choice(NAMESPACES), agent=rng.choice(AGENTS)) for _ in range(rng.randint(0, 12))
    ]
    admitted = [
        Admitted(namespace=rng.choice(NAMESPACES), repository=rng.choice(REPOSITORIES), at=at(150))
        for _ in range(rng.randint(0, 12))
    ]
    waiting = [
        WaitingRun(
            uid=f"u{number}",
            name=f"r{number:02}",
            namespace=rng.choice(NAMESPACES),
            created_at=min(NOON, at(900)),
            request=RunRequest(
                agent=rng.choice(AGENTS),
                repositories=(repo,) if (repo := rng.choice(REPOSITORIES)) else (),
            ),
        )
        for number in range(rng.randint(0, 30))
    ]
    served = {name: min(NOON, at(900)) for name in NAMESPACES if rng.random() < 0.6}
    policy = AdmissionPolicy(
        concurrency=Concurrency(
            namespace=rng.randint(1, 8), agent=rng.randint(1, 5), cluster=rng.randint(1, 20)
        ),
        queue=Queue(
            namespace=rng.choice((0, 2, 5)),
            repo=rng.choice((0, 1, 4)),
            cluster=rng.choice((0, 3, 9)),
        ),
        rate=Rate(
            window=timedelta(seconds=60),
            namespace=rng.choice((0, 2, 5)),
            repo=rng.choice((0, 1, 4)),
            cluster=rng.choice((0, 6, 15)),
        ),
    )
    return Observation(live=live, admitted=admitted, waiting=waiting, served_at=served), policy


@in_blocks
def test_admission_allows_what_the_model_allows(block):
    """The same runs, however many limits apply at once; so no admissible run is blocked."""
    for seed in seeds(block):
        observed, policy = a_crowd(seed)
        verdicts = admit(observed, policy, NOON)
        assert verdicts.keys() == {run.uid for run in observed.waiting}
        allowed = {uid for uid, verdict in verdicts.items() if isinstance(verdict, Allow)}
        assert allowed == set(model(observed, policy, NOON))


@in_blocks
def test_the_queue_keeps_its_limits_and_positions(block):
    """No more slots than configured; positions in a namespace have no gaps and are ordered by age."""
    for seed in seeds(block):
        observed, policy = a_crowd(seed)
        verdicts = admit(observed, policy, NOON)
        runs = {run.uid: run for run in observed.waiting}
        placed = {
            uid: verdict.position
            for uid, verdict in verdicts.items()
            if isinstance(verdict, Hold) and verdict.position is not None
        }
        bounds = policy.queue
        per_namespace = Counter(runs[uid].namespace for uid in placed)
        per_repo = Counter(repo for uid in placed if (repo := runs[uid].request.repository))
        assert not bounds.cluster or len(placed) <= bounds.cluster
        assert not bounds.namespace or all(item <= bounds.namespace for item in per_namespace.values())
        assert not bounds.repo or all(item <= bounds.repo for item in per_repo.values())
        for namespace in per_namespace:
            own = sorted(
                (position, uid) for uid, position in placed.items() if runs[uid].namespace == namespace
            )
            assert [position for position, _ in own] == list(range(1, len(own) + 1))
            ages = [(runs[uid].created_at, runs[uid].name) for _, uid in own]
            assert ages == sorted(ages)
        assert all(
            verdict.look_again_at > NOON
            for verdict in verdicts.values()
            if isinstance(verdict, Hold) and verdict.look_again_at
        )


@in_blocks
def test_the_order_of_observed_runs_has_no_effect(block):
    """A restarted process decides like the one before it."""
    for seed in seeds(block):
        observed, policy = a_crowd(seed)
        shuffled = list(observed.waiting)
        Random(seed).shuffle(shuffled)  # noqa: S311
        again = Observation(
            live=observed.live[::-1],
            admitted=observed.admitted[::-1],
            waiting=shuffled,
            served_at=observed.served_at,
        )
        assert admit(again, policy, NOON) == admit(observed, policy, NOON)
