"""The outputs that a run returns to its parent, rendered from its steps' outputs (DAG-11)."""

import json
from collections.abc import Mapping

from jangar.api.phases import Phase
from jangar.api.reasons import Reason
from jangar.domain.orchestration.definition import Definition
from jangar.domain.orchestration.outcome import Verdict
from jangar.domain.orchestration.outputs import MAX_BYTES
from jangar.domain.orchestration.scope import Scope
from jangar.domain.orchestration.templates import MissingInput, TooLarge, render


def run_outputs(
    definition: Definition, scope: Scope, success: Verdict
) -> tuple[Verdict, Mapping[str, str] | None]:
    """The outputs of a run that succeeded; an output without a value is omitted."""
    outputs: dict[str, str] = {}
    for name, template in definition.outputs.items():
        value = render(template, scope, most=MAX_BYTES)
        if isinstance(value, TooLarge):
            message = f"output {name} of the run is larger than {MAX_BYTES} bytes"
            return Verdict(phase=Phase.FAILED, reason=Reason.OUTPUTS_TOO_LARGE, message=message), None
        if not isinstance(value, MissingInput):
            outputs[name] = value
    size = len(json.dumps(outputs, ensure_ascii=False, separators=(",", ":")).encode())
    if outputs and size > MAX_BYTES:
        message = f"the outputs of the run are {size} bytes; at most {MAX_BYTES} are allowed"
        return Verdict(phase=Phase.FAILED, reason=Reason.OUTPUTS_TOO_LARGE, message=message), None
    return success, outputs or None
