"""Legacy manifests are read without losing a field."""

import pytest
import yaml
from api_models import unknown_keys
from february_manifests import FEBRUARY
from latest_manifests import LATEST

from jangar.api.agents.agentrun import AgentRunSpec
from jangar.api.approvals import ApprovalPolicySpec
from jangar.api.budgets import BudgetSpec
from jangar.api.kinds import KINDS, by_api_version_and_kind

PARTS = [
    pytest.param(manifest, part, id=f"{era}-{manifest['kind']}-{part}")
    for era, text in (("february", FEBRUARY), ("latest", LATEST))
    for manifest in yaml.safe_load_all(text)
    for part in ("spec", "status")
    if part in manifest
]


@pytest.mark.parametrize(("manifest", "part"), PARTS)
def test_no_field_of_an_existing_manifest_is_lost(manifest, part):
    kind = by_api_version_and_kind(manifest["apiVersion"], manifest["kind"])
    model = getattr(kind, part)
    assert unknown_keys(model, manifest[part]) == []
    read = model.model_validate(manifest[part])
    if (
        kind.name != "Orchestration"
    ):  # its policies were open and never read; unknown ones stay in the object only
        assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == manifest[part]


def test_every_kind_is_covered():
    assert {param.values[0]["kind"] for param in PARTS} == {kind.name for kind in KINDS}


def test_an_unknown_key_is_noticed():
    """Else the test above would prove nothing."""
    spec = {
        "agentRef": {"name": "a", "nmae": "b"},
        "runtime": {"type": "job", "config": {"any": 1}},
        "prio": 1,
    }
    assert unknown_keys(AgentRunSpec, spec) == [".agentRef.nmae", ".prio"]


def test_unknown_fields_are_accepted_where_the_schema_is_open():
    assert unknown_keys(ApprovalPolicySpec, {"mode": "manual", "escalation": {"to": "lead"}}) == []


@pytest.mark.parametrize("amount", [5, "5", "500m"])
def test_amounts_may_be_numbers_or_quantities(amount):
    budget = BudgetSpec.model_validate({"limits": {"cpu": amount}})
    assert budget.model_dump(exclude_none=True) == {"limits": {"cpu": amount}}
