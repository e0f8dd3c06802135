"""Which conditions a phase means, and how they change over time."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jangar.api.phases import Phase
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.conditions import (
    MESSAGE_LIMIT,
    OPTIONAL,
    PHASE_BOUND,
    Claim,
    Condition,
    ConditionStatus,
    ConditionType,
    Facts,
    definition_claims,
    execution_claims,
    merge,
    optional_claims,
    truncate,
)

NOON = datetime(2026, 2, 7, 12, 0, 0, tzinfo=UTC)
LATER = NOON + timedelta(seconds=90)
TRUE, FALSE, UNKNOWN = ConditionStatus.TRUE, ConditionStatus.FALSE, ConditionStatus.UNKNOWN

NOT_DEGRADED = ("False", "NotDegraded", "")
NOT_FINISHED = ("False", "NotFinished", "")
NOT_FAILED = ("False", "NotFailed", "")
NOT_CANCELLED = ("False", "NotCancelled", "")
FINISHED = ("False", "Finished", "")


def summary(claims):
    """The claims as (status, reason, message) by type, in order."""
    return [(str(claim.type), (str(claim.status), str(claim.reason), claim.message)) for claim in claims]


def row(*cells):
    return list(
        zip(("Ready", "Progressing", "Degraded", "Succeeded", "Failed", "Cancelled"), cells, strict=True)
    )


@pytest.mark.parametrize(
    ("phase", "facts", "expected"),
    [
        pytest.param(
            Phase.PENDING,
            Facts(reason=Reason.PENDING, message="waits"),
            row(
                ("Unknown", "Pending", "waits"),
                ("True", "Pending", "waits"),
                NOT_DEGRADED,
                NOT_FINISHED,
                NOT_FAILED,
                NOT_CANCELLED,
            ),
            id="pending",
        ),
        pytest.param(
            Phase.PENDING,
            Facts(reason=Reason.REFERENCE_NOT_FOUND, message="no Agent a", blocked=True),
            row(
                ("False", "ReferenceNotFound", "no Agent a"),
                ("False", "ReferenceNotFound", "no Agent a"),
                NOT_DEGRADED,
                NOT_FINISHED,
                NOT_FAILED,
                NOT_CANCELLED,
            ),
            id="pending-blocked",
        ),
        pytest.param(
            Phase.PENDING,
            Facts(reason=Reason.PENDING, message="waits", suspended=True),
            row(
                ("Unknown", "Pending", "waits"),
                ("False", "Suspended", ""),
                NOT_DEGRADED,
                NOT_FINISHED,
                NOT_FAILED,
                NOT_CANCELLED,
            ),
            id="pending-suspended",
        ),
        pytest.param(
            Phase.PENDING,
            Facts(reason=Reason.TOO_LARGE, message="too big", blocked=True, suspended=True),
            row(
                ("False", "TooLarge", "too big"),
                ("False", "TooLarge", "too big"),
                NOT_DEGRADED,
                NOT_FINISHED,
                NOT_FAILED,
                NOT_CANCELLED,
            ),
            id="blocked-outweighs-suspended",
        ),
        pytest.param(
            Phase.RUNNING,
            Facts(reason=Reason.RUNNING, message="1 of 3"),
            row(
                ("Unknown", "Running", "1 of 3"),
                ("True", "Running", "1 of 3"),
                NOT_DEGRADED,
                NOT_FINISHED,
                NOT_FAILED,
                NOT_CANCELLED,
            ),
            id="running",
        ),
        pytest.param(
            Phase.RUNNING,
            Facts(reason=Reason.RUNNING, message="1 of 3", blocked=True, suspended=True),
            row(
                ("Unknown", "Running", "1 of 3"),
                ("True", "Running", "1 of 3"),
                NOT_DEGRADED,
                NOT_FINISHED,
                NOT_FAILED,
                NOT_CANCELLED,
            ),
            id="running-goes-on-when-suspended",
        ),
        pytest.param(
            Phase.RUNNING,
            Facts(reason=Reason.RUNNING, message="b failed", unforgiven_failure=True),
            row(
                ("Unknown", "Running", "b failed"),
                ("True", "Running", "b failed"),
                ("True", "StepFailed", "b failed"),
                NOT_FINISHED,
                NOT_FAILED,
                NOT_CANCELLED,
            ),
            id="running-with-an-unforgiven-failure",
        ),
        pytest.param(
            Phase.CANCELLING,
            Facts(reason=Reason.STOPPING, message="2 to go", unforgiven_failure=True, cancel_timed_out=True),
            row(
                ("False", "Cancelling", "2 to go"),
                ("True", "Cancelling", "2 to go"),
                NOT_DEGRADED,
                NOT_FINISHED,
                NOT_FAILED,
                ("False", "Cancelling", "2 to go"),
            ),
            id="cancelling",
        ),
        pytest.param(
            Phase.SUCCEEDED,
            Facts(reason=Reason.SUCCEEDED, message="all done", blocked=True, suspended=True),
            row(
                ("True", "Succeeded", "all done"),
                FINISHED,
                NOT_DEGRADED,
                ("True", "Succeeded", "all done"),
                NOT_FAILED,
                NOT_CANCELLED,
            ),
            id="succeeded",
        ),
        pytest.param(
            Phase.FAILED,
            Facts(reason=Reason.RUN_TIMED_OUT, message="after 60 s", unforgiven_failure=True),
            row(
                ("False", "RunTimedOut", "after 60 s"),
                FINISHED,
                ("True", "RunTimedOut", "after 60 s"),
                ("False", "RunTimedOut", "after 60 s"),
                ("True", "RunTimedOut", "after 60 s"),
                NOT_CANCELLED,
            ),
            id="failed",
        ),
        pytest.param(
            Phase.CANCELLED,
            Facts(reason=Reason.RUN_CANCELLED, message="by cancel"),
            row(
                ("False", "Cancelled", "by cancel"),
                FINISHED,
                NOT_DEGRADED,
                ("False", "Cancelled", "by cancel"),
                NOT_FAILED,
                ("True", "Cancelled", "by cancel"),
            ),
            id="cancelled",
        ),
        pytest.param(
            Phase.CANCELLED,
            Facts(reason=Reason.CANCELLED, message="1 left", cancel_timed_out=True),
            row(
                ("False", "CancelTimedOut", "1 left"),
                FINISHED,
                NOT_DEGRADED,
                ("False", "CancelTimedOut", "1 left"),
                NOT_FAILED,
                ("True", "CancelTimedOut", "1 left"),
            ),
            id="cancelled-past-the-bound",
        ),
    ],
)
@pytest.mark.rule("ST-5")
def test_a_phase_means_the_row_of_the_table(phase, facts, expected):
    """ST-5: the table of runs and children, every cell."""
    assert summary(execution_claims(phase, facts)) == expected


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.rule("ST-5")
def test_every_phase_claims_the_same_six_conditions(phase):
    """ST-5: a condition that no longer holds is set False, so every pass claims all of them."""
    claims = execution_claims(phase, Facts(reason=Reason.PENDING))
    assert {claim.type for claim in claims} == PHASE_BOUND
    assert len(claims) == 6


@pytest.mark.rule("ST-5")
def test_conditions_are_bound_to_the_phase_or_optional():
    """ST-5: four conditions appear only where they apply."""
    assert {str(item) for item in OPTIONAL} == {"Suspended", "CancelIgnored", "WorkflowJobMissing", "Blocked"}
    assert set(ConditionType) == OPTIONAL | PHASE_BOUND
    assert not OPTIONAL & PHASE_BOUND


CYCLE = Problem(reason=Reason.DEPENDENCY_CYCLE, path=("spec", "steps"), message="a -> b -> a")
NO_KIND = Problem(
    reason=Reason.STEP_MISSING_KIND, path=("spec", "steps", 1), message="no kind", fix="add one"
)
NO_AGENT = Problem(reason=Reason.REFERENCE_NOT_FOUND, path=("spec", "agentRef"), message="no Agent a")
BOTH = "spec.steps: a -> b -> a; spec.steps[1]: no kind (add one)"


@pytest.mark.parametrize(
    ("problems", "missing", "expected"),
    [
        pytest.param([], [], [("True", "ValidSpec", ""), FINISHED, NOT_DEGRADED], id="valid"),
        pytest.param(
            [CYCLE, NO_KIND],
            [NO_AGENT],
            [("False", "DependencyCycle", BOTH), FINISHED, ("True", "DependencyCycle", BOTH)],
            id="first-reason-and-all-messages",
        ),
        pytest.param(
            [],
            [NO_AGENT],
            [("False", "ReferenceNotFound", "spec.agentRef: no Agent a"), FINISHED, NOT_DEGRADED],
            id="a-missing-object-is-no-fault",
        ),
    ],
)
@pytest.mark.rule("ST-5", "DAG-2")
def test_a_definition_is_ready_or_says_what_is_wrong(problems, missing, expected):
    """ST-5, DAG-2: Ready, Progressing, Degraded; the first reason, and every message."""
    claims = definition_claims(problems, missing=missing)
    assert summary(claims) == list(zip(("Ready", "Progressing", "Degraded"), expected, strict=True))


def a_claim(kind=ConditionType.READY, status=TRUE, reason="Fine", message="all well"):
    return Claim(type=kind, status=status, reason=reason, message=message)


def a_condition(kind="Ready", status=TRUE, reason="Fine", message="all well", since=NOON, generation=1):
    return Condition(
        type=kind,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=since,
        observed_generation=generation,
    )


@pytest.mark.parametrize(
    ("old", "claim", "expected"),
    [
        pytest.param((), a_claim(), a_condition(since=LATER, generation=2), id="new-begins-now"),
        pytest.param(a_condition(), a_claim(), a_condition(generation=2), id="same-keeps-its-time"),
        pytest.param(
            a_condition(),
            a_claim(reason="Better", message="news"),
            a_condition(reason="Better", message="news", generation=2),
            id="reason-and-message-move-no-time",
        ),
        pytest.param(
            a_condition(),
            a_claim(status=FALSE),
            a_condition(status=FALSE, since=LATER, generation=2),
            id="status-moves-the-time",
        ),
        pytest.param(
            a_condition(status=UNKNOWN),
            a_claim(status=FALSE),
            a_condition(status=FALSE, since=LATER, generation=2),
            id="unknown-to-false-is-a-change",
        ),
        pytest.param(
            a_condition(since=None),
            a_claim(),
            a_condition(since=LATER, generation=2),
            id="a-lost-time-is-set",
        ),
        pytest.param(a_condition(generation=7), a_claim(), a_condition(generation=7), id="generation-stays"),
        pytest.param(
            a_condition(generation=None), a_claim(), a_condition(generation=2), id="generation-is-set"
        ),
    ],
)
@pytest.mark.rule("ST-5", "ST-2")
def test_last_transition_time_moves_with_the_status_only(old, claim, expected):
    """ST-5, ST-2: reason and message change freely; each condition has its generation."""
    known = (old,) if old else ()
    assert merge(known, [claim], generation=2, now=LATER + timedelta(microseconds=999999)) == (expected,)


@pytest.mark.rule("ST-5", "ST-1")
def test_conditions_that_no_one_claims_stay_in_their_place():
    """ST-5, ST-1: other writers' conditions are kept as they are; new ones come last."""
    foreign = a_condition(kind="example.com/Audited", generation=None, since=None)
    old = (foreign, a_condition(), a_condition(kind="Suspended"))
    claims = [a_claim(ConditionType.BLOCKED), a_claim(status=FALSE)]
    assert merge(old, claims, generation=3, now=LATER) == (
        foreign,
        a_condition(status=FALSE, since=LATER, generation=3),
        a_condition(kind="Suspended"),
        a_condition(kind="Blocked", since=LATER, generation=3),
    )


