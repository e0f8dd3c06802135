"""The inputs of each step of a run: its `with`, rendered."""

from collections.abc import Mapping
from typing import Final

from jangar.domain.orchestration.explain import RunView
from jangar.domain.orchestration.scope import Scope
from jangar.domain.orchestration.templates import render

MAX_SHOWN_BYTES: Final = 16 * 1024 * 1024
"""Maximum size of all rendered inputs of a run; beyond it, templates are shown as written."""


def step_inputs(run: RunView, parameters: Mapping[str, str]) -> tuple[Mapping[str, str], ...]:
    """In list order; empty for steps that have not started. An input without a value keeps its template."""
    scope = Scope(run.definition, parameters, run.states)
    left = MAX_SHOWN_BYTES
    found: list[dict[str, str]] = []
    for step, state in zip(run.definition.steps, run.states, strict=True):
        inputs: dict[str, str] = {}
        for name, template in step.inputs.items() if state.started_at else ():
            value = render(template, scope, most=left)
            inputs[name] = value if isinstance(value, str) else template.source
            left -= len(inputs[name]) if isinstance(value, str) else 0
        found.append(inputs)
    return tuple(found)
