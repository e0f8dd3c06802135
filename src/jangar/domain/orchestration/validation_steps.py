"""What is wrong with single steps and their edges: names, kinds, named objects, dependencies (DAG-2)."""

import re
from collections.abc import Iterator, Mapping, Sequence

from jangar.api.not_built import STEP_FIELDS_NOT_BUILT, STEP_KINDS_NOT_BUILT
from jangar.api.orchestration import OrchestrationSpec, Step
from jangar.api.phases import StepKind
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.orchestration.graph import cycles
from jangar.domain.orchestration.message_text import Guesses, arrows, quoted
from jangar.domain.orchestration.step_references import REQUIRED, has_reference
from jangar.domain.orchestration.validation_references import Declared, Place

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?")
_KINDS = {kind.value: kind for kind in StepKind}
_KIND_NAMES = ", ".join(item for item in _KINDS if item not in STEP_KINDS_NOT_BUILT)


def kind_of(step: Step) -> StepKind | None:
    """The kind, or None if it is not one of ours."""
    return _KINDS.get(step.kind)


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


def kind_problems(step: Step, place: Place, guesses: Guesses) -> Iterator[Problem]:
    here = place.at("kind")
    if not step.kind.strip():
        yield here.problem(Reason.STEP_MISSING_KIND, "the step has no kind", f"use one of {_KIND_NAMES}")
    elif kind_of(step) is None:
        yield here.problem(
            Reason.UNSUPPORTED_STEP,
            f"kind {quoted(step.kind)} is not supported",
            guesses.fix(step.kind, otherwise=f"use one of {_KIND_NAMES}"),
        )


def not_built_steps(spec: OrchestrationSpec) -> Iterator[Problem]:
    """Steps of a kind, or with a field, that is not built (GATE-1): nothing of the orchestration is started."""
    for index, step in enumerate(spec.steps):
        at = Place(path=("spec", "steps", index), step=step.name or None, index=index)
        for field, unread in STEP_FIELDS_NOT_BUILT.items():
            if getattr(step, field) is not None:
                yield at.at(field).problem(Reason.NOT_BUILT, unread.message, unread.instead)
        if (row := STEP_KINDS_NOT_BUILT.get(step.kind)) is not None:
            yield at.at("kind").problem(Reason.UNSUPPORTED_STEP, row.message, row.instead)


def kind_guesses() -> Guesses:
    """Guesses among the kinds, to be shared by the steps of one definition."""
    return Guesses(item for item in _KINDS if item not in STEP_KINDS_NOT_BUILT)


def reference_problems(step: Step, place: Place) -> Iterator[Problem]:
    kind = kind_of(step)
    for fields in REQUIRED[kind] if kind else ():
        if any(has_reference(step, field) for field in fields):
            continue
        unread = next((field for field in fields if field in (step.with_ or {})), None)
        if unread:
            yield place.at("with", unread).problem(
                Reason.MISSING_REFERENCE,
                f'with.{unread} is neither a name nor {{"name": ...}}',
                f"set {unread} on the step itself",
            )
        else:
            yield place.at(fields[0]).problem(
                Reason.MISSING_REFERENCE,
                f"a step of kind {step.kind} needs {' or '.join(fields)}",
                f"add {fields[0]}",
            )


def dependency_problems(step: Step, place: Place, declared: Declared) -> Iterator[Problem]:
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


def cycle_problems(names: Sequence[str], needs: Sequence[Sequence[int]]) -> dict[int, Problem]:
    """One problem for each knot of steps that need each other, by the smallest index in it."""
    found: dict[int, Problem] = {}
    for cycle in cycles(needs):
        start = cycle[0]
        place = Place(path=("spec", "steps", start, "dependsOn"), step=names[start])
        found[start] = place.problem(
            Reason.DEPENDENCY_CYCLE,
            f"dependency cycle: {arrows([names[index] for index in cycle])}",
            "remove one of these dependencies",
        )
    return found
