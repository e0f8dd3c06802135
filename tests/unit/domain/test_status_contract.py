"""How phase, conditions and the four times of a run or child may change."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jangar.api.phases import TERMINAL, Phase
from jangar.api.reasons import Reason
from jangar.domain.conditions import Claim, Condition, ConditionStatus, ConditionType, Facts, execution_claims
from jangar.domain.status_contract import (
    LIFECYCLE_FIELDS,
    Lifecycle,
    advance,
    lifecycle_from,
    lifecycle_to,
    needs_write,
)

NOON = datetime(2026, 2, 7, 12, 0, 0, tzinfo=UTC)
LONG_AGO = NOON - timedelta(hours=3)
TRUE, FALSE = ConditionStatus.TRUE, ConditionStatus.FALSE


def after(seconds):
    return NOON + timedelta(seconds=seconds)


def passed(old, phase, *, reason="Because", message="so", generation=1, now=NOON, claims=(), **facts):
    return advance(
        old,
        phase=phase,
        reason=reason,
        message=message,
        generation=generation,
        claims=claims,
        now=now,
        **facts,
    )


def ready(status=TRUE, reason="Fine", message="", *, since=NOON, generation=1, kind=ConditionType.READY):
    return Condition(
        type=kind,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=since,
        observed_generation=generation,
    )


def a_claim(status=TRUE, reason="Fine", message="", kind=ConditionType.READY):
    return Claim(type=kind, status=status, reason=reason, message=message)


A_FINISHED_RUN = Lifecycle(
    phase=Phase.SUCCEEDED,
    reason=Reason.SUCCEEDED,
    message="all done",
    observed_generation=4,
    started_at=NOON,
    finished_at=after(10),
    updated_at=after(11),
    conditions=(ready(), ready(FALSE, kind=ConditionType.FAILED)),
)
A_LIVE_RUN = Lifecycle(
    phase=Phase.RUNNING,
    reason="Because",
    message="so",
    observed_generation=1,
    started_at=NOON,
    updated_at=NOON,
)


@pytest.mark.rule("ST-2", "ST-3", "ST-4")
def test_the_first_pass_writes_every_field():
    """ST-2, ST-3, ST-4: what an object has that was never looked at."""
    found = passed(
        Lifecycle(), Phase.RUNNING, generation=3, now=NOON + timedelta(microseconds=7), claims=[a_claim()]
    )
    assert found == Lifecycle(
        phase=Phase.RUNNING,
        reason="Because",
        message="so",
        observed_generation=3,
        started_at=NOON,
        finished_at=None,
        updated_at=NOON,
        conditions=(ready(generation=3),),
    )


@pytest.mark.parametrize(
    ("old", "phase", "ran", "expected"),
    [
        pytest.param(None, Phase.PENDING, False, None, id="pending-has-not-started"),
        pytest.param(None, Phase.PENDING, True, None, id="pending-is-not-running-whatever-ran"),
        pytest.param(None, Phase.RUNNING, False, after(5), id="running-starts"),
        pytest.param(None, Phase.RUNNING, True, after(5), id="running-starts-once"),
        pytest.param(None, Phase.CANCELLING, False, None, id="cancelled-before-the-start"),
        pytest.param(None, Phase.CANCELLING, True, after(5), id="start-and-cancel-in-one-pass"),
        pytest.param(None, Phase.SUCCEEDED, False, None, id="ended-without-running"),
        pytest.param(None, Phase.SUCCEEDED, True, after(5), id="start-and-end-in-one-pass"),
        pytest.param(None, Phase.FAILED, False, None, id="invalid-never-started"),
        pytest.param(NOON, Phase.RUNNING, True, NOON, id="set-once"),
        pytest.param(NOON, Phase.PENDING, False, NOON, id="never-cleared"),
        pytest.param(NOON, Phase.FAILED, True, NOON, id="kept-at-the-end"),
    ],
)
@pytest.mark.rule("ST-4")
def test_started_at_is_the_first_transition_into_running(old, phase, ran, expected):
    """ST-4: set once, never moved, never cleared."""
    before = Lifecycle(phase=Phase.PENDING, started_at=old)
    assert passed(before, phase, ran=ran, now=after(5)).started_at == expected


@pytest.mark.parametrize(
    ("phase", "children", "started", "now", "expected"),
    [
        pytest.param(Phase.PENDING, after(1), None, after(5), None, id="pending-has-not-ended"),
        pytest.param(Phase.RUNNING, after(1), NOON, after(5), None, id="running-has-not-ended"),
        pytest.param(Phase.CANCELLING, after(1), NOON, after(5), None, id="cancelling-has-not-ended"),
        pytest.param(Phase.SUCCEEDED, None, NOON, after(5), after(5), id="succeeded-ends-now"),
        pytest.param(Phase.FAILED, None, None, after(5), after(5), id="failed-ends-though-never-started"),
        pytest.param(Phase.CANCELLED, after(1), NOON, after(5), after(5), id="cancelled-after-its-children"),
        pytest.param(Phase.SUCCEEDED, after(9), NOON, after(5), after(9), id="not-before-a-child"),
        pytest.param(
            Phase.SUCCEEDED,
            after(9.001),
            NOON,
            after(5),
            after(9.001),
            id="not-before-a-childs-fraction-either",
        ),
        pytest.param(Phase.SUCCEEDED, None, NOON, LONG_AGO, NOON, id="a-clock-set-back-ends-at-the-start"),
        pytest.param(
            Phase.SUCCEEDED, after(2), NOON, LONG_AGO, after(2), id="a-clock-set-back-with-children"
        ),
        pytest.param(Phase.SUCCEEDED, LONG_AGO, after(3), LONG_AGO, after(3), id="the-latest-of-all-three"),
        pytest.param(Phase.SUCCEEDED, None, NOON, after(5.9996), after(5.999), id="whole-milliseconds"),
    ],
)
@pytest.mark.rule("ST-4", "CAN-5")
def test_finished_at_is_the_first_transition_into_a_terminal_phase(phase, children, started, now, expected):
    """ST-4, CAN-5: never earlier than the start or any child's end."""
    before = Lifecycle(phase=Phase.RUNNING, started_at=started)
    assert passed(before, phase, now=now, children_finished_at=children).finished_at == expected


