"""What becomes of a pod next."""

from datetime import UTC, datetime, timedelta

import pytest

from kubekit.times import rfc3339_seconds
from picokube.nodeagent.pods.pod_plan import Stop, known_runs, plan_pod
from picokube.nodeagent.pods.pod_status import PodObservation, is_same, pod_status
from picokube.nodeagent.supervisor.protocol import Run, RunKey

NOON = datetime(2026, 2, 7, 12, tzinfo=UTC)


def a_pod(*, policy="Never", inits=(), mains=("main",), deleted_in=None, status=None, **spec):
    meta = {"name": "p", "namespace": "default", "uid": "u"}
    if deleted_in is not None:
        meta["deletionTimestamp"] = rfc3339_seconds(NOON + timedelta(seconds=deleted_in))
    sidecars = [
        {"name": init, "restartPolicy": "Always"} if init == "side" else {"name": init} for init in inits
    ]
    containers = [{"name": main, "image": "i"} for main in mains]
    spec = {"restartPolicy": policy, "initContainers": sidecars, "containers": containers, **spec}
    return {"metadata": meta, "spec": spec, "status": status or {}}


def a_run(name="main", state="running", *, code=0, restart=0, ended_ago=1, lasted=5, reason="", message=""):
    end = NOON.timestamp() - ended_ago
    return Run(
        key=RunKey("u", name, restart),
        state=state,
        pid=7,
        started_at=end - lasted,
        finished_at=0.0 if state == "running" else end,
        code=code,
        reason=reason,
        message=message,
    )


def plan(pod, *runs, **facts):
    return plan_pod(pod, runs, now=NOON, **facts)


def started(found):
    return [(key.container, key.restart) for key in found.start]


def test_all_containers_start_together():
    assert started(plan(a_pod(mains=("a", "b")))) == [("a", 0), ("b", 0)]


def test_init_containers_start_one_after_another():
    """The next one starts when the one before ended well; the main ones come last."""
    pod = a_pod(inits=("one", "two"))
    assert started(plan(pod)) == [("one", 0)]
    assert started(plan(pod, a_run("one"))) == []
    assert started(plan(pod, a_run("one", "ended"))) == [("two", 0)]
    assert started(plan(pod, a_run("one", "ended"), a_run("two", "ended"))) == [("main", 0)]


def test_an_init_container_that_fails_fails_the_pod():
    found = plan(a_pod(inits=("one",)), a_run("one", "ended", code=3))
    assert (found.phase, found.is_over, started(found)) == ("Failed", True, [])


def test_an_init_container_is_tried_again_if_the_policy_says_so():
    assert started(plan(a_pod(inits=("one",), policy="OnFailure"), a_run("one", "ended", code=3))) == [
        ("one", 1)
    ]


def test_a_sidecar_lets_the_others_start_and_is_stopped_after_them():
    """The sidecar runs next to the work; when the work is done it gets SIGTERM, and the pod ends after it."""
    pod = a_pod(inits=("side",), terminationGracePeriodSeconds=5)
    assert started(plan(pod)) == [("side", 0)]
    assert started(plan(pod, a_run("side"))) == [("main", 0)]
    working = plan(pod, a_run("side"), a_run())
    assert (working.phase, working.stop) == ("Running", ())
    done = plan(pod, a_run("side"), a_run(state="ended"))
    assert done.stop == [Stop(key=RunKey("u", "side", 0), grace=5)]
    assert not done.is_over
    over = plan(pod, a_run("side", "ended", code=143), a_run(state="ended"))
    assert (over.phase, over.is_over) == ("Succeeded", True)


@pytest.mark.parametrize(
    ("policy", "code", "restarts"),
    [
        ("Never", 1, False),
        ("OnFailure", 0, False),
        ("OnFailure", 1, True),
        ("Always", 0, True),
        ("Always", 1, True),
    ],
)
def test_containers_are_started_again_as_the_policy_says(policy, code, restarts):
    found = plan(a_pod(policy=policy), a_run(state="ended", code=code))
    assert started(found) == ([("main", 1)] if restarts else [])


@pytest.mark.parametrize(("restart", "wait"), [(0, 0), (1, 10), (2, 20), (3, 40), (9, 300)])
def test_waits_between_restarts_grow(restart, wait):
    """None before the first, then ten seconds doubled each time, five minutes at most."""
    pod = a_pod(policy="Always")
    if wait:
        found = plan(pod, a_run(state="ended", code=1, restart=restart, ended_ago=wait - 1))
        assert (started(found), found.requeue_at) == ([], NOON + timedelta(seconds=1))
        assert list(found.backing_off) == ["main"]
    found = plan(pod, a_run(state="ended", code=1, restart=restart, ended_ago=wait))
    assert started(found) == [("main", restart + 1)]


@pytest.mark.parametrize(
    ("codes", "phase"), [((0, 0), "Succeeded"), ((0, 1), "Failed")], ids=["all-well", "one-failed"]
)
def test_a_pod_is_over_when_all_its_containers_are(codes, phase):
    runs = [a_run(name, "ended", code=code) for name, code in zip("ab", codes, strict=True)]
    found = plan(a_pod(mains=("a", "b")), *runs)
    assert (found.phase, found.is_over) == (phase, True)


