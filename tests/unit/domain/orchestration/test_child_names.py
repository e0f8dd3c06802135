"""DAG-9, RUN-5: names of children, Jobs and owned objects, and safe label values."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jangar.domain.orchestration.child_names import child_name, job_name, label_value, owned_name

DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
UID = "6f9c1f0e-6a55-4d5e-9d6b-0d7c1b8b1a11"
HASH = r"[a-z2-7]{16}"


@pytest.mark.rule("DAG-9")
@pytest.mark.parametrize(
    ("run", "step", "attempt", "readable"),
    [
        pytest.param("nightly", "build", 1, "nightly-build-1", id="run-step-attempt"),
        pytest.param("nightly", "Build_Image", 12, "nightly-build-image-12", id="upper-case-and-underscore"),
        pytest.param("a.b..c", "x--y", 1, "a-b-c-x-y-1", id="dots-and-runs-of-dashes"),
        pytest.param("r" * 253, "s" * 63, 1, "r" * 21 + "-" + "s" * 22 + "-1", id="both-long-share"),
        pytest.param("r" * 253, "s" * 63, 100, "r" * 20 + "-" + "s" * 21 + "-100", id="long-attempt"),
        pytest.param("r" * 253, "build", 1, "r" * 38 + "-build-1", id="a-short-step-leaves-room"),
        pytest.param("nightly", "s" * 63, 1, "nightly-" + "s" * 36 + "-1", id="a-short-run-leaves-room"),
        pytest.param(
            "r" * 20 + "-x", "s" * 63, 1, "r" * 20 + "-" + "s" * 23 + "-1", id="run-not-cut-at-a-dash"
        ),
        pytest.param(
            "r" * 253, "s" * 21 + "-x", 1, "r" * 21 + "-" + "s" * 21 + "-1", id="step-not-cut-at-a-dash"
        ),
        pytest.param("___", "é", 1, "1", id="nothing-readable"),
    ],
)
def test_a_child_name_begins_with_what_people_read(run, step, attempt, readable):
    """DAG-9: the name contains run, step and attempt as far as they fit, then a hash."""
    assert re.fullmatch(rf"{readable}-{HASH}", child_name(run, UID, step, attempt))


@pytest.mark.rule("DAG-9")
def test_names_never_change_between_versions():
    """DAG-9: a controller that was updated finds the children of the one before it."""
    assert child_name("nightly", UID, "build", 1) == "nightly-build-1-qwzajt5glbiiczax"
    assert job_name("nightly-build-1", UID, 1) == "nightly-build-1-1-lb55o7zo5b7e7kwp"
    assert owned_name("nightly", UID, "snapshot") == "nightly-snapshot-knxzzyrd22bqzyik"
    assert label_value("a b") == "a-b-vs3ovbh42eu4isgi"
    assert owned_name("nightly", UID, "steps", 0) == "nightly-steps-0-bfeqypl4oqgrz57f"


@pytest.mark.rule("DAG-9")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(("r", "u1", "s", 1), ("r", "u2", "s", 1), id="another-run-of-the-same-name"),
        pytest.param(("r", "u", "s", 1), ("r", "u", "s", 2), id="attempt"),
        pytest.param(("r", "u", "build", 1), ("r", "u", "Build", 1), id="case"),
        pytest.param(("r", "u", "a-b", 1), ("r", "u", "a_b", 1), id="dash-and-underscore"),
        pytest.param(("r", "u", "a", 11), ("r", "u", "a1", 1), id="digit-of-step-or-attempt"),
        pytest.param(("r", "u", "a-1", 1), ("r", "u", "a", 11), id="dash-or-digit"),
        pytest.param(("r", "ua", "b", 1), ("r", "u", "ab", 1), id="letter-of-uid-or-step"),
        pytest.param(("r", "u", "1:a", 1), ("r", "u1:", "a", 1), id="length-mark-in-a-name"),
        pytest.param(("r", "u", "\ud800", 1), ("r", "u", "\ud801", 1), id="halves-of-characters"),
        pytest.param(("r", "u", "x" * 62 + "a", 1), ("r", "u", "x" * 62 + "b", 1), id="beyond-the-cut"),
    ],
)
def test_different_attempts_have_different_names(one, other):
    """DAG-9: what differs in uid, step or attempt differs in the hash, not only in the readable part."""
    assert child_name(*one)[-16:] != child_name(*other)[-16:]


@pytest.mark.rule("DAG-9")
def test_the_hash_does_not_depend_on_the_runs_name():
    """DAG-9: the name is a function of run uid, step and attempt; the run's name is only for people."""
    assert child_name("a", UID, "s", 1)[-16:] == child_name("b", UID, "s", 1)[-16:]


