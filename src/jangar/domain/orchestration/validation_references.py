"""Checks references in `with`, `when` and `outputs`: the parameter or the step must exist (DAG-2, DAG-11)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from jangar.api.orchestration import OrchestrationSpec
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.orchestration.definition import Condition, ConditionCompiler
from jangar.domain.orchestration.graph import ancestor_bits
from jangar.domain.orchestration.message_text import Guesses, quoted
from jangar.domain.orchestration.templates import OutputRef, Template, TemplateProblem, parse_template


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place of a field. Fields of a step may only refer to the step's ancestors."""

    path: tuple[str | int, ...]
    step: str | None = None
    index: int | None = None

    def at(self, *more: str | int) -> "Place":
        return Place(path=(*self.path, *more), step=self.step, index=self.index)

    def problem(self, reason: Reason, message: str, fix: str) -> Problem:
        return Problem(reason=reason, path=self.path, message=message, fix=fix, step=self.step)


class Declared:
    """The parameters and steps of a definition, to which references may point."""

    def __init__(
        self, spec: OrchestrationSpec, steps: Mapping[str, int], needs: Sequence[Sequence[int]]
    ) -> None:
        self.parameters = frozenset(parameter.name for parameter in spec.parameters or ())
        self.steps = steps
        self._needs = needs

    def is_ancestor(self, index: int, of: int) -> bool:
        return index != of and bool(self._ancestors[of] >> index & 1)

    @cached_property
    def _ancestors(self) -> list[int]:
        return ancestor_bits(self._needs)

    @cached_property
    def step_guesses(self) -> Guesses:
        return Guesses(self.steps)

    @cached_property
    def parameter_guesses(self) -> Guesses:
        return Guesses(sorted(self.parameters))


class References:
    """Parses the templates and conditions of one definition and collects their problems."""

    def __init__(self, declared: Declared, compile_condition: ConditionCompiler) -> None:
        self._declared = declared
        self._compile = compile_condition
        self._compiled: dict[str, Condition | ValueError] = {}

    def template(self, text: str, place: Place, problems: list[Problem]) -> Template | None:
        """The parsed text; None, and a problem, if it breaks the grammar."""
        parsed = parse_template(text)
        if isinstance(parsed, TemplateProblem):
            fix = 'write {{ parameters.NAME }} or {{ steps.STEP.outputs.NAME }}, with ?? "text" for a default'
            problems.append(place.problem(Reason.INVALID_TEMPLATE, str(parsed), fix))
            return None
        for reference in parsed.references:
            if isinstance(reference, OutputRef):
                problems.extend(self._step_problems(reference.step, place))
            else:
                problems.extend(self._parameter_problems(reference.name, place))
        return parsed

    def condition(self, source: str, place: Place, problems: list[Problem]) -> Condition | None:
        """The compiled condition; None, and a problem, if it does not compile."""
        compiled = self._condition(source)
        if isinstance(compiled, ValueError):
            fix = "write a CEL expression over parameters and steps, without braces"
            problems.append(place.problem(Reason.INVALID_CONDITION, f"not a condition: {compiled}", fix))
            return None
        for name in sorted(compiled.references("parameters")):
            problems.extend(self._parameter_problems(name, place))
        for name in sorted(compiled.references("steps")):
            problems.extend(self._step_problems(name, place))
        return compiled

    def _condition(self, source: str) -> Condition | ValueError:
        """The compiled condition, cached: steps often share one, and compiling is slow."""
        if source not in self._compiled:
            try:
                self._compiled[source] = self._compile(source)
            except ValueError as error:
                self._compiled[source] = error
        return self._compiled[source]

    def _parameter_problems(self, name: str, place: Place) -> Iterator[Problem]:
        declared = self._declared.parameters
        if declared and name not in declared:
            yield place.problem(
                Reason.UNDECLARED_PARAMETER,
                f"refers to parameter {quoted(name)}, which is not declared",
                self._declared.parameter_guesses.fix(name, otherwise="declare it in spec.parameters"),
            )

    def _step_problems(self, name: str, place: Place) -> Iterator[Problem]:
        index = self._declared.steps.get(name)
        if index is None:
            yield place.problem(
                Reason.MISSING_DEPENDENCY,
                f"refers to step {quoted(name)}, which does not exist",
                self._declared.step_guesses.fix(name, otherwise="name a step of this orchestration"),
            )
        elif place.index is not None and not self._declared.is_ancestor(index, place.index):
            yield place.problem(
                Reason.NOT_AN_ANCESTOR,
                f"refers to step {quoted(name)}, which is not an ancestor of this step",
                self._ancestor_fix(name, itself=index == place.index),
            )

    @staticmethod
    def _ancestor_fix(name: str, *, itself: bool) -> str:
        return "a step cannot use its own outputs" if itself else f"add {quoted(name)} to dependsOn"
