"""What templates and conditions of one run may see: its parameters and what its steps returned."""

from collections.abc import Mapping, Sequence

from jangar.domain.orchestration.definition import Condition, Definition, StepDefinition
from jangar.domain.orchestration.state import StepState


class Scope:
    """Looks values up where they are recorded; a missing one is None, never empty text."""

    __slots__ = ("_index", "_states", "definition", "parameters")

    def __init__(self, definition: Definition, given: Mapping[str, str], states: Sequence[StepState]) -> None:
        self.definition = definition
        self._states = states
        self._index: dict[str, int] = {}
        self.parameters = {**definition.parameter_defaults, **given}

    def parameter(self, name: str) -> str | None:
        return self.parameters.get(name)

    def output(self, step: str, name: str) -> str | None:
        index = self._places().get(step)
        if index is None:
            return None
        value = (self._states[index].outputs or {}).get(name)
        return value if value is not None else self.definition.steps[index].output_defaults.get(name)

    def bindings(self, step: StepDefinition, condition: Condition) -> dict[str, object]:
        """The variables of a `when`: parameters, and the steps it names or depends on."""
        names = condition.references("steps") & self._places().keys()
        seen = sorted({*(self._places()[name] for name in names), *step.needs})
        return {
            "parameters": self.parameters,
            "steps": {self._states[each].name: self._shown(each) for each in seen},
        }

    def _shown(self, index: int) -> dict[str, object]:
        state = self._states[index]
        outputs = {**self.definition.steps[index].output_defaults, **(state.outputs or {})}
        return {"phase": str(state.phase), "reason": str(state.reason), "outputs": outputs}

    def _places(self) -> dict[str, int]:
        if not self._index:
            self._index = {name: index for index, name in enumerate(self.definition.graph.names)}
        return self._index
