"""The reliability page counts the results that tests recorded, in any process."""

import pytest

from support.reliability_page import page, record_trials, rows, write_reliability_page


def reported(row, seeds, failures=0, bed="S"):
    result = []
    record_trials(
        lambda name, value: result.append((name, value)), row=row, bed=bed, seeds=seeds, failures=failures
    )
    return result


def test_parts_of_a_row_are_one_line():
    """Blocks may have run in different processes."""
    result = rows(
        [
            *reported("3: watches are cut", range(0, 1000, 2)),
            *reported("3: watches are cut", range(1, 1000, 2)),
        ]
    )
    assert [item.line() for item in result] == [
        "| 3: watches are cut | S | I2 I14 | 1,000 | 0 | 0.003 | 0 to 999 |"
    ]


def test_rows_follow_the_matrix():
    """By number, not alphabetically, and each bed separately."""
    given = ["10: late", "2: again", "1: killed", "3-7: all"]
    result = rows(
        [*(item for row in given for item in reported(row, [0])), *reported("1: killed", [4], bed="P")]
    )
    assert [(item.row, item.bed) for item in result] == [
        ("1: killed", "P"),
        ("1: killed", "S"),
        ("2: again", "S"),
        ("3-7: all", "S"),
        ("10: late", "S"),
    ]


def test_a_failure_gives_no_confidence_bound():
    assert (
        rows(reported("1: killed", range(10), failures=2))[0].line()
        == "| 1: killed | S | I1 I2 I3 I9 | 10 | 2 | - | 0 to 9 |"
    )


def test_the_page_names_machine_and_date():
    text = page(rows(reported("1: killed", range(10))), commit="abc", date="2026-01-01", machine="Linux")
    assert "Commit `abc`, 2026-01-01, Linux:\n10 trials, 0 failed." in text
    assert "| 1: killed | S | I1 I2 I3 I9 | 10 | 0 | 0.3 | 0 to 9 |\n" in text


class Report:
    def __init__(self, nodeid, properties=(), *, failed=False):
        self.nodeid, self.user_properties, self.failed, self.when = nodeid, list(properties), failed, "call"


class Terminal:
    def __init__(self, **stats):
        self.stats = stats

    def write_sep(self, *_):
        pass

    write_line = write_sep


@pytest.fixture(autouse=True)
def no_records(monkeypatch):
    """The results that these tests invent must not be counted."""
    monkeypatch.delenv("JANGAR_PROVE_RECORDS", raising=False)


def test_a_test_that_failed_before_it_counted_is_reported(tmp_path, monkeypatch):
    """Otherwise a page could report no failures."""
    target = tmp_path / "page.md"
    monkeypatch.setenv("JANGAR_PROVE_PAGE", str(target))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    good = Report("t.py::good", reported("1: killed", range(10)))
    bad, elsewhere = Report("t.py::bad", failed=True), Report("u.py::other", failed=True)
    write_reliability_page(Terminal(passed=[good], failed=[bad, elsewhere]))
    assert "Failed before it could count its trials: `t.py::bad`." in target.read_text()
    assert "u.py" not in target.read_text()


def test_beds_that_ran_one_after_another_are_on_one_page(tmp_path, monkeypatch):
    """One needs an idle machine for an hour, the other does not."""
    target = tmp_path / "page.md"
    monkeypatch.setenv("JANGAR_PROVE_PAGE", str(target))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.setenv("JANGAR_PROVE_RECORDS", str(tmp_path / "records"))
    monkeypatch.setattr("os.getpid", iter((1, 2)).__next__)
    write_reliability_page(Terminal(passed=[Report("t.py::one", reported("1: killed", range(10)))]))
    write_reliability_page(Terminal(passed=[Report("u.py::two", reported("1: killed", range(5), bed="P"))]))
    assert "15 trials, 0 failed." in target.read_text()


def test_a_worker_leaves_the_report_to_the_controller_process(tmp_path, monkeypatch):
    """Otherwise every trial would be counted twice."""
    target = tmp_path / "page.md"
    monkeypatch.setenv("JANGAR_PROVE_PAGE", str(target))
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    write_reliability_page(Terminal(passed=[Report("t.py::one", reported("1: killed", range(10)))]))
    assert not target.exists()
