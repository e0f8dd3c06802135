"""Strategies answer as a real server did: recorded.json holds its answers (see record.py)."""

import json
from pathlib import Path

import pytest
from unit.apiserver.strategies.answers import of_strategy

ROWS = json.loads(Path(__file__).with_name("recorded.json").read_text())

ACCEPTED: dict[str, str] = {}
"""Cases whose answer differs on purpose, and why."""


@pytest.mark.parametrize("row", [pytest.param(row, id=row["name"].replace(" ", "-")) for row in ROWS])
def test_answers_are_those_of_a_real_server(row):
    found = of_strategy(row["case"])
    if row["name"] in ACCEPTED:
        assert found != row["answer"], "no longer differs: remove it from ACCEPTED"
        assert found["code"] == row["answer"]["code"]
    else:
        assert found == row["answer"]
