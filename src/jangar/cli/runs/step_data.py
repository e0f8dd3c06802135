"""Inputs and outputs of a run's steps as lines."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from jangar.cli.output.table import value_line
from jangar.cli.runs.reading import ReadRun
from jangar.domain.views.step_inputs import step_inputs


class StepData(NamedTuple):
    """What one step was given, and what it returned."""

    step: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]


def step_data(read: ReadRun) -> list[StepData]:
    """Of every step, in list order; nothing while the definition cannot be read."""
    if read.view is None:
        return []
    given = (read.obj.get("spec") or {}).get("parameters") or {}
    inputs = step_inputs(read.view, given)
    return [
        StepData(state.name, found, state.outputs or {})
        for state, found in zip(read.view.states, inputs, strict=True)
    ]


def data_lines(found: Iterable[StepData], *, width: int | None) -> list[str]:
    """A block for each step that has inputs or outputs, under a title; nothing if none has."""
    lines: list[str] = []
    for item in found:
        if item.inputs or item.outputs:
            lines += [f"  {item.step}", *one_step_lines(item, indent="    ", width=width)]
    return ["", "Inputs and outputs:", *lines] if lines else []


def one_step_lines(data: StepData, *, indent: str, width: int | None) -> list[str]:
    """`in   name=value` and `out  name=value`."""
    return [
        *(value_line(f"{indent}in   ", name, value, width=width) for name, value in data.inputs.items()),
        *(value_line(f"{indent}out  ", name, value, width=width) for name, value in data.outputs.items()),
    ]