@pytest.mark.rule("CAN-4")
def test_a_deleted_pod_is_stopped_with_the_grace_that_is_left():
    """TERM now, KILL at the deletion timestamp, also for an agent that comes late."""
    assert plan(a_pod(deleted_in=12), a_run()).stop == [Stop(key=RunKey("u", "main", 0), grace=12)]
    assert plan(a_pod(deleted_in=-5), a_run()).stop == [Stop(key=RunKey("u", "main", 0), grace=0)]


def test_a_deleted_pod_starts_nothing_more():
    found = plan(a_pod(policy="Always", deleted_in=5), a_run(state="ended", code=0))
    assert (started(found), found.phase, found.is_over) == ([], "Succeeded", True)
    never_started = plan(a_pod(deleted_in=5))
    assert (started(never_started), never_started.phase) == ([], "Failed")


def test_a_deadline_stops_and_fails_the_pod():
    pod = a_pod(activeDeadlineSeconds=5, terminationGracePeriodSeconds=2)
    assert plan(pod, a_run(lasted=4, ended_ago=0)).requeue_at == NOON + timedelta(seconds=1)
    assert plan(pod, a_run(lasted=5, ended_ago=0)).stop == [Stop(key=RunKey("u", "main", 0), grace=2)]
    over = plan(pod, a_run(state="ended", code=143, lasted=9, ended_ago=0))
    assert (over.phase, over.reason) == ("Failed", "DeadlineExceeded")


@pytest.mark.rule("RUN-3")
@pytest.mark.parametrize("policy", ["Never", "OnFailure", "Always"])
@pytest.mark.parametrize("reason", ["NodeRebooted", "SupervisorLost"])
def test_a_container_whose_end_was_missed_fails_its_pod_and_is_not_run_again(policy, reason):
    """Whatever the policy says: it may have done its work."""
    lost = a_run(state="lost", code=137, reason=reason, message="why")
    found = plan(a_pod(policy=policy), lost)
    assert (found.phase, found.reason, found.message) == ("Failed", reason, "container main: why")
    assert started(found) == []


@pytest.mark.rule("RUN-3")
def test_a_container_that_only_the_status_knows_is_not_run_again():
    """The agent's directory was lost: what the API remembers is enough to refuse a second start."""
    status = {"containerStatuses": [{"name": "main", "containerID": "process://u/main/0"}]}
    pod = a_pod(status=status)
    found = plan_pod(pod, known_runs(pod, [], now=NOON), now=NOON)
    assert (started(found), found.phase, found.reason) == ([], "Failed", "RecordsLost")


def test_refused_fields_fail_the_pod_by_name():
    found = plan(a_pod(), unsupported=["spec.x: no"])
    assert (found.phase, found.reason, found.message) == ("Failed", "UnsupportedField", "spec.x: no")


def status_of(pod, *runs, **seen):
    return pod_status(pod, plan(pod, *runs), PodObservation(runs=runs, **seen), now=NOON)


def test_the_status_says_how_a_container_ended():
    run = a_run(state="ended", code=3)
    status = status_of(a_pod(), run, messages={run.key: "last words"})
    terminated = status["containerStatuses"][0]["state"]["terminated"]
    assert (terminated["exitCode"], terminated["reason"], terminated["message"]) == (3, "Error", "last words")
    assert status["phase"] == "Failed"


def test_the_status_of_a_container_that_waits_keeps_its_last_end():
    run = a_run(state="ended", code=3, restart=2)
    main = status_of(a_pod(policy="Always"), run)["containerStatuses"][0]
    assert main["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert main["lastState"]["terminated"]["exitCode"] == 3
    assert main["restartCount"] == 2


def test_a_running_pod_is_ready_and_one_that_is_stopped_is_not():
    ready = {
        condition["type"]: condition["status"] for condition in status_of(a_pod(), a_run())["conditions"]
    }
    assert (
        ready["Ready"] == ready["ContainersReady"] == ready["PodScheduled"] == ready["Initialized"] == "True"
    )
    leaving = status_of(a_pod(deleted_in=5), a_run())
    assert {condition["type"]: condition["status"] for condition in leaving["conditions"]}["Ready"] == "False"


def test_a_status_that_says_the_same_later_is_the_same():
    """Only what changed is written; conditions of others are kept."""
    theirs = {"type": "Theirs", "status": "True", "lastTransitionTime": rfc3339_seconds(NOON)}
    pod = a_pod(status={"conditions": [theirs], "qosClass": "BestEffort"})
    first = status_of(pod, a_run())
    assert theirs in first["conditions"]
    pod["status"] = first
    again = pod_status(pod, plan(pod, a_run()), PodObservation(runs=[a_run()]), now=NOON + timedelta(hours=1))
    assert is_same(first, again)
    assert [condition["lastTransitionTime"] for condition in again["conditions"]] == [
        condition["lastTransitionTime"] for condition in first["conditions"]
    ]
