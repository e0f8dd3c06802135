"""The protocol of a step kind. The planner, lint, the controllers, the CLI and the server ask it; none compares kinds.

The fields without a default are required. The others are abilities that a kind may leave out.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jangar.api.kind import Kind
from jangar.api.meta import JsonObject
from jangar.api.orchestration import Step
from jangar.api.phases import Phase
from jangar.api.problems import Problem
from jangar.api.reasons import Reason
from jangar.kinds.step_references import NO_REFERENCES, StepReferences

Obj = Mapping[str, Any]
"""An object as JSON, with its metadata."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildReport:
    """What the planner needs from a child's spec and status."""

    phase: Phase
    reason: str = ""
    message: str = ""
    finished_at: str | None = None
    """RFC 3339."""
    exit_code: int | None = None
    suspended: bool = False
    stop_requested: bool = False
    """The request to stop has reached its spec."""
    left_behind: bool = False
    """It ended, but its own work had not ended at the deadline and may still be running."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """How the CLI, the HTTP API and the page show a step of the kind."""

    opens_run: bool = False
    """The child is a run with steps of its own, shown as a tree below the step."""
    has_log: bool = True
    """The child has a log of its own."""
    no_child: str = "the step has not run"
    """Why there is no log while there is no child; the explanation of the step follows."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepAdapter:
    """One step kind."""

    name: str
    """Value of a step's `kind`."""
    child: Kind | None
    """Kind of the object that an attempt creates. Steps without one don't count against maxParallel."""
    validate: Callable[[Step], Iterable[Problem]]
    """What is wrong with a step, with paths relative to it."""
    start: Callable[[Step | None, str | None, Mapping[str, str]], JsonObject]
    """The child's spec, from the step as written, the object it names and the rendered parameters."""
    observe: Callable[[Obj], ChildReport]
    """What the planner needs from the child. A child without a status is Pending."""
    outputs: Callable[[Obj], Mapping[str, str] | None]
    """The child's outputs, which later steps can use."""
    stop: Callable[[Mapping[str, str]], JsonObject]
    """Merge patch that requests a stop. It gets the annotations with the stop's reason and deadline."""
    explain: Callable[[str | None], str]
    """What an attempt does, as the subject of a sentence. It gets the name of the object that the step names."""
    view: StepView

    references: StepReferences = NO_REFERENCES
    """Objects that the step names."""
    called_orchestration: Callable[[Step], str | None] | None = None
    """The Orchestration that the step runs: checked for recursion, waited for by the definition."""
    refuse_start: Callable[[str | None, tuple[str, ...], int], tuple[Reason, str] | None] | None = None
    """Why a run may not start the step, from the named object, the run's lineage and the maximum depth."""
    suspend: Callable[[bool], JsonObject] | None = None
    """Merge patch that suspends or resumes the child together with its run."""
    not_run_here: str = "this controller does not run objects of this kind"
    """Message of a step that waits because the controller does not run the child's kind."""

    @property
    def child_name(self) -> str:
        """Kind of the child; the step's own kind if it creates none."""
        return self.child.name if self.child else self.name
