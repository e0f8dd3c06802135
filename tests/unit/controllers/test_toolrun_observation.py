"""A ToolRun as a pass sees it, from caches and uncached reads."""

from datetime import timedelta

import pytest

from jangar.api.phases import OnJobMissing
from jangar.controllers.job_execution.observe import (
    JOB_NAME,
    Caches,
    LiveReads,
    observe,
    owner_run,
    owner_state,
)
from jangar.controllers.resources import CHILD_UID, RUN_UID, stop_annotation
from jangar.controllers.toolrun.job_request import ToolRunRequests
from jangar.domain.cancellation import Requester
from jangar.domain.job_execution.cleanup import CLEANUP_FINALIZER
from jangar.domain.job_execution.facts import JobFacts
from jangar.domain.job_execution.observation import (
    Owner,
    WorkDefined,
    WorkLimits,
    WorkMissing,
    WorkRefused,
    WorkRejected,
)
from jangar.domain.job_execution.presence import ConfirmedAbsent, NotInCache
from kubekit.cache.object_cache import Cache, Cached, label_index
from support.builders import NOON, at

RUN = {"apiVersion": "orchestration.proompteng.ai/v1alpha1", "kind": "OrchestrationRun", "controller": True}
TOOL = {"image": "alpine", "command": ["build", "{{ parameters.what }}"], "timeoutSeconds": 60}
JOB = {"job": {"name": "build-1", "attempt": 1}}


def an_object(name, *, spec=None, status=None, **metadata):
    meta = {
        "name": name,
        "namespace": "ci",
        "uid": f"uid-{name}",
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": "2026-02-07T12:00:00Z",
    }
    return {"metadata": meta | metadata, "spec": spec or {}, "status": status or {}}


def a_cache(*objects, **indexes):
    cache = Cache(indexes, report=_raise)
    for item in objects:
        cache.record_write(item)
    return cache


def _raise(error):
    raise error


def owned_by(uid):
    return [{"apiVersion": "x/v1", "kind": "ToolRun", "name": "build", "uid": uid, "controller": True}]


def a_pod(name, job):
    return an_object(name, labels={CHILD_UID: "uid-build", JOB_NAME: job})


def look(run=None, *, tool=TOOL, jobs=(), pods=(), live=None):
    run = run or an_object("build", spec={"toolRef": {"name": "builder"}, "parameters": {"what": "all"}})
    caches = Caches(
        children=a_cache(run),
        jobs=a_cache(*jobs),
        pods=a_cache(*pods, **{CHILD_UID: label_index(CHILD_UID)}),
    )
    orders = ToolRunRequests(tools=a_cache(*([an_object("builder", spec=tool)] if tool is not None else [])))
    seen = Cached.of(run)
    return observe(caches, seen, orders(seen), live or LiveReads(), WorkLimits(), logs_kept=True)


def a_run(status=None, spec=None, **metadata):
    given = {"toolRef": {"name": "builder"}, "parameters": {"what": "all"}} | (spec or {})
    return an_object("build", spec=given, status=status, **metadata)


def test_a_child_is_seen_as_its_spec_and_metadata_say():
    """Every switch that a user or a run turns."""
    spec = {
        "cancel": True,
        "suspend": True,
        "timeoutSeconds": 5,
        "onJobMissing": "Retry",
        "ttlSecondsAfterFinished": "never",
    }
    run = a_run(
        spec=spec,
        finalizers=[CLEANUP_FINALIZER],
        annotations=stop_annotation(reason="RunCancelled", deadline=at(9)),
        deletionTimestamp="2026-02-07T12:00:01Z",
    )
    child = look(run).observation.child
    assert child.requested_by == {Requester.CANCEL, Requester.OWNER, Requester.DELETION}
    assert (child.suspend, child.has_finalizer, child.ttl) == (True, True, "never")
    assert (child.created_at, child.deleted_at, child.stop_deadline) == (NOON, at(1), at(9))
    assert child.timeout == timedelta(seconds=5)
    assert child.on_job_missing is OnJobMissing.RETRY


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        pytest.param({}, timedelta(seconds=60), id="the-tools"),
        pytest.param({"timeoutSeconds": 0}, None, id="zero-is-unbounded"),
    ],
)
def test_the_time_limit_is_its_own_or_the_tools(own, expected):
    """Its own 0 removes the tool's limit."""
    assert look(a_run(spec=own)).observation.child.timeout == expected


