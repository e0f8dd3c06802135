"""Strategies answer as a real server did: recorded.json holds its answers (see record.py)."""

import json
from pathlib import Path

import pytest

from unit.picokube.apiserver.strategies.answers import of_strategy

ROWS = json.loads(Path(__file__).with_name("recorded.json").read_text())

_STORED = "a warning says that nothing acts on it"

ACCEPTED: dict[str, str] = {
    **dict.fromkeys(
        (
            "deployment: plain", "deployment: recreate", "replica set: plain", "stateful set: plain",
            "daemon set: plain", "ingress: plain", "policy: plain", "policy: egress",
            "autoscaler: plain", "budget: plain", "storage class: plain",
            "quota: plain", "limits: plain", "validating hook: plain", "mutating hook: plain",
        ),
        _STORED,
    ),
}  # fmt: skip
"""Cases whose answer differs on purpose, and why."""


@pytest.mark.parametrize("row", [pytest.param(row, id=row["name"].replace(" ", "-")) for row in ROWS])
def test_answers_are_those_of_a_real_server(row):
    found = of_strategy(row["case"])
    if row["name"] in ACCEPTED:
        assert found != row["answer"], "no longer differs: remove it from ACCEPTED"
        assert found["code"] == row["answer"]["code"]
    else:
        assert found == row["answer"]