@pytest.mark.rule("ST-4")
def test_a_run_seen_only_at_its_end_starts_and_ends_then():
    """ST-4: a pass may see Pending and then Succeeded; both times are its own."""
    found = passed(Lifecycle(phase=Phase.PENDING), Phase.SUCCEEDED, ran=True, now=after(8))
    assert (found.started_at, found.finished_at, found.updated_at) == (after(8), after(8), after(8))


@pytest.mark.rule("ST-4")
def test_an_end_alone_is_no_start():
    """ST-4: what is not said to have run never started, such as a run of an invalid definition."""
    assert passed(Lifecycle(), Phase.FAILED).started_at is None


@pytest.mark.parametrize("phase", [Phase.RUNNING, Phase.FAILED])
@pytest.mark.rule("ST-4")
def test_a_finished_at_that_is_there_is_never_moved(phase):
    """ST-4: also if a client reverted the phase; a start found later is not put after the end."""
    odd = Lifecycle(phase=None, finished_at=NOON)
    found = passed(odd, phase, ran=True, now=after(60), children_finished_at=after(90))
    assert (found.phase, found.started_at, found.finished_at) == (phase, NOON, NOON)


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.rule("ST-4", "DAG-16", "CAN-7")
def test_a_terminal_phase_is_final(phase):
    """ST-4, DAG-16, CAN-7: whatever is asked, the same object comes back and nothing is written."""
    found = advance(
        A_FINISHED_RUN,
        phase=phase,
        reason="Other",
        message="other",
        generation=4,
        claims=(),
        now=after(500),
        children_finished_at=after(400),
        ran=True,
    )
    assert found is A_FINISHED_RUN


