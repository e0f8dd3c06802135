"""One decision over all runs: limits together, fair between namespaces, no run in another's way."""

from datetime import UTC, datetime, timedelta

from jangar.api.reasons import Reason
from jangar.domain.policies.admit import PATIENCE, Admitted, LiveRun, Observation, WaitingRun, admit
from jangar.domain.policies.policy import AdmissionPolicy, Concurrency, Queue, Rate
from jangar.domain.policies.request import RunRequest
from jangar.domain.policies.verdicts import Allow, Deny, Hold

NOON = datetime(2026, 2, 7, 12, tzinfo=UTC)


def waiting(name, namespace="a", agent="coder", *, age=10.0, repo=None, **more):
    run_request = RunRequest(
        agent=agent, repositories=(repo,) if repo else (), missing=more.pop("missing", ())
    )
    created = NOON - timedelta(seconds=age)
    return WaitingRun(
        uid=name, name=name, namespace=namespace, created_at=created, request=run_request, **more
    )


def live(namespace="a", agent="coder", count=1):
    return [LiveRun(namespace=namespace, agent=agent)] * count


def limits(namespace=10, agent=5, cluster=100, **more):
    return AdmissionPolicy(
        concurrency=Concurrency(namespace=namespace, agent=agent, cluster=cluster),
        **{"queue": Queue(namespace=0, repo=0, cluster=0), **more},
    )


def allowed(verdicts):
    return {uid for uid, verdict in verdicts.items() if isinstance(verdict, Allow)}


def test_the_oldest_go_first_within_a_namespace():
    """And the others have their places."""
    runs = [waiting(f"r{number}", age=10 - number) for number in range(4)]
    found = admit(Observation(waiting=runs), limits(namespace=2), NOON)
    assert allowed(found) == {"r0", "r1"}
    assert [found[item].position for item in ("r2", "r3")] == [1, 2]
    assert found["r2"].reason is Reason.CONCURRENCY_LIMIT


def test_a_run_kept_back_by_its_agent_lets_others_pass():
    """The limit of one Agent does not apply to others."""
    runs = [waiting("old", agent="busy", age=99), waiting("new", agent="free", age=1)]
    found = admit(Observation(live=live(agent="busy", count=1), waiting=runs), limits(agent=1), NOON)
    assert allowed(found) == {"new"}


def test_a_free_place_goes_to_the_namespace_with_the_fewest_live_runs():
    """However long the line of another is."""
    runs = [waiting(f"a{number}", "a", age=99) for number in range(50)] + [waiting("b", "b", age=1)]
    found = admit(Observation(live=live("a", count=2), waiting=runs), limits(cluster=3), NOON)
    assert allowed(found) == {"b"}


def test_among_equals_the_namespace_served_longest_ago_comes_first():
    """With room for one run in total, each namespace has at most one: a flood must not be served to its end."""
    runs = [waiting("flood", "a", age=99), waiting("lone", "b", age=1)]
    ago = {"a": NOON - timedelta(seconds=2), "b": NOON - timedelta(seconds=50)}
    for served in (ago, {"a": ago["a"]}):
        found = admit(Observation(waiting=runs, served_at=served), limits(cluster=1), NOON)
        assert allowed(found) == {"lone"}


def test_places_are_shared_evenly():
    """Ten places, one namespace with a flood and two with three runs each."""
    runs = [waiting(f"a{number:02}", "a", f"x{number}", age=99) for number in range(50)]
    runs += [waiting(f"{team}{number}", team, f"y{number}") for team in "bc" for number in range(3)]
    found = allowed(admit(Observation(waiting=runs), limits(cluster=10), NOON))
    assert sorted(item[0] for item in found) == list("aaaabbbccc")


