"""The table of values whose feature is not built."""

import json

import pytest
import yaml
from chart_render import CHART

from jangar.api.not_built import KINDS_NOT_BUILT


@pytest.mark.rule("CHART-6")
def test_every_row_names_a_value_that_is_not_built():
    """B13: remove a feature from the table when it is built."""
    rows = yaml.safe_load((CHART / "not-built.yaml").read_text())
    absent = {load["value"] for load in json.loads((CHART / "files" / "not-built.json").read_text())}
    stale = [
        row["value"]
        for row in rows
        if not any(value == row["value"] or value.startswith(f"{row['value']}.") for value in absent)
    ]
    assert stale == []


@pytest.mark.rule("GATE-1")
def test_rows_about_kinds_agree_with_the_table_in_code():
    """B1: remove a kind from this table together with the one in the code."""
    rows = {item["value"]: item["reason"] for item in yaml.safe_load((CHART / "not-built.yaml").read_text())}
    kinds = {kind for kind in KINDS_NOT_BUILT if any(f"{kind}s do" in reason for reason in rows.values())}
    assert kinds == {"Schedule", "Swarm"}
    assert "ImplementationSource" in KINDS_NOT_BUILT or "controller.webhook" not in rows