@pytest.mark.rule("ST-2", "CAN-7")
def test_a_late_request_advances_the_generation_of_a_finished_run_and_nothing_else():
    """ST-2, CAN-7: CancelIgnored is added, observedGeneration advances, phase and times stay."""
    ignored = a_claim(reason=Reason.ALREADY_SUCCEEDED, message="too late", kind=ConditionType.CANCEL_IGNORED)
    found = passed(A_FINISHED_RUN, Phase.CANCELLING, generation=5, now=after(60), claims=[ignored])
    assert found == replace(
        A_FINISHED_RUN,
        observed_generation=5,
        updated_at=after(60),
        conditions=(
            *A_FINISHED_RUN.conditions,
            ready(
                TRUE,
                Reason.ALREADY_SUCCEEDED,
                "too late",
                since=after(60),
                generation=5,
                kind=ConditionType.CANCEL_IGNORED,
            ),
        ),
    )


@pytest.mark.parametrize("phase", [Phase.SUCCEEDED, Phase.RUNNING])
@pytest.mark.rule("ST-5", "CAN-7")
def test_conditions_that_follow_from_a_terminal_phase_are_final_with_it(phase):
    """ST-5, CAN-7: a late event that claims otherwise only brings their generation up to date."""
    late = [a_claim(FALSE, "Late", "news"), a_claim(TRUE, "Late", "news", kind=ConditionType.FAILED)]
    found = passed(A_FINISHED_RUN, phase, generation=5, now=after(60), claims=late)
    assert found.conditions == (
        ready(generation=5),
        ready(FALSE, generation=5, kind=ConditionType.FAILED),
    )


@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        pytest.param(
            Phase.SUCCEEDED,
            (ready(since=after(60), generation=4),),
            id="claims-for-the-same-phase-fill-the-gap",
        ),
        pytest.param(Phase.FAILED, (), id="claims-for-another-phase-do-not"),
    ],
)
@pytest.mark.rule("ST-5")
def test_a_terminal_object_without_conditions_gets_those_of_its_own_phase_only(phase, expected):
    """ST-5: an object that lost its conditions is mended, not contradicted."""
    bare = replace(A_FINISHED_RUN, conditions=())
    assert passed(bare, phase, generation=4, now=after(60), claims=[a_claim()]).conditions == expected


@pytest.mark.parametrize(
    ("started", "expected"),
    [
        pytest.param(None, after(70), id="not-before-a-child"),
        pytest.param(after(90), after(90), id="nor-the-start"),
    ],
)
@pytest.mark.rule("ST-4")
def test_a_terminal_object_always_has_finished_at(started, expected):
    """ST-4: an object that ended without it gets it at the next pass."""
    lacking = replace(A_FINISHED_RUN, finished_at=None, started_at=started)
    found = passed(lacking, Phase.SUCCEEDED, generation=4, now=after(60), children_finished_at=after(70))
    assert (found.started_at, found.finished_at, found.updated_at) == (started, expected, after(60))


@pytest.mark.parametrize(
    ("old", "given_generation", "expected"),
    [
        pytest.param(None, 0, 0, id="zero"),
        pytest.param(None, 2, 2, id="first"),
        pytest.param(2, 3, 3, id="advances"),
        pytest.param(3, 3, 3, id="stays"),
        pytest.param(3, 2, 3, id="never-goes-back"),
    ],
)
@pytest.mark.rule("ST-2")
def test_observed_generation_never_decreases(old, given_generation, expected):
    """ST-2: the generation that produced this status; a stale read does not take it back."""
    found = passed(Lifecycle(observed_generation=old), Phase.PENDING, generation=given_generation)
    assert found.observed_generation == expected


