"""What a step names: its Agent, Tool, Orchestration, policy or signal.

Knows the typed fields and the older spelling inside `with` (a plain name or `{"name": ...}`), which counts
where the typed field is absent. Whether the named object exists is not known here.
"""

import json
import re

from jangar.api.meta import NameRef
from jangar.api.orchestration import Step
from jangar.api.phases import StepKind

_TYPED = {
    "agentRef": "agent_ref",
    "toolRef": "tool_ref",
    "orchestrationRef": "orchestration_ref",
    "policyRef": "policy_ref",
    "signalRef": "signal_ref",
    "deliveryId": "delivery_id",
    "implementationSpecRef": "implementation_spec_ref",
}
_PLAIN_NAME = re.compile(r"""[^\s{}"']+""")

IMPLEMENTATION = "implementation"

REQUIRED: dict[StepKind, tuple[tuple[str, ...], ...]] = {
    StepKind.AGENT_RUN: (("agentRef",), ("implementationSpecRef", IMPLEMENTATION)),
    StepKind.TOOL_RUN: (("toolRef",),),
    StepKind.SUB_ORCHESTRATION: (("orchestrationRef",),),
    StepKind.APPROVAL_GATE: (("policyRef",),),
    StepKind.SIGNAL_WAIT: (("signalRef", "deliveryId"),),
    StepKind.CHECKPOINT: (),
    StepKind.MEMORY_OP: (),
}
"""What each kind needs: of each group at least one field."""

_TARGETS = {
    StepKind.AGENT_RUN: "agentRef",
    StepKind.TOOL_RUN: "toolRef",
    StepKind.SUB_ORCHESTRATION: "orchestrationRef",
}


def reference_name(step: Step, field: str) -> str | None:
    """The name in one reference field, such as `policyRef`, from either spelling; None if there is none."""
    return _typed_name(step, field) or _legacy_name(step, field)


def target_name(step: Step, kind: StepKind) -> str | None:
    """Name of the Agent, Tool or Orchestration that the step's child runs; None for kinds without a child."""
    field = _TARGETS.get(kind)
    return reference_name(step, field) if field else None


def has_reference(step: Step, field: str) -> bool:
    """Whether one of the fields in `REQUIRED` is given."""
    if field == IMPLEMENTATION:
        given = step.implementation
        return given is not None and (given.inline is not None or bool(given.text))
    return reference_name(step, field) is not None


def legacy_reference_keys(step: Step, kind: StepKind) -> frozenset[str]:
    """Keys of `with` that were read as references of this step, and so are not parameters of its child."""
    fields = (field for group in REQUIRED[kind] for field in group if field != IMPLEMENTATION)
    return frozenset(
        field for field in fields if not _typed_name(step, field) and _legacy_name(step, field) is not None
    )


def _typed_name(step: Step, field: str) -> str | None:
    given = getattr(step, _TYPED[field])
    name = given.name if isinstance(given, NameRef) else given
    return (name or "").strip() or None


def _legacy_name(step: Step, field: str) -> str | None:
    given = (step.with_ or {}).get(field, "").strip()
    if given.startswith("{"):
        return _name_in_json(given)
    return given if _PLAIN_NAME.fullmatch(given) else None


def _name_in_json(text: str) -> str | None:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return None
    name = read.get("name") if isinstance(read, dict) else None
    return name.strip() or None if isinstance(name, str) else None
