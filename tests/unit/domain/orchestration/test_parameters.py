"""DAG-2, DAG-11: parameters as declared and as given."""

import pytest

from jangar.api.orchestration import OrchestrationSpec
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.orchestration.parameters import (
    declaration_problems,
    parameter_defaults,
    resolve_parameters,
)


def declaring(*parameters):
    return OrchestrationSpec.model_validate({"parameters": list(parameters), "steps": []})


@pytest.mark.rule("DAG-11")
@pytest.mark.parametrize(
    ("declared", "given", "expected"),
    [
        pytest.param([], {}, {}, id="nothing"),
        pytest.param([], {"x": "1"}, {"x": "1"}, id="none-declared-takes-all"),
        pytest.param([{"name": "x"}], {"x": "1"}, {"x": "1"}, id="given"),
        pytest.param([{"name": "x"}], {}, {}, id="optional-without-default-has-no-value"),
        pytest.param([{"name": "x", "required": False}], {}, {}, id="not-required"),
        pytest.param([{"name": "x", "default": "d"}], {}, {"x": "d"}, id="default"),
        pytest.param([{"name": "x", "default": ""}], {}, {"x": ""}, id="empty-default"),
        pytest.param([{"name": "x", "default": "d"}], {"x": "1"}, {"x": "1"}, id="given-wins"),
        pytest.param([{"name": "x", "default": "d"}], {"x": ""}, {"x": ""}, id="empty-is-given"),
        pytest.param(
            [{"name": "x", "default": "d", "required": True}], {}, {"x": "d"}, id="default-meets-required"
        ),
        pytest.param([{"name": "x", "required": True}], {"x": ""}, {"x": ""}, id="required-and-given"),
        pytest.param([{"name": "x", "enum": ["a", "b"]}], {"x": "b"}, {"x": "b"}, id="allowed-value"),
        pytest.param([{"name": "x", "enum": ["a"]}], {}, {}, id="enum-of-what-is-not-given"),
        pytest.param([{"name": "x", "enum": []}], {"x": "z"}, {"x": "z"}, id="empty-enum-allows-all"),
    ],
)
def test_a_run_gets_its_values(declared, given, expected):
    """DAG-11: given values win over defaults; what neither gives has no value."""
    assert resolve_parameters(declaring(*declared), given) == expected


@pytest.mark.rule("DAG-11")
def test_values_come_in_declared_order_and_are_a_copy():
    """DAG-8: the same run always gives the same order."""
    spec = declaring({"name": "a", "default": "1"}, {"name": "b"}, {"name": "c", "default": "3"})
    assert list(resolve_parameters(spec, {"c": "x", "b": "y"}).items()) == [
        ("a", "1"),
        ("b", "y"),
        ("c", "x"),
    ]
    given = {"x": "1"}
    assert resolve_parameters(declaring(), given) is not given


@pytest.mark.rule("DAG-2")
def test_all_wrong_values_are_reported_at_once():
    """DAG-2: declared parameters in their order, then what is not declared in the order given."""
    spec = declaring(
        {"name": "env", "enum": ["dev", "prod"]}, {"name": "image", "required": True}, {"name": "count"}
    )
    assert resolve_parameters(spec, {"zzz": "1", "env": "test", "Image": "x"}) == [
        Problem(
            reason=Reason.INVALID_VALUE,
            path=("spec", "parameters", "env"),
            message='value "test" of parameter "env" is not allowed',
            fix='use one of "dev", "prod"',
        ),
        Problem(
            reason=Reason.MISSING_PARAMETER,
            path=("spec", "parameters", "image"),
            message='parameter "image" is required and has no value',
            fix="give it a value in the run's parameters",
        ),
        Problem(
            reason=Reason.UNDECLARED_PARAMETER,
            path=("spec", "parameters", "zzz"),
            message='parameter "zzz" is not declared by the orchestration',
            fix="declare it or remove it",
        ),
        Problem(
            reason=Reason.UNDECLARED_PARAMETER,
            path=("spec", "parameters", "Image"),
            message='parameter "Image" is not declared by the orchestration',
            fix='did you mean "image"?',
        ),
    ]


@pytest.mark.rule("DAG-2")
def test_wrong_declarations_are_reported_at_once():
    """DAG-2: a name declared twice and a default outside the enum."""
    spec = declaring(
        {"name": "a", "default": "x", "enum": ["y", "z"]},
        {"name": "b", "default": "y", "enum": ["y"]},
        {"name": "a"},
        {"name": "c", "default": "d", "required": True},
        {"name": "a", "default": "", "enum": ["q"]},
        {"name": "d", "default": "any", "enum": []},
        {"name": "e", "enum": ["q"]},
    )
    assert declaration_problems(spec) == [
        Problem(
            reason=Reason.INVALID_PARAMETER,
            path=("spec", "parameters", 0, "default"),
            message='default "x" of parameter "a" is not one of its values "y", "z"',
            fix="use one of the values or add the default to enum",
        ),
        Problem(
            reason=Reason.INVALID_PARAMETER,
            path=("spec", "parameters", 2, "name"),
            message='parameter "a" is declared by parameters[0] and parameters[2]',
            fix="remove one of them",
        ),
        Problem(
            reason=Reason.INVALID_PARAMETER,
            path=("spec", "parameters", 4, "name"),
            message='parameter "a" is declared by parameters[0] and parameters[4]',
            fix="remove one of them",
        ),
        Problem(
            reason=Reason.INVALID_PARAMETER,
            path=("spec", "parameters", 4, "default"),
            message='default "" of parameter "a" is not one of its values "q"',
            fix="use one of the values or add the default to enum",
        ),
    ]


@pytest.mark.rule("DAG-11")
@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(OrchestrationSpec(steps=[]), {}, id="none-declared"),
        pytest.param(
            declaring({"name": "a", "default": "1"}, {"name": "b"}, {"name": "c", "default": ""}),
            {"a": "1", "c": ""},
            id="those-with-a-default",
        ),
    ],
)
def test_defaults_are_values_a_run_need_not_give(spec, expected):
    """DAG-11: an empty default is a default."""
    assert parameter_defaults(spec) == expected
    assert declaration_problems(spec) == []