@pytest.mark.parametrize("old", [(), (a_condition(generation=None),)], ids=["new", "without-a-generation"])
@pytest.mark.rule("ST-2")
def test_a_condition_carries_exactly_the_generation_given(old):
    """ST-2: also the generation 0 of an object that has none."""
    assert merge(old, [a_claim()], generation=0, now=NOON)[0].observed_generation == 0


@pytest.mark.rule("ST-5")
def test_the_last_claim_about_a_condition_counts():
    """ST-5: a status that flips and returns within one pass has not changed."""
    claims = [a_claim(status=FALSE), a_claim()]
    assert merge((a_condition(),), claims, generation=1, now=LATER) == (a_condition(),)


@pytest.mark.parametrize(
    ("old", "holding", "decided", "expected"),
    [
        pytest.param((), (), OPTIONAL, [], id="never-held-is-not-mentioned"),
        pytest.param(
            (),
            (a_claim(ConditionType.BLOCKED, reason="PolicyDenied", message="no"),),
            OPTIONAL,
            [("Blocked", ("True", "PolicyDenied", "no"))],
            id="appears-once-it-applies",
        ),
        pytest.param(
            (
                a_condition(kind="Blocked"),
                a_condition(kind="WorkflowJobMissing", status=UNKNOWN),
                a_condition(kind="CancelIgnored"),
                a_condition(kind="Suspended"),
            ),
            (),
            OPTIONAL,
            [
                ("Suspended", ("False", "NotSuspended", "")),
                ("CancelIgnored", ("False", "Cancelling", "")),
                ("WorkflowJobMissing", ("False", "JobFound", "")),
                ("Blocked", ("False", "Resumed", "")),
            ],
            id="set-false-when-it-no-longer-holds",
        ),
        pytest.param(
            (a_condition(kind="Suspended", status=FALSE, reason="Was", message="once"),),
            (),
            OPTIONAL,
            [("Suspended", ("False", "Was", "once"))],
            id="false-is-said-again-as-it-was",
        ),
        pytest.param(
            (a_condition(kind="Suspended"), a_condition(kind="Blocked")),
            (a_claim(ConditionType.SUSPENDED, reason="Suspended", message=""),),
            frozenset({ConditionType.SUSPENDED, ConditionType.CANCEL_IGNORED}),
            [("Suspended", ("True", "Suspended", ""))],
            id="what-is-not-decided-is-left-alone",
        ),
        pytest.param(
            (a_condition(), a_condition(kind="x/Y")), (), OPTIONAL, [], id="others-are-none-of-ours"
        ),
    ],
)
@pytest.mark.rule("ST-5")
def test_optional_conditions_appear_once_they_apply_and_turn_false_after(old, holding, decided, expected):
    """ST-5: a condition that no longer holds is set False, not removed and not left True."""
    assert summary(optional_claims(old, *holding, decided=decided)) == expected


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        pytest.param(0, "", id="empty"),
        pytest.param(32768, "x" * 32768, id="as-long-as-allowed"),
        pytest.param(32769, "x" * 32767 + "…", id="one-too-long"),
    ],
)
@pytest.mark.rule("ST-5")
def test_a_message_is_cut_to_what_the_api_server_takes(length, expected):
    """ST-5: ten thousand problems must not keep the status from being written."""
    assert MESSAGE_LIMIT == 32768
    assert truncate("x" * length) == expected
    assert merge((), [a_claim(message="x" * length)], generation=1, now=NOON)[0].message == expected


