"""What the doctor finds: each check is a function of what was read."""

from datetime import timedelta

import pytest

from jangar.cli.doctor.checks import (
    Facts,
    controllers,
    deletions,
    kinds,
    nodes,
    orphans,
    run_checks,
    versions,
    waiting,
)
from jangar.cli.doctor.report import document, lines
from jangar.domain.job_execution.cleanup import CLEANUP_FINALIZER
from jangar.kinds.registry import RUN_KINDS
from support.builders import NOON

CHILD_UID = "jangar.proompteng.ai/child-uid"


def before(seconds):
    return (NOON - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def an_object(kind, name, *, age=3600, status=None, spec=None, **meta):
    return {
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "creationTimestamp": before(age),
            **meta,
        },
        "spec": spec or {},
        "status": status or {},
    }


def a_crd(name, **properties):
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    return {"metadata": {"name": name}, "spec": {"versions": [{"name": "v1", "schema": schema}]}}


def facts(**read):
    defaults = {"now": NOON, "server": "https://x", "cli_version": "2", "is_laptop": False}
    runs = {run.name: read.pop(run.plural_noun, ()) for run in RUN_KINDS.values()}
    return Facts(runs=runs, **(defaults | read))


def messages(check):
    return [f"{problem.subject}: {problem.message}".removeprefix(": ") for problem in check.problems]


def test_kinds_that_are_missing_or_of_another_version_are_named():
    """What a server adds to a definition is no difference."""
    wanted = [a_crd("a", x={"type": "string"}), a_crd("b"), a_crd("c", x={"type": "string"})]
    there = [a_crd("a", x={"type": "string"}, added={}), a_crd("c", x={"type": "integer"})]
    found = kinds(facts(wanted=wanted, definitions=there))
    assert messages(found) == ["1 kind missing: b", "1 kind of another version: c"]
    assert found.problems[0].fix == "jangar crds | kubectl apply --server-side -f -"
    assert not kinds(facts(wanted=wanted, definitions=wanted)).problems


def test_another_version_of_the_control_plane_is_reported():
    """Of a laptop, which reports its version."""
    assert messages(versions(facts(is_laptop=True, laptop_version="1"))) == [
        "the control plane has version 1, this command 2"
    ]
    assert not versions(facts(is_laptop=True, laptop_version="2")).problems


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"holderIdentity": "p", "renewTime": before(10)}, [], id="renewed"),
        pytest.param(
            {"holderIdentity": "p", "renewTime": before(300)},
            ["Lease default/l: not renewed for 5m by p"],
            id="late",
        ),
        pytest.param(
            {"holderIdentity": ""},
            ["the Lease l has no holder: no controllers run, or they run without leases"],
            id="given-back",
        ),
    ],
)
def test_controllers_renew_their_lease(spec, expected):
    """Twice the duration without a renewal is too long."""
    lease = an_object("Lease", "l", spec={"leaseDurationSeconds": 30} | spec)
    assert messages(controllers(facts(leases=[lease], lease_name="l"))) == expected


def test_parts_of_a_laptop_tell_how_they_are():
    """There is no Lease on a laptop."""
    found = controllers(facts(is_laptop=True, parts={"api": [], "node agent": ["no supervisor"]}))
    assert messages(found) == ["node agent: no supervisor"]


def test_without_a_ready_node_nothing_can_start():
    """One is enough."""
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    assert not nodes(facts(nodes=[ready, {"status": {}}])).problems
    assert messages(nodes(facts(nodes=[{"status": {}}]))) == ["no node is ready: nothing can start"]


def test_deletions_that_take_longer_than_a_cancel_are_stuck():
    """With the finalizers that block the deletion, and how to remove them."""
    stuck = an_object("ToolRun", "t", deletionTimestamp=before(600), finalizers=["x/cleanup"])
    fresh = an_object("ToolRun", "u", deletionTimestamp=before(20), finalizers=["x/cleanup"])
    found = deletions(facts(toolruns=[stuck, fresh]))
    assert messages(found) == ["ToolRun default/t: deletion pending for 10m, blocked by x/cleanup"]
    assert found.problems[0].fix.startswith("the owner of x/cleanup must remove it; ")
    assert "kubectl patch toolrun t -n default" in found.problems[0].fix
    ours = an_object("ToolRun", "t", deletionTimestamp=before(600), finalizers=[CLEANUP_FINALIZER])
    assert (
        deletions(facts(toolruns=[ours]))
        .problems[0]
        .fix.startswith("the controllers remove their finalizer once")
    )


