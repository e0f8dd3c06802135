"""docs/security.md names a test for each claim, and the test exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "security.md"
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def rows():
    """Rows of the tables that have a test column."""
    has_tests = False
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            has_tests = False
        elif cells[-1] == "test":
            has_tests = True
        elif has_tests and not set(line) <= set("|- "):
            yield pytest.param(cells[-1], id=cells[0])


@pytest.mark.parametrize("cell", [*rows()])
def test_every_claim_names_a_test_that_exists(cell):
    """A claim without a test, or with a renamed one, fails."""
    named = TEST.findall(cell)
    assert named, "no test is named"
    for path, name in named:
        assert f"def {name}(" in (ROOT / path).read_text(), f"{path} has no {name}"


def test_the_page_has_its_tables():
    """The checks and the effect of each permission."""
    assert len(list(rows())) >= 20
