"""An AgentProvider checked: what is wrong with it whatever run uses it. Pure."""

from collections.abc import Iterator

from jangar.api.agents.provider import AgentProviderSpec
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.domain.agentrun.templates import template_problem

_Path = tuple[str | int, ...]


def provider_problems(spec: AgentProviderSpec) -> list[Problem]:
    """Everything that is wrong, in the order of its fields."""
    problems = []
    if not spec.binary.strip():
        problems.append(_problem(("binary",), "binary is empty", "set the program to start"))
    for path, text in _texts(spec):
        if (wrong := template_problem(text)) is not None:
            problems.append(_problem(path, wrong, "write {{ parameters.NAME }}"))
    return problems


def _texts(spec: AgentProviderSpec) -> Iterator[tuple[_Path, str]]:
    for index, text in enumerate(spec.args_template or ()):
        yield ("argsTemplate", index), text
    for name, text in (spec.env_template or {}).items():
        yield ("envTemplate", name), text
    for index, file in enumerate(spec.input_files or ()):
        yield ("inputFiles", index, "path"), file.path
        yield ("inputFiles", index, "content"), file.content
    for index, artifact in enumerate(spec.output_artifacts or ()):
        for field in ("path", "key", "url"):
            yield ("outputArtifacts", index, field), getattr(artifact, field) or ""


def _problem(path: _Path, message: str, fix: str) -> Problem:
    return Problem(reason=Reason.INVALID_TEMPLATE, path=("spec", *path), message=message, fix=fix)
