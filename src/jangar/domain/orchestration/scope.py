"""The values that templates and conditions of a run can read: parameters and outputs of steps."""

from collections.abc import Mapping, Sequence

from jangar.domain.orchestration.definition import Condition, Definition, StepDefinition
from jangar.domain.orchestration.state import StepState

MAX_CONDITION_VALUE_BYTES = 64 * 1024
"""The largest value that a `when` can read (AGENT-2)."""


class Scope:
    """Looks up recorded values; a missing value is None, never empty text."""

    __slots__ = ("_index", "_states", "definition", "parameters")

    def __init__(self, definition: Definition, given: Mapping[str, str], states: Sequence[StepState]) -> None:
        self.definition = definition
        self._states = states
        self._index: dict[str, int] = {}
        self.parameters = {**definition.parameter_defaults, **given}

    def parameter(self, name: str) -> str | None:
        return self.parameters.get(name)

    def output(self, step: str, name: str) -> str | None:
        index = self._index_by_name().get(step)
        if index is None:
            return None
        value = (self._states[index].outputs or {}).get(name)
        return value if value is not None else self.definition.steps[index].output_defaults.get(name)

    def bindings(self, step: StepDefinition, condition: Condition) -> dict[str, object]:
        """The variables of a `when`: parameters, and the steps it names or depends on.

        Raises ValueError for a value that is too large for a condition.
        """
        names = condition.references("steps") & self._index_by_name().keys()
        visible_steps = sorted({*(self._index_by_name()[name] for name in names), *step.needs})
        named = self.parameters.keys() & condition.references("parameters")
        needs_all_parameters = condition.uses_whole("parameters")
        visible = (
            self.parameters
            if needs_all_parameters
            else {name: self.parameters[name] for name in sorted(named)}
        )
        for name, value in visible.items():
            _refuse_large(f"parameters.{name}", value)
        steps = {self._states[item].name: self._step_binding(item) for item in visible_steps}
        return {"parameters": visible, "steps": steps}

    def _step_binding(self, index: int) -> dict[str, object]:
        state = self._states[index]
        outputs = {**self.definition.steps[index].output_defaults, **(state.outputs or {})}
        for name, value in outputs.items():
            _refuse_large(f"steps.{state.name}.outputs.{name}", value)
        return {"phase": str(state.phase), "reason": str(state.reason), "outputs": outputs}

    def _index_by_name(self) -> dict[str, int]:
        if not self._index:
            self._index = {name: index for index, name in enumerate(self.definition.graph.names)}
        return self._index


def _refuse_large(path: str, value: str) -> None:
    if len(value) * 4 > MAX_CONDITION_VALUE_BYTES and (size := len(value.encode(errors="replace"))) > (
        MAX_CONDITION_VALUE_BYTES
    ):
        raise ValueError(
            f"{path} has {size:,} bytes; a condition can read at most {MAX_CONDITION_VALUE_BYTES:,} bytes"
        )
