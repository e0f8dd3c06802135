"""A Tool checked, and filled in with the parameters of a run. Knows templates; knows no Job."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice

from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.api.tools import ToolSpec
from jangar.domain.job_execution.command import Command
from jangar.domain.orchestration.templates import (
    MissingInput,
    OutputRef,
    Template,
    TemplateProblem,
    TooLarge,
    parse_template,
    render_all,
)

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
        problems.append(_problem(("image",), "image is missing", "set the image that the tool runs in"))
    if not spec.command and not spec.args:
        problems.append(
            _problem(("command",), "command and args are both missing", "set what to run in the image")
        )
    return [
        *problems,
        *(
            template_problem
            for path, text in _texts(spec)
            for template_problem in _template_problems(path, text)
        ),
    ]


def command_of(spec: ToolSpec, parameters: Mapping[str, str]) -> Command | NoCommand:
    """What to start. A parameter that is used and not given, without a default, is never an empty string."""
    if problems := tool_problems(spec):
        return NoCommand(reason=Reason.INVALID_SPEC, message="; ".join(map(str, problems)))
    templates = {str(n): _template(text) for n, (_, text) in enumerate(_texts(spec))}
    rendered = render_all(templates, _Parameters(parameters))
    match rendered:
        case MissingInput(reference=reference):
            return NoCommand(reason=Reason.MISSING_INPUT, message=f"{reference} has no value and no default")
        case TooLarge():
            return NoCommand(reason=Reason.TOO_LARGE, message=str(rendered))
    filled = iter(rendered.values())
    return Command(
        image=spec.image or "",
        command=tuple(islice(filled, len(spec.command or ()))),
        args=tuple(islice(filled, len(spec.args or ()))),
        env={item.name: next(filled) for item in spec.env or ()},
        working_dir=spec.working_dir,
        service_account=spec.service_account,
        resources=spec.resources,
        grace=None if spec.grace_period_seconds is None else timedelta(seconds=spec.grace_period_seconds),
        is_first_process=False,
    )


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
    for reference in found.references:
        if isinstance(reference, OutputRef):
            yield _problem(
                path,
                f"{reference} is not available in a tool",
                "pass it as a parameter in the step's with",
                reason=Reason.INVALID_TEMPLATE,
            )


def _problem(path: _Path, message: str, fix: str, *, reason: Reason = Reason.INVALID_SPEC) -> Problem:
    return Problem(reason=reason, path=("spec", *path), message=message, fix=fix)


def _template(text: str) -> Template:
    """The text as a template; its problems were asked for before."""
    found = parse_template(text)
    return found if isinstance(found, Template) else Template(source=text, parts=(text,))
