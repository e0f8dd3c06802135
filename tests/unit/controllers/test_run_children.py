"""Children of a run: read from their objects, written as manifests, and remembered between passes."""

import pytest

from jangar.api.phases import Phase, StepKind
from jangar.controllers.orchestrationrun.children import (
    TEMPLATE,
    child_manifest,
    child_seen,
    hash_of,
    stop_patch,
)
from jangar.controllers.orchestrationrun.memory import MAX_ENDED, Memories, RunMemory
from jangar.controllers.orchestrationrun.retention import Keeping, RunRetention
from jangar.controllers.resources import ATTEMPT, LINEAGE, RUN_UID, STEP, stop_deadline
from jangar.domain.cancellation import LeftBehind
from jangar.domain.job_execution.cleanup import CLEANUP_FINALIZER
from jangar.domain.orchestration.planning.actions import StartChild, StopChild
from jangar.domain.orchestration.planning.observation import ChildGone
from jangar.domain.orchestration.state import RunRecord, StepState
from jangar.domain.retention import NEVER, Delete, Keep, Kept, KeptBecause, keep_for
from jangar.domain.status_contract import Lifecycle
from jangar.kinds.run_objects import STOP
from jangar.kinds.tool_run.step import STEP as TOOL_RUN_STEP
from kubekit.cache.object_cache import Cache, Cached, Change
from support.builders import NOON, a_definition, a_step, at

OWNER = {"kind": "OrchestrationRun", "name": "nightly", "uid": "r1", "controller": True}


def an_object(name="build", *, spec=None, status=None, version="1", **metadata):
    meta = {
        "name": name,
        "namespace": "ci",
        "uid": f"uid-{name}",
        "resourceVersion": version,
        "creationTimestamp": "2026-02-07T12:00:00Z",
    }
    return Cached.of({"metadata": meta | metadata, "spec": spec or {}, "status": status or {}})


def seen_child(cached):
    return child_seen(cached, TOOL_RUN_STEP)


def test_a_child_without_a_status_is_pending():
    """It was created and not looked at yet; so is one that the legacy controllers marked Ready."""
    assert seen_child(an_object()).phase is Phase.PENDING
    assert seen_child(an_object(status={"phase": "Ready"})).phase is Phase.PENDING


def test_a_child_that_ended_is_read_with_what_it_returned():
    """Reason, time, code and outputs."""
    status = {
        "phase": "Succeeded",
        "reason": "Succeeded",
        "finishedAt": "2026-02-07T12:00:05.250Z",
        "outcome": {"exitCode": 0},
        "outputs": {"a": "1"},
    }
    seen = seen_child(an_object(status=status))
    assert (seen.phase, seen.finished_at, seen.exit_code, seen.outputs) == (
        Phase.SUCCEEDED,
        at(5.25),
        0,
        {"a": "1"},
    )


@pytest.mark.rule("CAN-6")
@pytest.mark.parametrize(("left", "expected"), [([{}], True), ([{"endedAt": "x"}], False), ([], False)])
def test_what_a_child_left_behind_counts_until_it_has_ended(left, expected):
    """So that nothing is retried over it."""
    seen = seen_child(an_object(status={"phase": "Cancelled", "cancel": {"leftBehind": left}}))
    assert seen.left_behind is expected


@pytest.mark.rule("CAN-3")
def test_a_stop_is_acknowledged_by_both_request_and_stop_order():
    """The patch of a stop makes it so, and the deadline arrives as it was given."""
    patch = stop_patch(StopChild(child="build", reason="RunCancelled", deadline=at(58)), TOOL_RUN_STEP)
    reported = an_object(spec=patch["spec"], annotations=patch["metadata"]["annotations"])
    assert seen_child(reported).stop_requested
    assert stop_deadline(patch["metadata"]["annotations"]) == at(58)
    assert not seen_child(an_object(spec={"cancel": True})).stop_requested
    assert not seen_child(an_object(annotations={STOP: "{}"})).stop_requested


@pytest.mark.rule("GC-9", "RUN-5")
def test_a_new_child_has_a_finalizer_an_owner_and_labels():
    """From its first moment: nothing starts for what could go at any time."""
    step = a_definition(a_step("unit-tests", onJobMissing="Retry")).steps[0]
    action = StartChild(
        step="unit-tests", attempt=2, child="nightly-x", kind=StepKind.TOOL_RUN, parameters={"a": "1"}
    )
    run = an_object("nightly")
    made = child_manifest(action, step, run=run, owner=OWNER, lineage=())
    assert made["kind"] == "ToolRun"
    assert made["metadata"] | {"labels": {}} == {
        "name": "nightly-x",
        "namespace": "ci",
        "labels": {},
        "finalizers": [CLEANUP_FINALIZER],
        "ownerReferences": [OWNER],
    }
    labels = made["metadata"]["labels"]
    assert (labels[RUN_UID], labels[STEP], labels[ATTEMPT]) == ("uid-nightly", "unit-tests", "2")
    assert made["spec"] == {
        "toolRef": {"name": "tool"},
        "parameters": {"a": "1"},
        "onJobMissing": "Retry",
    }


