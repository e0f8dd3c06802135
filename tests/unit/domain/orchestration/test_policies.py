"""Policies of a definition with the run's own on top (DAG-6, DAG-8, DAG-9, DAG-10)."""

from datetime import timedelta

import pytest

from jangar.api.orchestration import Policies
from jangar.domain.orchestration.definition import RunPolicies, policies_in_force

ALL = {"failFast": True, "maxParallel": 3, "timeouts": {"totalSeconds": 60}, "retries": 2}
ALL_IN_FORCE = RunPolicies(fail_fast=True, max_parallel=3, timeout=timedelta(minutes=1), retries=2)
OTHER = {"failFast": False, "maxParallel": 5, "timeouts": {"totalSeconds": 7}, "retries": 4}


def in_force(defined, overriding):
    return policies_in_force(
        None if defined is None else Policies.model_validate(defined),
        None if overriding is None else Policies.model_validate(overriding),
    )


@pytest.mark.rule("DAG-6", "DAG-8", "DAG-9", "DAG-10")
@pytest.mark.parametrize(
    ("defined", "overriding", "expected"),
    [
        pytest.param(None, None, RunPolicies(), id="nothing-said"),
        pytest.param({}, {}, RunPolicies(), id="nothing-said-twice"),
        pytest.param(ALL, None, ALL_IN_FORCE, id="the-definitions"),
        pytest.param(None, ALL, ALL_IN_FORCE, id="the-runs"),
        pytest.param(OTHER, ALL, ALL_IN_FORCE, id="the-runs-win"),
        pytest.param(ALL, {}, ALL_IN_FORCE, id="the-definitions-where-the-run-says-nothing"),
        pytest.param(ALL, {"timeouts": {}}, ALL_IN_FORCE, id="an-empty-group-says-nothing"),
    ],
)
def test_the_runs_own_value_wins_field_by_field(defined, overriding, expected):
    """DAG-8: the run's value, else the definition's, else the default."""
    assert in_force(defined, overriding) == expected


@pytest.mark.rule("DAG-8")
@pytest.mark.parametrize(
    ("overriding", "expected"),
    [
        pytest.param({"failFast": False}, {"fail_fast": False}, id="fail-fast"),
        pytest.param({"maxParallel": 0}, {"max_parallel": None}, id="max-parallel"),
        pytest.param({"timeouts": {"totalSeconds": 0}}, {"timeout": None}, id="total-seconds"),
        pytest.param({"retries": 0}, {"retries": 0}, id="retries"),
    ],
)
def test_a_run_can_take_each_policy_back(overriding, expected):
    """DAG-8: 0 and false are values, not silence; 0 bounds nothing."""
    full = {"fail_fast": True, "max_parallel": 3, "timeout": timedelta(minutes=1), "retries": 2}
    assert in_force(ALL, overriding) == RunPolicies(**(full | expected))


def test_by_default_nothing_is_bounded_or_repeated():
    """DAG-8: maxParallel is unlimited by default."""
    assert RunPolicies() == RunPolicies(fail_fast=False, max_parallel=None, timeout=None, retries=0)
