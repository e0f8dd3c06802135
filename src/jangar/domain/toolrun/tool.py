"""A Tool checked, and filled in with the parameters of a run. Knows templates; knows no Job."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.api.tools import ToolSpec
from jangar.domain.orchestration.templates import (
    MissingInput,
    OutputRef,
    Template,
    TemplateProblem,
    parse_template,
    render,
)
from jangar.domain.work.command import Command

_Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCommand:
    """Why a tool cannot be started with these parameters."""

    reason: Reason
    message: str


def tool_problems(spec: ToolSpec) -> list[Problem]:
    """Everything that is wrong with a tool, in the order of its fields."""
    problems: list[Problem] = []
    if not (spec.image or "").strip():
        problems.append(_problem(("image",), "there is no image", "name the image that the tool runs in"))
    if not spec.command and not spec.args:
        problems.append(
            _problem(("command",), "there is neither a command nor args", "say what to run in the image")
        )
    return [*problems, *(each for path, text in _texts(spec) for each in _template_problems(path, text))]


def command_of(spec: ToolSpec, parameters: Mapping[str, str]) -> Command | NoCommand:
    """What to start. A parameter that is used and not given, without a default, is never an empty string."""
    if problems := tool_problems(spec):
        return NoCommand(reason=Reason.INVALID_SPEC, message="; ".join(map(str, problems)))
    scope = _Parameters(parameters)
    try:
        return Command(
            image=spec.image or "",
            command=_filled(spec.command, scope),
            args=_filled(spec.args, scope),
            env={each.name: _fill(each.value, scope) for each in spec.env or ()},
            working_dir=spec.working_dir,
            service_account=spec.service_account,
            resources=spec.resources,
        )
    except _MissingError as error:
        return NoCommand(
            reason=Reason.MISSING_INPUT, message=f"{error.missing.reference} has no value and no default"
        )


class _MissingError(Exception):
    def __init__(self, missing: MissingInput) -> None:
        super().__init__()
        self.missing = missing


@dataclass(frozen=True, slots=True)
class _Parameters:
    given: Mapping[str, str]

    def parameter(self, name: str) -> str | None:
        """Kubernetes reads `$(NAME)` and `$$` in commands and variables: a value that is filled in stays data."""
        value = self.given.get(name)
        return None if value is None else value.replace("$", "$$")

    def output(self, step: str, name: str) -> str | None:  # noqa: ARG002 - a tool sees no steps
        return None


def _texts(spec: ToolSpec) -> Iterator[tuple[_Path, str]]:
    for field, texts in (("command", spec.command), ("args", spec.args)):
        for index, text in enumerate(texts or ()):
            yield (field, index), text
    for index, variable in enumerate(spec.env or ()):
        yield ("env", index, "value"), variable.value


def _template_problems(path: _Path, text: str) -> Iterator[Problem]:
    found = parse_template(text)
    if isinstance(found, TemplateProblem):
        yield _problem(path, str(found), "write {{ parameters.NAME }}", reason=Reason.INVALID_TEMPLATE)
        return
    for each in found.references:
        if isinstance(each, OutputRef):
            yield _problem(
                path,
                f"{each} is not known to a tool",
                "give it as a parameter in the step's with",
                reason=Reason.INVALID_TEMPLATE,
            )


def _problem(path: _Path, message: str, fix: str, *, reason: Reason = Reason.INVALID_SPEC) -> Problem:
    return Problem(reason=reason, path=("spec", *path), message=message, fix=fix)


def _filled(texts: Sequence[str] | None, scope: _Parameters) -> tuple[str, ...]:
    return tuple(_fill(text, scope) for text in texts or ())


def _fill(text: str, scope: _Parameters) -> str:
    template = parse_template(text)
    if not isinstance(template, Template):
        return text
    rendered = render(template, scope)
    if isinstance(rendered, MissingInput):
        raise _MissingError(rendered)
    return rendered
