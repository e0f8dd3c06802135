"""The history checker reports violations: otherwise the absence of failures would mean nothing."""

import pytest

from jangar.controllers.resources import CHILD_UID, RUN_UID
from jangar.domain.job_execution.cleanup import OUTCOME_FINALIZER
from simulation.history import History, Version

NOON, LATER = "2026-01-01T12:00:00Z", "2026-01-01T12:00:00.500Z"
ENDED = {"phase": "Succeeded", "startedAt": NOON, "finishedAt": LATER, "observedGeneration": 1}


def run(status=None, *, at=0.0, gone=False, uid="r", **meta):
    obj = {
        "metadata": {"name": "run", "uid": uid, "generation": 2, **meta},
        "status": status or {},
        "spec": {},
    }
    return Version("orchestrationruns", obj, gone, at)


def toolrun(status=None, *, gone=False, **meta):
    meta = {"name": "t", "uid": "t", "generation": 1, "labels": {RUN_UID: "r"}, **meta}
    return Version("toolruns", {"metadata": meta, "status": status or {}}, gone)


def job(*finalizers, uid="j", gone=False):
    meta = {"name": "j", "uid": uid, "labels": {CHILD_UID: "t"}, "finalizers": list(finalizers)}
    return Version("jobs", {"metadata": meta}, gone)


def step(name, phase, **more):
    return {"name": name, "phase": phase, **more}


def expiring(status, at, **more):
    version = run(status, at=at, **more)
    version.obj["spec"]["ttlSecondsAfterFinished"] = 60
    return version


INTENT = {"phase": "Pending", "job": {"name": "j"}}
BROKEN = {
    "I1": [run(), toolrun({"phase": "Succeeded", "finishedAt": NOON}), job()],
    "I2: left": [run(ENDED), run({**ENDED, "phase": "Failed"})],
    "I2: ended while": [run(), toolrun({"phase": "Running"}), run(ENDED)],
    "I3: startedAt moved": [run({"startedAt": NOON}), run({"startedAt": LATER})],
    "I3: ended without": [run({"phase": "Failed"})],
    "I3: started at": [run({**ENDED, "startedAt": LATER, "finishedAt": NOON})],
    "I3: finished at": [
        run(),
        toolrun({"phase": "Succeeded", "finishedAt": LATER}),
        run({**ENDED, "finishedAt": NOON}),
    ],
    "I4: observedGeneration went": [run({"observedGeneration": 2}), run({"observedGeneration": 1})],
    "I4: observedGeneration is": [run({"observedGeneration": 3})],
    "I5": [run({"stepStatuses": [step("a", "Running"), step("b", "Running", attempt=1)]})],
    "I6: step a is skipped without a reason": [run({"stepStatuses": [step("a", "Skipped")]})],
    "I6: step a is skipped without causes": [
        run({"stepStatuses": [step("a", "Skipped", reason="DependencyFailed")]})
    ],
    "I7": [run({"phase": "Cancelling"}), toolrun()],
    "I8: outcome": [run(ENDED), run({**ENDED, "outcome": {}, "observedGeneration": 2})],
    "I8: condition": [
        run(ENDED),
        run({**ENDED, "observedGeneration": 2, "conditions": [{"type": "Failed", "status": "True"}]}),
    ],
    "I9": [run(), toolrun(INTENT), job(OUTCOME_FINALIZER), job()],
    "I15": [run({"phase": "Running"}), run({"phase": "Running", "updatedAt": NOON})],
    "GC-2": [run(), toolrun({"phase": "Pending"}), job()],
    "TTL": [expiring(ENDED, 0.0), expiring(ENDED, 59.0, gone=True)],
}


@pytest.mark.parametrize("reported", BROKEN)
def test_a_violated_invariant_is_reported(reported):
    violations = History(versions=BROKEN[reported], needs={"b": ("a",)}).violations()
    assert any(reported in item for item in violations), violations


def test_a_valid_history_has_no_violations():
    child = {**INTENT, "phase": "Succeeded", "outcome": {"phase": "Succeeded"}, "finishedAt": NOON}
    ignored = {**ENDED, "observedGeneration": 2, "conditions": [{"type": "CancelIgnored", "status": "True"}]}
    versions = [
        run(),
        toolrun(INTENT),
        job(OUTCOME_FINALIZER),
        toolrun(child),
        job(),
        run(ENDED),
        run(ignored),
        expiring(ignored, 60.0, gone=True),
    ]
    assert History(versions=versions).violations() == []