@pytest.mark.rule("DAG-9")
def test_kinds_of_names_do_not_share_a_hash():
    """DAG-9: a Job, a child and an owned object of the same parts have different names."""
    hashes = {
        child_name("r", "u", "", 1)[-16:],
        job_name("r", "u", 1)[-16:],
        owned_name("r", "u", "", 1)[-16:],
        owned_name("r", "u", "1")[-16:],
    }
    assert len(hashes) == 4


@pytest.mark.rule("DAG-9", "RUN-5")
@settings(deadline=None, max_examples=50)
@given(st.text(max_size=300), st.text(max_size=80), st.text(max_size=80), st.integers(0, 2**31 - 1))
def test_names_are_dns_labels(run, uid, step, number):
    """RUN-5: whatever the parts are, the name is a DNS-1123 label of at most 63 characters."""
    job = job_name(child_name(run, uid, step, number), uid, number)
    for name in (
        child_name(run, uid, step, number),
        job,
        owned_name(run, uid, step),
        owned_name(run, uid, step, number),
    ):
        assert DNS_LABEL.fullmatch(name)


@pytest.mark.rule("DAG-9")
def test_a_job_name_identifies_the_child_and_the_attempt():
    """DAG-9: the Job of a child is found by looking at the child's name; no length is lost to a missing part."""
    assert re.fullmatch(rf"c{{44}}-7-{HASH}", job_name("c" * 63, "u", 7)) is None
    assert re.fullmatch(rf"c{{43}}-7-{HASH}", job_name("c" * 63, "u", 7))
    assert job_name("c", "u1", 7) != job_name("c", "u2", 7)
    assert job_name("c", "u1", 7) != job_name("c", "u1", 8)


@pytest.mark.rule("RUN-5")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("a", id="one-character"),
        pytest.param("Build_x-1.y", id="all-that-is-allowed"),
        pytest.param("a" * 63, id="longest"),
    ],
)
def test_a_label_value_stays_as_it_is(text):
    """RUN-5: what Kubernetes accepts is not changed."""
    assert label_value(text) == text


@pytest.mark.rule("RUN-5")
@pytest.mark.parametrize(
    ("text", "readable"),
    [
        pytest.param("a" * 64, "a" * 46 + "-", id="too-long"),
        pytest.param("a" * 45 + "." * 20, "a" * 45 + "-", id="not-cut-at-a-dot"),
        pytest.param("a b/c", "a-b-c-", id="other-characters"),
        pytest.param("_a", "a-", id="begins-badly"),
        pytest.param("a-", "a-", id="ends-badly"),
        pytest.param("-_.", "", id="nothing-readable"),
    ],
)
def test_any_other_text_gets_a_hash(text, readable):
    """RUN-5: a truncated or changed value is distinguished by its hash."""
    assert re.fullmatch(re.escape(readable) + HASH, label_value(text))
    assert LABEL_VALUE.fullmatch(label_value(text))


@pytest.mark.rule("RUN-5")
@settings(deadline=None, max_examples=50)
@given(st.text(max_size=300))
def test_label_values_are_always_accepted(text):
    """RUN-5: any text becomes a label value."""
    assert LABEL_VALUE.fullmatch(label_value(text))


@pytest.mark.rule("RUN-5")
def test_label_values_that_were_cut_stay_different():
    """RUN-5: two long texts that begin alike are two values."""
    assert label_value("a" * 100 + "x") != label_value("a" * 100 + "y")
    assert label_value("a b") != label_value("a/b")