def test_a_namespace_that_got_nothing_for_long_comes_first_once():
    """Though its live runs never end; then the fewest count again."""
    runs = [waiting("a1", "a", age=400), waiting("a2", "a", age=400)]
    runs += [waiting(f"b{number}", "b", age=1) for number in range(3)]
    seen = Observation(
        live=live("a", count=3),
        waiting=runs,
        served_at={"a": NOON - PATIENCE, "b": NOON - timedelta(seconds=1)},
    )
    assert allowed(admit(seen, limits(cluster=5), NOON)) == {"a1", "b0"}


def test_rates_count_what_was_admitted_within_the_window_and_say_when_to_look_again():
    """The window slides; what was admitted by a clock that is ahead counts, unless it is absurd."""
    policy = limits(rate=Rate(window=timedelta(seconds=60), namespace=2, repo=0, cluster=0))
    ago = [50, 20, 61, -5, -3600]
    admitted = [Admitted(namespace="a", repository=None, at=NOON - timedelta(seconds=item)) for item in ago]
    found = admit(Observation(admitted=admitted, waiting=[waiting("r"), waiting("other", "b")]), policy, NOON)
    assert allowed(found) == {"other"}
    assert found["r"].reason is Reason.RATE_LIMIT
    assert found["r"].look_again_at == NOON + timedelta(seconds=40)


def test_a_rate_of_a_repository_holds_across_namespaces():
    """A second run for it waits, one for another does not."""
    policy = limits(rate=Rate(namespace=0, repo=1, cluster=0))
    runs = [
        waiting("one", "a", repo="o/n", age=9),
        waiting("two", "b", repo="o/n"),
        waiting("three", "b", repo="o/m"),
    ]
    found = admit(Observation(waiting=runs), policy, NOON)
    assert allowed(found) == {"one", "three"}
    assert found["two"].look_again_at == NOON + timedelta(seconds=60)


def test_a_queue_over_its_bound_holds_without_a_place():
    """Nothing is lost: the run gets a place when others leave. A flood leaves places to others."""
    runs = [waiting(f"a{number}", "a", age=99 - number) for number in range(5)] + [
        waiting("b0", "b"),
        waiting("b1", "b"),
    ]
    policy = limits(cluster=1, queue=Queue(namespace=3, repo=0, cluster=4))
    found = admit(Observation(live=live("c"), waiting=runs), policy, NOON)
    assert {uid: verdict.position for uid, verdict in found.items()} == {
        "a0": 1,
        "a1": 2,
        "a2": None,
        "a3": None,
        "a4": None,
        "b0": 1,
        "b1": 2,
    }
    assert found["a4"].reason is Reason.QUEUE_LIMIT


def test_a_run_that_can_start_at_once_needs_no_place_in_the_queue():
    """A queue full of runs of one Agent does not stop another's."""
    runs = [waiting(f"r{number}", agent="busy", age=99) for number in range(5)] + [
        waiting("free", agent="free")
    ]
    policy = limits(agent=1, queue=Queue(namespace=2, repo=0, cluster=2))
    found = admit(Observation(live=live(agent="busy"), waiting=runs), policy, NOON)
    assert allowed(found) == {"free"}


def test_suspended_and_incomplete_runs_wait_without_a_place():
    """They do not count."""
    runs = [waiting("s", suspended=True, age=99), waiting("m", missing=("Agent x",), age=99), waiting("r")]
    found = admit(Observation(waiting=runs), limits(cluster=1), NOON)
    assert allowed(found) == {"r"}
    assert (found["s"].reason, found["s"].position) == (Reason.SUSPENDED, None)
    assert (found["m"].reason, found["m"].position) == (Reason.REFERENCE_NOT_FOUND, None)


def test_what_had_started_before_is_admitted_and_counted():
    """Limits that come later stop nothing that runs."""
    found = admit(
        Observation(live=live(count=3), started=["x"], waiting=[waiting("r")]), limits(cluster=3), NOON
    )
    assert found["x"] == Allow(reason=Reason.ALREADY_STARTED)
    assert isinstance(found["r"], Hold)
    assert not any(isinstance(item, Deny) for item in found.values())
