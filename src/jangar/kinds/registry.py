"""The tables of step kinds and run kinds. A new kind is a folder, and an import and a row here."""

from collections.abc import Iterable
from typing import Final

from jangar.api.kind import Kind
from jangar.kinds.agent_run.run import RUN as AGENT_RUN
from jangar.kinds.agent_run.step import STEP as AGENT_RUN_STEP
from jangar.kinds.not_built.steps import STEPS as STEPS_NOT_BUILT
from jangar.kinds.orchestration_run.run import RUN as ORCHESTRATION_RUN
from jangar.kinds.orchestration_run.step import STEP as SUB_ORCHESTRATION_STEP
from jangar.kinds.step_adapter import StepAdapter
from jangar.kinds.tool_run.run import RUN as TOOL_RUN
from jangar.kinds.tool_run.step import STEP as TOOL_RUN_STEP


def _by_name(adapters: Iterable[StepAdapter]) -> dict[str, StepAdapter]:
    return {adapter.name: adapter for adapter in adapters}


STEP_KINDS: Final = _by_name(
    (
        AGENT_RUN_STEP,
        TOOL_RUN_STEP,
        SUB_ORCHESTRATION_STEP,
        *STEPS_NOT_BUILT,
    )
)
"""By the value of a step's `kind`."""

RUN_KINDS: Final = {
    run.name: run
    for run in (
        ORCHESTRATION_RUN,
        TOOL_RUN,
        AGENT_RUN,
    )
}
"""By name, owners before the runs they start: an owner is stopped first."""


def step_adapter(kind: str) -> StepAdapter:
    """The adapter of a step kind that was validated or read from a status."""
    return STEP_KINDS[kind]


def creates_child(kind: str) -> bool:
    """Whether an attempt of such a step creates an object. Other steps don't count against maxParallel."""
    return STEP_KINDS[kind].child is not None


def child_kinds() -> list[Kind]:
    """Kinds of the objects that steps create."""
    kinds = (adapter.child for adapter in STEP_KINDS.values())
    return list({kind.name: kind for kind in kinds if kind is not None}.values())


def adapter_of_child(kind: str | None) -> StepAdapter:
    """The first step kind that creates objects of this kind, else the first that creates any."""
    creating = [adapter for adapter in STEP_KINDS.values() if adapter.child is not None]
    return next((adapter for adapter in creating if adapter.child_name == kind), creating[0])