def test_a_nested_run_knows_what_contains_it():
    """The orchestrations above it, outermost first."""
    nested = {"name": "n", "kind": "SubOrchestration", "orchestrationRef": {"name": "inner"}, "dependsOn": []}
    step = a_definition(nested).steps[0]
    action = StartChild(step="n", attempt=1, child="x", kind=StepKind.SUB_ORCHESTRATION, parameters={})
    made = child_manifest(action, step, run=an_object("nightly"), owner=OWNER, lineage=("a", "b"))
    assert made["metadata"]["annotations"] == {LINEAGE: "a,b"}
    assert made["spec"] == {"orchestrationRef": {"name": "inner"}}


# Memory.


def a_child_of(uid, name="build", **more):
    return an_object(name, ownerReferences=[OWNER | {"uid": uid}], **more)


def a_record(*states):
    return RunRecord(steps=states)


def recorded_step(child="build", **more):
    return StepState(name="build", kind=StepKind.TOOL_RUN, attempt=1, child=child, **more)


BUILT = a_record(recorded_step(child_uid="uid-build"))


def _raise(error):
    raise error


def test_a_new_memory_knows_the_children_that_are_cached():
    """After a restart everything is found again."""
    cache = Cache(report=_raise)
    cache.record_write(a_child_of("r1").decode())
    memories = Memories((cache,))
    memory = memories.of("r1")
    memory.take_news(BUILT)
    assert set(memory.children) == {"build"}
    assert memories.of("r1") is memory
    memories.forget("r1")
    assert memories.of("r1") is not memory


def test_of_ended_runs_only_the_latest_are_remembered():
    """Thousands stay until their retention is over; runs under way are remembered however many there are."""
    memories = Memories(())
    under_way = memories.of("r1")
    ended = [memories.of(f"ended-{number}") for number in range(MAX_ENDED + 1)]
    for memory in ended[:-1]:
        memories.note_ended(memory.uid)
    memories.note_ended(ended[0].uid)
    memories.note_ended(ended[-1].uid)
    assert memories.of("r1") is under_way
    assert [memory.uid for memory in ended if memories.of(memory.uid) is not memory] == ["ended-1"]


def test_news_replace_what_was_known_and_never_change_it_in_place():
    """Plans compare the children before with those now; a child that the cache lost is requested again."""
    memories = Memories(())
    memory = memories.of("r1")
    old, new = a_child_of("r1"), a_child_of("r1", status={"phase": "Running"}, version="2")
    memories.record_change(Change("added", None, old))
    memories.record_change(Change("added", None, a_child_of("somebody-else", "other")))
    memory.take_news(BUILT)
    before = memory.children
    memories.record_change(Change("changed", old, new))
    memory.take_news(BUILT)
    assert before["build"].phase is Phase.PENDING
    assert memory.children["build"].phase is Phase.RUNNING
    again = memory.children
    memory.take_news(BUILT)
    assert memory.children is again
    memories.record_change(Change("deleted", new, None))
    memory.take_news(BUILT)
    assert memory.children == {}


def test_a_confirmed_absence_is_not_forgotten_when_the_cache_hears_of_it():
    """The result of an uncached read stays."""
    memory = RunMemory(uid="r1")
    gone = ChildGone(name="build")
    memory.learn({"build": gone})
    memory.news["uid-build"] = (a_child_of("r1"), False)
    memory.take_news(BUILT)
    assert memory.children == {"build": gone}


SPEC = {"toolRef": {"name": "build"}}
LABELS = {RUN_UID: "r1", STEP: "build", ATTEMPT: "1"}
MADE = a_child_of("r1", spec=SPEC, labels=LABELS)
HASH = hash_of(MADE.view, StepKind.TOOL_RUN)


@pytest.mark.parametrize(
    ("state", "child", "is_taken"),
    [
        pytest.param(recorded_step(child_uid="uid-build"), MADE, True, id="recorded uid"),
        pytest.param(recorded_step(child_uid="another"), MADE, False, id="another uid than the recorded one"),
        pytest.param(recorded_step(child_hash=HASH), MADE, True, id="recorded hash"),
        pytest.param(
            recorded_step(child_hash=HASH),
            a_child_of("r1", spec=SPEC | {"parameters": {"a": "b"}}, labels=LABELS),
            False,
            id="another spec",
        ),
        pytest.param(
            recorded_step(child_hash=HASH),
            a_child_of("r1", spec=SPEC, labels=LABELS | {ATTEMPT: "2"}),
            False,
            id="another attempt",
        ),
        pytest.param(
            recorded_step(child_hash=HASH),
            a_child_of("r2", spec=SPEC, labels=LABELS),
            False,
            id="another owner",
        ),
        pytest.param(
            recorded_step(child_hash=HASH),
            a_child_of("r1", spec=SPEC, labels=LABELS, annotations={TEMPLATE: "true"}),
            False,
            id="a template that never starts",
        ),
        pytest.param(recorded_step(), MADE, False, id="nothing recorded but the name"),
        pytest.param(recorded_step(child="other", child_hash=HASH), MADE, False, id="another name"),
    ],
)
def test_only_what_the_run_recorded_is_its_child(state, child, is_taken):
    """E11: a name and an owner reference prove nothing; the recorded uid or hash decides."""
    memory = RunMemory(uid="r1")
    memory.news[child.uid] = (child, True)
    memory.take_news(a_record(state))
    assert ("build" in memory.children) is is_taken