STATUSES = st.sampled_from(ConditionStatus)
TYPES = st.sampled_from([str(item) for item in ConditionType] + ["example.com/Audited", "PodScheduled"])
CONDITIONS = st.lists(
    st.builds(
        a_condition,
        kind=TYPES,
        status=STATUSES,
        reason=st.sampled_from(["A", "B"]),
        generation=st.none() | st.integers(0, 9),
        since=st.none() | st.just(NOON),
    ),
    unique_by=lambda item: item.type,
)
CLAIMS = st.lists(
    st.builds(a_claim, st.sampled_from(ConditionType), status=STATUSES, reason=st.sampled_from(["A", "B"]))
)


@given(CONDITIONS, CLAIMS, st.integers(0, 9))
@pytest.mark.rule("ST-5")
def test_merging_keeps_what_is_unclaimed_and_changes_nothing_the_second_time(old, claims, generation):
    """ST-5: unknown conditions survive every merge, and a pass that finds the same leaves the same."""
    merged = merge(tuple(old), claims, generation=generation, now=LATER)
    claimed = {str(claim.type) for claim in claims}
    assert [item for item in merged if item.type not in claimed] == [
        item for item in old if item.type not in claimed
    ]
    assert [str(item.type) for item in merged][: len(old)] == [item.type for item in old]
    assert merge(merged, claims, generation=generation, now=LATER + timedelta(hours=1)) == merged
