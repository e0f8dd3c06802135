"""Step kinds without an implementation: validated like the others, refused by `api.not_built`, never started."""

from collections.abc import Mapping
from typing import Any, Final, Never

from jangar.api.not_built import STEP_KINDS_NOT_BUILT
from jangar.api.phases import StepKind
from jangar.kinds.run_objects import explain_work
from jangar.kinds.step_adapter import StepAdapter, StepView
from jangar.kinds.step_references import NO_REFERENCES, StepReferences

_REFERENCES: Final[Mapping[str, StepReferences]] = {
    StepKind.APPROVAL_GATE: StepReferences(required=(("policyRef",),)),
    StepKind.SIGNAL_WAIT: StepReferences(required=(("signalRef", "deliveryId"),)),
}


def _no_child(*_: Any) -> Never:
    raise AssertionError("the step creates no object")


def _adapter(name: str) -> StepAdapter:
    references = _REFERENCES.get(name, NO_REFERENCES)
    return StepAdapter(
        name=name,
        child=None,
        references=references,
        validate=references.problems,
        start=_no_child,
        observe=_no_child,
        outputs=_no_child,
        stop=_no_child,
        explain=explain_work,
        view=StepView(has_log=False),
    )


STEPS = tuple(_adapter(name) for name in STEP_KINDS_NOT_BUILT)