def test_steering_a_child_does_not_change_what_it_is_recognized_by():
    """E11: a user may cancel or suspend a child before the run has recorded its uid."""
    steered = a_child_of("r1", spec=SPEC | {"cancel": True, "suspend": True}, labels=LABELS)
    assert hash_of(steered.view, StepKind.TOOL_RUN) == HASH


def test_an_object_of_another_kind_with_the_childs_name_changes_nothing():
    """E11: names are unique within a kind only, and children are known by their names."""
    memory = RunMemory(uid="r1")
    memory.news[MADE.uid] = (MADE, True)
    memory.take_news(a_record(recorded_step(child_hash=HASH)))
    other = an_object(uid="foreign", ownerReferences=[OWNER], status={"phase": "Succeeded"}, labels=LABELS)
    memory.news["foreign"] = (other, True)
    memory.take_news(a_record(recorded_step(child_hash=HASH)))
    memory.news["foreign"] = (other, False)
    memory.take_news(a_record(recorded_step(child_hash=HASH)))
    assert memory.children["build"].uid == MADE.uid


def test_documents_of_steps_that_did_not_change_are_made_once():
    """The very same document comes back."""
    memory = RunMemory(uid="r1")
    states = [StepState(name="a", kind=StepKind.TOOL_RUN), StepState(name="b", kind=StepKind.TOOL_RUN)]
    first = memory.step_documents(states)
    changed = [states[0], StepState(name="b", kind=StepKind.TOOL_RUN, attempt=1)]
    second = memory.step_documents(changed)
    assert second[0] is first[0]
    assert second[1] != first[1]
    assert len(memory.step_documents(states[:1])) == 1


# Retention.


def finished(**more):
    return RunRecord(lifecycle=Lifecycle(phase=Phase.SUCCEEDED, finished_at=NOON), **more)


def a_retention(*, ttl=None, is_root=True, **keeping):
    return RunRetention(keeping=Keeping(**keeping), is_root=is_root, ttl=ttl)


@pytest.mark.parametrize(
    ("retention", "expected"),
    [
        pytest.param(a_retention(ttl=0), Delete(), id="zero-is-at-once"),
        pytest.param(a_retention(ttl="never"), Kept(because=KeptBecause.FOR_EVER), id="never"),
        pytest.param(
            a_retention(run_retention=keep_for(60)),
            Kept(because=KeptBecause.NOT_DUE, look_again_at=at(60)),
            id="the-setting",
        ),
        pytest.param(
            a_retention(ttl=0, is_root=False), Kept(because=KeptBecause.WITH_ROOT), id="a-nested-run"
        ),
        pytest.param(
            a_retention(ttl=0, history_enabled=True),
            Kept(because=KeptBecause.HISTORY),
            id="after-its-history",
        ),
    ],
)
@pytest.mark.rule("GC-5", "GC-6")
def test_a_finished_run_goes_when_its_time_is_over(retention, expected):
    """The object's value before the settings; children go with their root."""
    assert retention.verdict(finished(), is_stored=lambda: False, now=at(1)) == expected


@pytest.mark.rule("GC-6")
def test_history_is_queried_only_for_a_run_that_is_due():
    """A query registers the run: it is enqueued when its history is stored."""
    queries = []
    kept = a_retention(ttl=60, history_enabled=True)
    assert isinstance(kept.verdict(finished(), is_stored=lambda: queries.append(1), now=at(1)), Kept)
    assert queries == []
    assert kept.verdict(finished(), is_stored=lambda: True, now=at(60)) == Delete()


@pytest.mark.rule("CAN-6")
def test_a_run_that_cleans_up_is_kept():
    """Until nothing is left."""
    left = LeftBehind(kind="ToolRun", name="x")
    verdict = a_retention(ttl=0).verdict(finished(left_behind=(left,)), is_stored=lambda: True, now=at(1))
    assert verdict == Kept(because=KeptBecause.CLEANING_UP)


@pytest.mark.rule("GC-4", "DAG-9")
@pytest.mark.parametrize(
    ("ttl", "seconds"), [(keep_for(0), 25), (keep_for(100), 100), (NEVER, None), (Keep(duration=None), None)]
)
def test_recorded_job_retention_is_what_jobs_get(ttl, seconds):
    """Never less than a late create needs to find the name taken."""
    document = a_retention(job_ttl=ttl).document(finished())
    assert document.get("jobTtlSeconds") == seconds
    assert document["jobSource"] == "controller.jobTtlSecondsAfterFinished"


def test_no_retention_is_recorded_for_a_running_run():
    """There is no time to count from."""
    assert a_retention().document(RunRecord(lifecycle=Lifecycle(phase=Phase.RUNNING))) == {}
