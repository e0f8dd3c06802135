"""DAG-14: step statuses of big runs are on pages."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jangar.domain.orchestration.child_names import owned_name
from jangar.domain.orchestration.status_document import join_pages, page_name, shown_inline

pytestmark = pytest.mark.rule("DAG-14")


def step(number, phase="Succeeded", **more):
    return {"name": f"s{number}", "kind": "ToolRun", "phase": phase, **more}


def steps(count, **more):
    return [step(number, **more) for number in range(count)]


def names(documents):
    return [document["name"] for document in documents]


def as_sent(value):
    """The longest form: JSON within JSON, all ASCII."""
    return len(json.dumps(json.dumps(value)))


@pytest.mark.parametrize(
    ("document", "inline"),
    [
        pytest.param(step(0, "Pending"), False, id="pending"),
        pytest.param(step(0, "Pending", attempt=0), False, id="pending-before-the-first-attempt"),
        pytest.param(step(0, "Pending", attempt=None), False, id="pending-without-attempt"),
        pytest.param(step(0, "Pending", attempt=1), True, id="pending-with-an-attempt"),
        pytest.param(step(0, "Running", attempt=1), True, id="running"),
        pytest.param(step(0, "Retrying", attempt=1), True, id="retrying"),
        pytest.param(step(0, "Succeeded", attempt=1), False, id="succeeded"),
        pytest.param(step(0, "Failed", attempt=1), True, id="failed"),
        pytest.param(step(0, "Cancelled", attempt=1), True, id="cancelled"),
        pytest.param(step(0, "Skipped"), False, id="skipped"),
        pytest.param({"name": "s0", "kind": "ToolRun"}, False, id="no-phase-yet"),
    ],
)
def test_the_status_of_a_big_run_has_the_active_and_failed_steps(document, inline):
    """DAG-14: beyond 500 steps the status keeps the steps that users need most."""
    assert shown_inline([document, *steps(500)]) == ((document,) if inline else (), 0)


def test_active_steps_come_before_failed_ones_when_not_all_fit():
    """DAG-14: at most 500 in the status, active ones first, shown in list order; the rest is counted."""
    given = [step(n, "Failed" if n % 2 else "Running") for n in range(700)]
    inline, omitted = shown_inline(given)
    assert names(inline) == [f"s{n}" for n in range(700) if n % 2 == 0 or n < 300]
    assert omitted == 200


def test_the_status_holds_700_kib_of_steps():
    """DAG-14: every object stays below 1 MiB, so 500 steps that carry much do not all go into the status."""
    given = steps(500, phase="Running", outputs={"result": "x" * 4000})
    inline, omitted = shown_inline(given)
    assert 0 < len(inline) < 500
    assert omitted == 500 - len(inline)
    assert as_sent(inline) <= 700 * 1024 < as_sent([*inline, given[0]])


PHASES = ["Pending", "Running", "Retrying", "Succeeded", "Failed", "Skipped", "Cancelled"]


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.tuples(st.sampled_from(PHASES), st.text(max_size=5)), max_size=30),
    st.integers(1, 40),
    st.randoms(),
)
def test_pages_joined_are_the_steps(kinds, times, random):
    """DAG-14: nothing is lost or moved, in whatever order the pages are read."""
    given = [step(n, phase, message=text) for n, (phase, text) in enumerate(kinds * times)]
    starts = range(0, len(given), 7)
    pages = [{"page": number, "steps": given[start : start + 7]} for number, start in enumerate(starts)]
    random.shuffle(pages)
    assert join_pages(pages) == given


def test_the_name_of_a_page_is_a_function_of_run_and_number():
    """DAG-14: every face of the product finds the pages."""
    assert page_name("nightly", "u", 3) == owned_name("nightly", "u", "steps", 3)
    assert page_name("nightly", "u", 3).startswith("nightly-steps-3-")
