"""Lists of runs: filters, order and pages."""

from datetime import UTC, datetime

import pytest

from jangar.api.phases import Phase
from jangar.operations.run_list import BadCursor, RunFilter, page, parse_cursor


def row(number, **fields):
    made = {
        "namespace": "n",
        "name": f"run-{number}",
        "uid": f"{number:03}",
        "orchestration": "nightly",
        "phase": "Running",
        "reason": "",
        "message": "",
        "createdAt": f"2026-02-07T00:00:{number // 2:02}Z",
        "parent": None,
    }
    return made | fields


def test_pages_meet_without_gap_or_overlap():
    """Also if two runs were created in one second."""
    rows = [row(number) for number in range(9, -1, -1)]
    found, after = [], None
    while True:
        items, cursor = page(rows, RunFilter(), after=after, limit=3)
        found += items
        if cursor is None:
            break
        after = parse_cursor(cursor)
    assert found == rows


def test_a_run_that_comes_meanwhile_moves_no_page():
    """A cursor names a row, not a number of rows."""
    rows = [row(number) for number in range(5, -1, -1)]
    first, cursor = page(rows, RunFilter(), after=None, limit=2)
    rest, _ = page([row(9), *rows], RunFilter(), after=parse_cursor(cursor), limit=10)
    assert [*first, *rest] == rows


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        pytest.param(RunFilter(), ["run-3", "run-2", "run-0"], id="nested-runs-are-left-out"),
        pytest.param(RunFilter(nested=True), ["run-3", "run-2", "run-1", "run-0"], id="unless-asked-for"),
        pytest.param(RunFilter(phases=frozenset({Phase.FAILED})), ["run-2"], id="phase"),
        pytest.param(RunFilter(text="DISK"), ["run-2"], id="text-in-the-message"),
        pytest.param(RunFilter(orchestration="weekly"), ["run-3"], id="orchestration"),
        pytest.param(RunFilter(namespaces=frozenset()), [], id="no-namespace-may-be-seen"),
        pytest.param(
            RunFilter(since=datetime(2026, 2, 7, 0, 0, 1, tzinfo=UTC)),
            ["run-3", "run-2"],
            id="created-since",
        ),
    ],
)
def test_a_filter_lets_through_what_it_says(wanted, names):
    """Each field of the filter alone."""
    rows = [
        row(3, orchestration="weekly"),
        row(2, phase="Failed", message="the disk is full"),
        row(1, parent="run-3"),
        row(0),
    ]
    assert [item["name"] for item in page(rows, wanted, after=None, limit=10)[0]] == names


@pytest.mark.parametrize("text", ["", "x", "AAAA", "Cg", "🙂"])
def test_what_is_no_cursor_is_refused(text):
    """With BadCursor."""
    with pytest.raises(BadCursor):
        parse_cursor(text)