def test_jobs_whose_child_is_gone_are_orphans():
    """Those of others are none of ours."""
    owned = an_object("Job", "a", labels={CHILD_UID: "uid-t"})
    orphan = an_object("Job", "b", labels={CHILD_UID: "uid-gone"})
    found = orphans(facts(jobs=[owned, orphan, an_object("Job", "c")], toolruns=[an_object("ToolRun", "t")]))
    assert messages(found) == ["Job default/b: its ToolRun or AgentRun no longer exists"]
    assert found.problems[0].fix == "kubectl delete job b -n default"


def test_runs_that_wait_tell_for_what():
    """Not those that were just made, are suspended or start in a moment."""
    lost = {"phase": "Pending", "reason": "ReferenceNotFound", "message": "no o"}
    runs = [
        an_object("OrchestrationRun", "lost", status=lost),
        an_object("OrchestrationRun", "new", status=lost, age=1),
        an_object("OrchestrationRun", "held", status=lost, spec={"suspend": True}),
        an_object("OrchestrationRun", "soon", status={"phase": "Pending", "reason": "Starting"}),
    ]
    child = an_object(
        "ToolRun",
        "lost-a-1",
        status=lost,
        labels={"jangar.proompteng.ai/step": "a"},
        ownerReferences=[{"kind": "OrchestrationRun", "name": "other"}],
    )
    assert messages(waiting(facts(runs=runs, toolruns=[child]))) == [
        "OrchestrationRun default/lost: waiting for 1h: ReferenceNotFound: no o",
        "OrchestrationRun default/other, step a: waiting for 1h: ReferenceNotFound: no o",
    ]


def test_work_whose_pod_cannot_start_is_reported_at_once():
    """An image, a Secret, a node: of ToolRuns and AgentRuns, without patience, with a way out."""
    pulls = {"phase": "Pending", "reason": "ImagePullBackOff", "message": "no such image"}
    staged = {"phase": "Running", "reason": "Unschedulable", "message": "no node"}
    ended = {"phase": "Failed", "reason": "Unschedulable", "message": "no node"}
    found = waiting(
        facts(
            toolruns=[an_object("ToolRun", "new", status=pulls, age=1)],
            agentruns=[
                an_object("AgentRun", "staged", status=staged, age=1),
                an_object("AgentRun", "ended", status=ended),
            ],
        )
    )
    assert messages(found) == [
        "ToolRun default/new: waiting for 1s: ImagePullBackOff: no such image",
        "AgentRun default/staged: waiting for 1s: Unschedulable: no node",
    ]
    assert "ImagePullBackOff.md" in found.problems[0].fix


def test_forbidden_reads_are_reported_and_are_no_problem():
    """The other checks still run."""
    read = facts(
        definitions=None, unread={"CRDs": "forbidden"}, is_laptop=True, laptop_version="2", nodes=None
    )
    checks = run_checks(read)
    assert "?     kinds           not checked: CRDs: forbidden" in lines(read, checks)
    assert document(read, checks)["healthy"] is True


def test_every_problem_is_reported_with_its_fix():
    """In text and for scripts."""
    read = facts(is_laptop=True, laptop_version="1", nodes=[{"status": {}}])
    checks = run_checks(read)
    output = lines(read, checks)
    assert output[0] == "ok    API             https://x"
    assert output[1] == "WRONG version         the control plane has version 1, this command 2"
    assert output[2].strip().startswith("fix: run jangar down; ")
    assert output[-1] == "2 problems"
    reported = document(read, checks)
    assert [len(check["problems"]) for check in reported["checks"]] == [1, 0, 0, 1, 0, 0, 0]
