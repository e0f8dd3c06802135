"""From what the user wrote to a definition that can be planned, or to all its mistakes (DAG-1, DAG-2).

Problems are reported in order: steps by index, then entrypoint, parameters and outputs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from jangar.api.orchestration import (
    MAX_STEPS,
    DeclaredOutput,
    OrchestrationSpec,
    Policies,
    ReturnedOutput,
    Step,
)
from jangar.api.phases import ExecutionMode, OnJobMissing
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.orchestration.definition import Condition, ConditionCompiler, Definition, StepDefinition
from jangar.domain.orchestration.graph import graph_of, sequential_needs
from jangar.domain.orchestration.message_text import quoted
from jangar.domain.orchestration.parameters import declaration_problems, parameter_defaults
from jangar.domain.orchestration.step_references import legacy_reference_keys, target_name
from jangar.domain.orchestration.templates import Template
from jangar.domain.orchestration.validation_references import Declared, Place, References
from jangar.domain.orchestration.validation_steps import (
    cycle_problems,
    dependency_problems,
    kind_guesses,
    kind_of,
    kind_problems,
    name_problems,
    reference_problems,
)

_STEPS = Place(path=("spec", "steps"))


def define(spec: OrchestrationSpec, *, compile_condition: ConditionCompiler) -> Definition | list[Problem]:
    """The definition ready to be planned, or all problems at once."""
    checked = _checked(spec, compile_condition)
    return checked.problems or _definition(spec, checked)


def definition_problems(spec: OrchestrationSpec, *, compile_condition: ConditionCompiler) -> list[Problem]:
    """All that is wrong with a definition, each with its field; status shows the first one's reason."""
    return _checked(spec, compile_condition).problems


def execution_mode(spec: OrchestrationSpec) -> ExecutionMode:
    """A list, unless any step has the key `dependsOn`, even if it is empty."""
    listed = all(step.depends_on is None for step in spec.steps)
    return ExecutionMode.SEQUENTIAL if listed else ExecutionMode.GRAPH


@dataclass(slots=True, kw_only=True)
class _Checked:
    """Results of validation, kept to parse nothing twice."""

    problems: list[Problem] = field(default_factory=list)
    needs: Sequence[Sequence[int]] = ()
    conditions: list[Condition | None] = field(default_factory=list)
    inputs: list[Mapping[str, Template]] = field(default_factory=list)
    outputs: dict[str, Template] = field(default_factory=dict)


def _checked(spec: OrchestrationSpec, compile_condition: ConditionCompiler) -> _Checked:
    if len(spec.steps) > MAX_STEPS:
        message = f"{len(spec.steps)} steps are more than {MAX_STEPS}"
        return _Checked(
            problems=[_STEPS.problem(Reason.TOO_LARGE, message, "split it into sub-orchestrations")]
        )
    first: dict[str, int] = {}
    for index, step in enumerate(spec.steps):
        first.setdefault(step.name, index)
    checked = _Checked(needs=_needs(spec, first))
    declared = Declared(spec, first, checked.needs)
    references = References(declared, compile_condition)
    if not spec.steps:
        checked.problems.append(
            _STEPS.problem(Reason.MISSING_STEPS, "there are no steps", "add at least one step")
        )
    _check_steps(spec, declared, references, checked)
    checked.problems.extend(_entrypoint_problems(spec, declared))
    checked.problems.extend(declaration_problems(spec))
    _check_outputs(spec, references, checked)
    return checked


def _needs(spec: OrchestrationSpec, first: Mapping[str, int]) -> Sequence[Sequence[int]]:
    """The edges as far as they make sense: unknown names and a step's own are left out."""
    if execution_mode(spec) is ExecutionMode.SEQUENTIAL:
        return sequential_needs(len(spec.steps))
    return [
        [first[name] for name in step.depends_on or () if name in first and name != step.name]
        for step in spec.steps
    ]


def _needs_by_name(
    names: Sequence[str], first: Mapping[str, int], needs: Sequence[Sequence[int]]
) -> Sequence[Sequence[int]]:
    """The edges with steps of one name taken for one: a name that is used twice does not hide a cycle."""
    if len(first) == len(names):
        return needs
    joined: list[list[int]] = [[] for _ in names]
    for index, name in enumerate(names):
        joined[first[name]] += [item for item in needs[index] if item != first[name]]
    return joined


