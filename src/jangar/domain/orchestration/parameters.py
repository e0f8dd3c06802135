"""The parameters of a run: declarations and resolved values."""

from collections.abc import Iterator, Mapping

from jangar.api.orchestration import OrchestrationSpec, Parameter
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.orchestration.message_text import Guesses, quoted, some_of


def declaration_problems(spec: OrchestrationSpec) -> list[Problem]:
    """Problems of the declarations, in list order."""
    problems: list[Problem] = []
    first: dict[str, int] = {}
    for index, parameter in enumerate(spec.parameters or ()):
        path = ("spec", "parameters", index)
        if (earlier := first.setdefault(parameter.name, index)) != index:
            problems.append(
                Problem(
                    reason=Reason.INVALID_PARAMETER,
                    path=(*path, "name"),
                    message=f"parameter {quoted(parameter.name)} is declared by parameters[{earlier}] and "
                    f"parameters[{index}]",
                    fix="remove one of them",
                )
            )
        if parameter.enum and parameter.default is not None and parameter.default not in parameter.enum:
            problems.append(
                Problem(
                    reason=Reason.INVALID_PARAMETER,
                    path=(*path, "default"),
                    message=f"default {quoted(parameter.default)} of parameter {quoted(parameter.name)} "
                    f"is not one of its values {some_of(parameter.enum)}",
                    fix="use one of the values or add the default to enum",
                )
            )
    return problems


def parameter_defaults(spec: OrchestrationSpec) -> dict[str, str]:
    """The defaults of the parameters."""
    return {
        parameter.name: parameter.default
        for parameter in spec.parameters or ()
        if parameter.default is not None
    }


def resolve_parameters(spec: OrchestrationSpec, given: Mapping[str, str]) -> dict[str, str] | list[Problem]:
    """The values of a run's parameters, or all their problems.

    A definition that declares none accepts all parameters. A declared parameter without a value and a default that
    is not required has no value: references to it are `MissingInput`.
    """
    declared = {item.name: item for item in spec.parameters or ()}
    if not declared:
        return dict(given)
    problems = [
        *(problem for parameter in declared.values() for problem in _value_problems(parameter, given)),
        *_undeclared(declared, given),
    ]
    if problems:
        return problems
    values = {**parameter_defaults(spec), **given}
    return {name: values[name] for name in declared if name in values}


def _value_problems(parameter: Parameter, given: Mapping[str, str]) -> Iterator[Problem]:
    path = ("spec", "parameters", parameter.name)
    value = given.get(parameter.name)
    if value is None:
        if parameter.required and parameter.default is None:
            yield Problem(
                reason=Reason.MISSING_PARAMETER,
                path=path,
                message=f"parameter {quoted(parameter.name)} is required and has no value",
                fix="give it a value in the run's parameters",
            )
    elif parameter.enum and value not in parameter.enum:
        yield Problem(
            reason=Reason.INVALID_VALUE,
            path=path,
            message=f"value {quoted(value)} of parameter {quoted(parameter.name)} is not allowed",
            fix=f"use one of {some_of(parameter.enum)}",
        )


def _undeclared(declared: Mapping[str, Parameter], given: Mapping[str, str]) -> Iterator[Problem]:
    guesses = Guesses(declared)
    for name in given:
        if name not in declared:
            yield Problem(
                reason=Reason.UNDECLARED_PARAMETER,
                path=("spec", "parameters", name),
                message=f"parameter {quoted(name)} is not declared by the orchestration",
                fix=guesses.fix(name, otherwise="declare it or remove it"),
            )
