"""DAG-14: step statuses of big runs are on pages."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jangar.domain.orchestration.child_names import owned_name
from jangar.domain.orchestration.status_document import PagedSteps, join_pages, page_name, split_steps

pytestmark = pytest.mark.rule("DAG-14")

MIB = 1024 * 1024


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
    "count", [pytest.param(0, id="none"), pytest.param(1, id="one"), pytest.param(500, id="500")]
)
def test_up_to_500_steps_are_all_in_the_status(count):
    """DAG-14: a run of up to 500 steps has no pages."""
    given = steps(count)
    assert split_steps(given) == PagedSteps(
        inline=tuple(given), omitted=0, pages=(), page_size=500, total=count
    )


def test_beyond_500_steps_every_step_is_on_a_page():
    """DAG-14: pages of 500 steps in list order, and nothing that ended well is in the status."""
    given = steps(1001)
    assert split_steps(given) == PagedSteps(
        inline=(),
        omitted=0,
        pages=(
            {"page": 0, "steps": given[:500]},
            {"page": 1, "steps": given[500:1000]},
            {"page": 2, "steps": given[1000:]},
        ),
        page_size=500,
        total=1001,
    )


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
    """DAG-14: beyond 500 steps the status keeps what people look for."""
    found = split_steps([document, *steps(500)])
    assert found.inline == ((document,) if inline else ())
    assert found.omitted == 0


def test_active_steps_come_before_failed_ones_when_not_all_fit():
    """DAG-14: at most 500 in the status, active ones first, shown in list order; the rest is counted."""
    given = [step(n, "Failed" if n % 2 else "Running") for n in range(700)]
    found = split_steps(given)
    assert names(found.inline) == [f"s{n}" for n in range(700) if n % 2 == 0 or n < 300]
    assert found.omitted == 200
    assert found.total == 700


def test_large_steps_are_on_pages_though_they_are_few():
    """DAG-14: every object stays below 1 MiB, so 500 steps that carry much do not all go into the status."""
    given = steps(500, phase="Running", outputs={"result": "x" * 4000})
    found = split_steps(given)
    assert 0 < len(found.inline) < 500
    assert found.omitted == 500 - len(found.inline)
    assert as_sent(found.inline) <= 700 * 1024 < as_sent([*found.inline, given[0]])
    assert join_pages(found.inline, found.pages) == given


def padded(count, size):
    """Steps that take exactly `size` bytes as one list."""
    given = steps(count)
    given[0]["message"] = ""
    given[0]["message"] = "x" * (size - as_sent(given))
    return given


@pytest.mark.parametrize(
    ("size", "paged"),
    [pytest.param(700 * 1024, False, id="fits"), pytest.param(700 * 1024 + 1, True, id="a-byte-more")],
)
def test_the_status_holds_700_kib_of_steps(size, paged):
    """DAG-14: the bound is exact."""
    assert bool(split_steps(padded(10, size)).pages) == paged


@pytest.mark.parametrize(
    ("extra", "page_size"),
    [pytest.param(0, 500, id="fits"), pytest.param(1, 250, id="a-byte-more-halves-the-pages")],
)
def test_a_page_holds_900_kib(extra, page_size):
    """DAG-14: pages are of one size, halved until each fits."""
    given = steps(1000)
    given[0]["message"] = ""
    given[0]["message"] = "x" * (900 * 1024 - as_sent({"page": 0, "steps": given[:500]}) + extra)
    found = split_steps(given)
    assert found.page_size == page_size
    assert [len(page["steps"]) for page in found.pages] == [page_size] * (1000 // page_size)


def test_one_step_is_a_page_at_least():
    """DAG-14: a step that fits nowhere is on a page of its own rather than lost."""
    given = [step(0, message="x" * MIB), step(1, message="y" * MIB)]
    found = split_steps(given)
    assert (found.inline, found.omitted, found.page_size) == ((), 0, 1)
    assert found.pages == ({"page": 0, "steps": given[:1]}, {"page": 1, "steps": given[1:]})


def test_page_boundaries_stay_when_steps_get_smaller():
    """DAG-14: with the page size of the last status, only pages whose steps changed are written again."""
    given = steps(600)
    found = split_steps(given, page_size=250)
    assert [len(page["steps"]) for page in found.pages] == [250, 250, 100]
    assert found.page_size == 250
    assert split_steps(steps(3), page_size=250).page_size == 250


@pytest.mark.parametrize(
    "character",
    [
        pytest.param("x", id="plain"),
        pytest.param('"', id="quotes"),
        pytest.param("é", id="not-ascii"),
        pytest.param("\0", id="control"),
    ],
)
def test_every_page_of_maximal_steps_is_below_1_mib(character):
    """DAG-14: messages and outputs at their limits, in the most verbose notation."""
    given = steps(600, phase="Failed", message=character * 1024, outputs={"result": character * 4096})
    found = split_steps(given)
    assert all(as_sent(page) < MIB for page in found.pages)
    assert as_sent(found.inline) < MIB
    assert join_pages(found.inline, found.pages) == given


def test_ten_thousand_steps_are_twenty_pages():
    """DAG-14: 10,000 steps in one run."""
    found = split_steps(steps(10_000, message="m" * 200, outputs={"result": "r" * 100}))
    assert len(found.pages) == 20


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
    found = split_steps(given)
    pages = list(found.pages)
    random.shuffle(pages)
    assert join_pages(found.inline, pages) == given
    assert found.total == len(given)


def test_the_name_of_a_page_is_a_function_of_run_and_number():
    """DAG-14: every face of the product finds the pages."""
    assert page_name("nightly", "u", 3) == owned_name("nightly", "u", "steps", 3)
    assert page_name("nightly", "u", 3).startswith("nightly-steps-3-")