def _check_steps(
    spec: OrchestrationSpec, declared: Declared, references: References, checked: _Checked
) -> None:
    names = [step.name for step in spec.steps]
    is_graph = execution_mode(spec) is ExecutionMode.GRAPH
    needs = _needs_by_name(names, declared.steps, checked.needs) if is_graph else checked.needs
    circles = cycle_problems(names, needs)
    guesses = kind_guesses()
    problems = checked.problems
    for index, step in enumerate(spec.steps):
        place = Place(path=("spec", "steps", index), step=step.name or None, index=index)
        problems.extend(name_problems(step.name, place, declared.steps, index))
        problems.extend(kind_problems(step, place, guesses))
        problems.extend(reference_problems(step, place))
        problems.extend(dependency_problems(step, place, declared))
        if index in circles:
            problems.append(circles[index])
        checked.conditions.append(
            None if step.when is None else references.condition(step.when, place.at("when"), problems)
        )
        checked.inputs.append(_inputs(step, place, references, problems))
        problems.extend(_duplicate_outputs(step.outputs or (), place))


def _inputs(step: Step, place: Place, references: References, problems: list[Problem]) -> dict[str, Template]:
    kind = kind_of(step)
    spent = legacy_reference_keys(step, kind) if kind else frozenset()
    found: dict[str, Template] = {}
    for key, text in (step.with_ or {}).items():
        if key in spent:
            continue
        template = references.template(text, place.at("with", key), problems)
        if template is not None:
            found[key] = template
    return found


def _duplicate_outputs(outputs: Sequence[DeclaredOutput | ReturnedOutput], place: Place) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for index, output in enumerate(outputs):
        if (earlier := first.setdefault(output.name, index)) != index:
            yield place.at("outputs", index, "name").problem(
                Reason.INVALID_VALUE,
                f"output {quoted(output.name)} is declared by outputs[{earlier}] and outputs[{index}]",
                "remove one of them",
            )


def _entrypoint_problems(spec: OrchestrationSpec, declared: Declared) -> Iterator[Problem]:
    if spec.entrypoint and spec.entrypoint not in declared.steps:
        yield Place(path=("spec", "entrypoint")).problem(
            Reason.ENTRYPOINT_MISSING,
            f"entrypoint {quoted(spec.entrypoint)} is not a step",
            declared.step_guesses.fix(spec.entrypoint, otherwise="name a step or remove the entrypoint"),
        )


def _check_outputs(spec: OrchestrationSpec, references: References, checked: _Checked) -> None:
    place = Place(path=("spec",))
    checked.problems.extend(_duplicate_outputs(spec.outputs or (), place))
    for index, output in enumerate(spec.outputs or ()):
        template = references.template(output.value, place.at("outputs", index, "value"), checked.problems)
        if template is not None:
            checked.outputs[output.name] = template


def _definition(spec: OrchestrationSpec, checked: _Checked) -> Definition:
    graph = graph_of([step.name for step in spec.steps], checked.needs)
    if graph is None:
        raise AssertionError("a cycle is a problem, and there was none")
    steps = tuple(
        _step_definition(index, step, graph.needs[index], checked) for index, step in enumerate(spec.steps)
    )
    return Definition(
        mode=execution_mode(spec),
        graph=graph,
        steps=steps,
        outputs=checked.outputs,
        policies=spec.policies or Policies(),
        declares_parameters=bool(spec.parameters),
        parameter_defaults=parameter_defaults(spec),
    )


def _step_definition(index: int, step: Step, needs: tuple[int, ...], checked: _Checked) -> StepDefinition:
    kind = kind_of(step)
    if kind is None:
        raise AssertionError("an unknown kind is a problem, and there was none")
    return StepDefinition(
        index=index,
        name=step.name,
        kind=kind,
        needs=needs,
        target=target_name(step, kind),
        when=checked.conditions[index],
        continue_on_failure=bool(step.continue_on_failure),
        retries=step.retries,
        retry_backoff=timedelta(seconds=step.retry_backoff_seconds or 0),
        timeout=timedelta(seconds=step.timeout_seconds) if step.timeout_seconds else None,
        on_job_missing=step.on_job_missing or OnJobMissing.FAIL,
        inputs=checked.inputs[index],
        output_defaults={
            output.name: output.default for output in step.outputs or () if output.default is not None
        },
        source=step,
    )