@pytest.mark.parametrize(
    ("tool", "spec", "expected"),
    [
        pytest.param(TOOL, {}, WorkDefined, id="defined"),
        pytest.param(None, {}, WorkMissing, id="no-such-tool"),
        pytest.param({"command": ["x"]}, {}, WorkRejected, id="a-tool-with-a-mistake"),
        pytest.param(TOOL, {"parameters": {}}, WorkRejected, id="a-parameter-is-missing"),
    ],
)
def test_what_is_run_is_defined_missing_or_rejected(tool, spec, expected):
    """A command comes with the first only."""
    snapshot = look(a_run(spec=spec), tool=tool)
    assert type(snapshot.observation.work) is expected
    assert (snapshot.request.command is not None) == (expected is WorkDefined)


def test_a_refusal_of_this_pass_comes_first():
    """It is the API server's word on what the tool says."""
    refused = WorkRefused(message="quota")
    assert look(live=LiveReads(refused=refused)).observation.work == refused


@pytest.mark.rule("GC-2")
def test_the_job_of_the_current_attempt_and_its_pods_are_found_by_their_names():
    """One that belongs to something else is not ours, and pods of another attempt do not count."""
    mine = an_object("build-1", ownerReferences=owned_by("uid-build"))
    pods = [a_pod("build-1-x", "build-1"), a_pod("build-0-x", "build-0")]
    seen = look(a_run(JOB), jobs=[mine], pods=pods).observation
    assert isinstance(seen.job, JobFacts)
    assert [pod.name for pod in seen.pods] == ["build-1-x"]
    assert not seen.live
    theirs = an_object("build-1", ownerReferences=owned_by("another"))
    assert look(a_run(JOB), jobs=[theirs]).observation.job == NotInCache()
    assert look(a_run(), jobs=[mine]).observation.job == NotInCache()


@pytest.mark.rule("GC-2")
def test_what_was_read_live_takes_the_place_of_the_caches():
    """And says so."""
    mine = an_object("build-1", ownerReferences=owned_by("uid-build"))
    seen = look(a_run(JOB), jobs=[mine], live=LiveReads(work=(ConfirmedAbsent(), ()))).observation
    assert (seen.job, seen.pods, seen.live) == (ConfirmedAbsent(), (), True)


def test_a_status_of_the_existing_system_can_be_read():
    """Ready means that nothing has happened."""
    assert look(a_run({"phase": "Ready", "runId": "x"})).observation.recorded.lifecycle.phase is None


@pytest.mark.rule("CAN-2")
def test_a_child_of_a_run_must_read_its_owner():
    """A ToolRun of its own has none."""
    assert look().observation.owner is Owner.NONE
    run = a_run(ownerReferences=[RUN | {"name": "nightly", "uid": "r1"}], labels={RUN_UID: "r1"})
    assert owner_run(Cached.of(run)) == "nightly"
    assert look(run).observation.owner is Owner.NOT_READ
    assert look(run, live=LiveReads(owner=Owner.ACTIVE)).observation.owner is Owner.ACTIVE


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        pytest.param(None, Owner.GONE, id="gone"),
        pytest.param({"metadata": {"uid": "other"}}, Owner.GONE, id="recreated"),
        pytest.param({"metadata": {"uid": "r1"}}, Owner.ACTIVE, id="new"),
        pytest.param({"metadata": {"uid": "r1"}, "status": {"phase": "Running"}}, Owner.ACTIVE, id="running"),
        pytest.param(
            {"metadata": {"uid": "r1"}, "status": {"phase": "Cancelling"}}, Owner.STOPPING, id="cancelling"
        ),
        pytest.param({"metadata": {"uid": "r1"}, "status": {"phase": "Failed"}}, Owner.STOPPING, id="ended"),
        pytest.param({"metadata": {"uid": "r1", "deletionTimestamp": "x"}}, Owner.STOPPING, id="deleted"),
    ],
)
@pytest.mark.rule("CAN-2")
def test_only_a_run_that_goes_on_lets_its_children_start(run, expected):
    """Cancelling, terminal, deleted or gone: nothing starts."""
    assert owner_state(run, "r1") is expected