@pytest.mark.rule("ST-3")
def test_a_pass_that_finds_the_same_returns_the_same_object():
    """ST-3: a write happens only when something other than updatedAt differs."""
    assert passed(A_LIVE_RUN, Phase.RUNNING, now=after(60)) is A_LIVE_RUN
    reported = replace(A_LIVE_RUN, conditions=(ready(),))
    assert passed(reported, Phase.RUNNING, now=after(60), claims=[a_claim()]) is reported


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"phase": Phase.CANCELLING}, id="phase"),
        pytest.param({"reason": "Other"}, id="reason"),
        pytest.param({"reason": None}, id="reason-cleared"),
        pytest.param({"message": "other"}, id="message"),
        pytest.param({"generation": 2}, id="generation"),
        pytest.param({"claims": [a_claim()]}, id="conditions"),
    ],
)
@pytest.mark.rule("ST-3")
def test_updated_at_moves_with_every_other_change(change):
    """ST-3: updatedAt changes on every status write."""
    found = passed(A_LIVE_RUN, **({"phase": Phase.RUNNING, "now": after(60.5)} | change))
    assert found.updated_at == after(60.5)
    assert found.started_at == NOON


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(None, None, id="none"),
        pytest.param("", None, id="empty-is-none"),
        pytest.param("x" * 40000, "x" * 32767 + "…", id="too-long-is-cut"),
    ],
)
@pytest.mark.rule("ST-3")
def test_a_message_reads_back_as_it_was_written(message, expected):
    """ST-3: otherwise every pass would find a difference."""
    assert passed(A_LIVE_RUN, Phase.RUNNING, message=message).message == expected


@pytest.mark.parametrize(
    ("phase", "expected"), [(item, item in TERMINAL) for item in Phase] + [(None, False)], ids=str
)
@pytest.mark.rule("DAG-16")
def test_succeeded_failed_and_cancelled_are_terminal(phase, expected):
    """DAG-16: these are final."""
    assert Lifecycle(phase=phase).is_terminal is expected


DOC = {
    "phase": "Running",
    "reason": "Starting",
    "message": "soon",
    "observedGeneration": 2,
    "startedAt": "2026-02-07T12:00:00Z",
    "finishedAt": "2026-02-07T12:00:10Z",
    "updatedAt": "2026-02-07T12:00:11Z",
    "conditions": [
        {
            "type": "Ready",
            "status": "Unknown",
            "reason": "Starting",
            "message": "",
            "lastTransitionTime": "2026-02-07T12:00:01Z",
            "observedGeneration": 2,
        },
        {"type": "example.com/Audited", "status": "True", "message": "by Eve"},
    ],
}
READ = Lifecycle(
    phase=Phase.RUNNING,
    reason="Starting",
    message="soon",
    observed_generation=2,
    started_at=NOON,
    finished_at=after(10),
    updated_at=after(11),
    conditions=(
        ready(ConditionStatus.UNKNOWN, "Starting", since=after(1), generation=2),
        Condition(type="example.com/Audited", status=TRUE, message="by Eve"),
    ),
)


@pytest.mark.rule("ST-1")
def test_a_status_is_read_and_written_field_by_field():
    """ST-1: the document form; conditions of others with fewer fields survive as they are."""
    assert lifecycle_from(DOC) == READ
    assert lifecycle_to(READ) == DOC
    assert set(DOC) == LIFECYCLE_FIELDS


@pytest.mark.rule("ST-1")
def test_what_is_not_set_is_left_out():
    """ST-1: an empty lifecycle is an empty document, and nulls and empty texts read like absent fields."""
    assert lifecycle_to(Lifecycle()) == {}
    assert lifecycle_from({}) == Lifecycle()
    nothing = dict.fromkeys(LIFECYCLE_FIELDS) | {"phase": "", "reason": "", "message": "", "conditions": []}
    assert lifecycle_from(nothing) == Lifecycle()
    assert lifecycle_to(Lifecycle(observed_generation=0)) == {"observedGeneration": 0}


@pytest.mark.rule("ST-1")
def test_words_are_written_as_plain_text():
    """ST-1: a document holds JSON, no enums of ours."""
    doc = lifecycle_to(
        passed(Lifecycle(), Phase.RUNNING, reason=Reason.RUNNING, claims=[a_claim(reason=Reason.RUNNING)])
    )
    condition = doc["conditions"][0]
    texts = [doc["phase"], doc["reason"], condition["type"], condition["status"], condition["reason"]]
    assert texts == ["Running", "Running", "Ready", "True", "Running"]
    assert {type(text) for text in texts} == {str}


