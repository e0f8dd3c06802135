"""From what the user wrote to a definition that can be planned, or to all its mistakes (DAG-1, DAG-2).

Problems are reported in order: steps by index, then entrypoint, parameters and outputs.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from jangar.api.not_built import STEP_FIELDS_NOT_BUILT, STEP_KINDS_NOT_BUILT
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
from jangar.domain.orchestration.graph import cycles, graph_of, sequential_needs
from jangar.domain.orchestration.message_text import Guesses, arrows, quoted
from jangar.domain.orchestration.parameters import declaration_problems, parameter_defaults
from jangar.domain.orchestration.templates import Template
from jangar.domain.orchestration.validation_references import Declared, Place, References
from jangar.kinds.registry import STEP_KINDS, step_adapter

_STEPS = Place(path=("spec", "steps"))
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?")


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
    cycle_of = _cycle_problems(names, needs)
    guesses = Guesses(_implemented_kinds())
    problems = checked.problems
    for index, step in enumerate(spec.steps):
        place = Place(path=("spec", "steps", index), step=step.name or None, index=index)
        problems.extend(name_problems(step.name, place, declared.steps, index))
        problems.extend(_kind_problems(step, place, guesses))
        problems.extend(_dependency_problems(step, place, declared))
        if index in cycle_of:
            problems.append(cycle_of[index])
        checked.conditions.append(
            None if step.when is None else references.condition(step.when, place.at("when"), problems)
        )
        checked.inputs.append(_inputs(step, place, references, problems))
        problems.extend(_duplicate_outputs(step.outputs or (), place))


def _inputs(step: Step, place: Place, references: References, problems: list[Problem]) -> dict[str, Template]:
    adapter = STEP_KINDS.get(step.kind)
    legacy_keys = adapter.references.legacy_keys(step) if adapter else frozenset()
    inputs: dict[str, Template] = {}
    for key, text in (step.with_ or {}).items():
        if key in legacy_keys:
            continue
        template = references.template(text, place.at("with", key), problems)
        if template is not None:
            inputs[key] = template
    return inputs


def name_problems(name: str, place: Place, first: Mapping[str, int], index: int) -> Iterator[Problem]:
    here = place.at("name")
    if not name.strip():
        yield here.problem(Reason.STEP_MISSING_NAME, "the step has no name", "give it a name")
        return
    if not _NAME.fullmatch(name):
        yield here.problem(
            Reason.INVALID_STEP_NAME,
            f"{quoted(name)} is not a valid step name",
            "use 1-63 letters, digits, - and _, beginning and ending with a letter or digit",
        )
    if (earlier := first[name]) != index:
        yield here.problem(
            Reason.DUPLICATE_STEP,
            f"steps[{earlier}] and steps[{index}] are both named {quoted(name)}",
            "give each step its own name",
        )


def _kind_problems(step: Step, place: Place, guesses: Guesses) -> Iterator[Problem]:
    """An unknown kind, or what the step's kind says about it."""
    here, adapter = place.at("kind"), STEP_KINDS.get(step.kind)
    if not step.kind.strip():
        fix = f"use one of {', '.join(_implemented_kinds())}"
        yield here.problem(Reason.STEP_MISSING_KIND, "the step has no kind", fix)
    elif adapter is None:
        fix = guesses.fix(step.kind, otherwise=f"use one of {', '.join(_implemented_kinds())}")
        yield here.problem(Reason.UNSUPPORTED_STEP, f"kind {quoted(step.kind)} is not supported", fix)
    else:
        for problem in adapter.validate(step):
            yield replace(problem, path=(*place.path, *problem.path), step=place.step)


def _implemented_kinds() -> list[str]:
    return [kind for kind in STEP_KINDS if kind not in STEP_KINDS_NOT_BUILT]


def not_built_steps(spec: OrchestrationSpec) -> Iterator[Problem]:
    """Problems of steps with a kind or a field that is not built (GATE-1). A run with one does not start."""
    for index, step in enumerate(spec.steps):
        at = Place(path=("spec", "steps", index), step=step.name or None, index=index)
        for name, unread in STEP_FIELDS_NOT_BUILT.items():
            if getattr(step, name) is not None:
                yield at.at(name).problem(Reason.NOT_BUILT, unread.message, unread.instead)
        if (row := STEP_KINDS_NOT_BUILT.get(step.kind)) is not None:
            yield at.at("kind").problem(Reason.UNSUPPORTED_STEP, row.message, row.instead)


def _dependency_problems(step: Step, place: Place, declared: Declared) -> Iterator[Problem]:
    for number, name in enumerate(step.depends_on or ()):
        here = place.at("dependsOn", number)
        if name == step.name:
            yield here.problem(
                Reason.INVALID_DEPENDENCY, f"step {quoted(name)} depends on itself", "remove the dependency"
            )
        elif name not in declared.steps:
            yield here.problem(
                Reason.MISSING_DEPENDENCY,
                f"depends on {quoted(name)}, which does not exist",
                declared.step_guesses.fix(name, otherwise="name a step of this orchestration"),
            )


def _cycle_problems(names: Sequence[str], needs: Sequence[Sequence[int]]) -> dict[int, Problem]:
    """One problem for each strongly connected component, by the smallest index in it."""
    problems: dict[int, Problem] = {}
    for cycle in cycles(needs):
        start = cycle[0]
        place = Place(path=("spec", "steps", start, "dependsOn"), step=names[start])
        problems[start] = place.problem(
            Reason.DEPENDENCY_CYCLE,
            f"dependency cycle: {arrows([names[index] for index in cycle])}",
            "remove one of these dependencies",
        )
    return problems


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
    return StepDefinition(
        index=index,
        name=step.name,
        kind=step.kind,
        needs=needs,
        target=step_adapter(step.kind).references.target(step),
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