@pytest.mark.parametrize(
    ("doc", "error_message"),
    [
        pytest.param({"phase": "Paused"}, "'Paused' is not a valid Phase", id="phase"),
        pytest.param(
            {"startedAt": "noon"}, "startedAt: 'noon' is not a time such as 2026-02-07T12:00:00Z", id="time"
        ),
    ],
)
@pytest.mark.rule("ST-1")
def test_a_status_that_cannot_be_read_is_refused(doc, error_message):
    """ST-1: a phase is never guessed, a time never set again."""
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 - the message is compared below, whole
        lifecycle_from(doc)
    assert str(refusal.value) == error_message


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({}, {}, False, id="empty"),
        pytest.param({"a": 1, "updatedAt": "x"}, {"a": 1, "updatedAt": "y"}, False, id="updatedAt-alone"),
        pytest.param({"a": 1}, {"a": 1, "updatedAt": "y"}, False, id="updatedAt-added"),
        pytest.param({"a": 1}, {"a": 2}, True, id="a-value"),
        pytest.param({"a": 1}, {}, True, id="a-field-gone"),
        pytest.param({}, {"a": 1}, True, id="a-field-new"),
        pytest.param({}, {"a": None}, False, id="null-is-absent"),
        pytest.param({"a": {"b": [{"c": 1}]}}, {"a": {"b": ({"c": 1, "d": None},)}}, False, id="null-within"),
        pytest.param(
            {"a": {"updatedAt": 1}}, {"a": {"updatedAt": 2}}, True, id="only-the-top-level-updatedAt"
        ),
        pytest.param({"a": [1, 2]}, {"a": [2, 1]}, True, id="order-of-a-list"),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, False, id="order-of-fields"),
        pytest.param({"a": 0}, {"a": None}, True, id="zero-is-something"),
    ],
)
@pytest.mark.rule("ST-3", "ST-7")
def test_a_write_is_needed_when_anything_but_updated_at_differs(old, new, expected):
    """ST-3, ST-7: a null that the API server drops must not cause a write on every pass."""
    assert needs_write(old, new) is expected


TIMES = st.integers(-5_000_000, 5_000_000).map(lambda item: NOON + timedelta(milliseconds=item))
PASSES = st.lists(
    st.fixed_dictionaries(
        {
            "phase": st.sampled_from(Phase),
            "reason": st.sampled_from(["A", "B"]),
            "generation": st.integers(0, 4),
            "now": TIMES,
            "children_finished_at": st.none() | TIMES,
            "ran": st.booleans(),
        }
    ),
    max_size=12,
)


@given(PASSES)
@pytest.mark.rule("ST-2", "ST-3", "ST-4", "ST-5", "DAG-16")
def test_no_sequence_of_passes_and_clocks_breaks_the_contract(passes):
    """ST-2 to ST-5, DAG-16: times are set once, the generation never falls, a terminal phase stays."""
    old = Lifecycle()
    for pass_ in passes:
        claims = execution_claims(pass_["phase"], Facts(reason=pass_["reason"]))
        new = advance(old, message=None, claims=claims, **pass_)
        assert old.started_at in {None, new.started_at}
        assert old.finished_at in {None, new.finished_at}
        assert new.observed_generation == max(pass_["generation"], old.observed_generation or 0)
        assert (new.finished_at is not None) is new.is_terminal
        if new.started_at and new.finished_at:
            assert new.started_at <= new.finished_at
        if new.finished_at and not old.finished_at and pass_["children_finished_at"]:
            assert new.finished_at >= pass_["children_finished_at"]
        if old.is_terminal:
            assert (new.phase, new.reason) == (old.phase, old.reason)
        holding = {str(held.type) for held in new.conditions if held.status is TRUE}
        assert holding & {"Succeeded", "Failed", "Cancelled"} == (
            {str(new.phase)} if new.is_terminal else set()
        )
        assert (new is old) is (not needs_write(lifecycle_to(old), lifecycle_to(new)))
        assert lifecycle_from(lifecycle_to(new)) == new
        assert advance(new, message=None, claims=claims, **pass_) is new
        old = new
