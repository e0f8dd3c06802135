"""Which definition a retry executes, and what it may say about it. Pure; lint and controller ask the same."""

from jangar.api.problems import Problem
from jangar.api.reasons import Reason


def source_problem(retried: str, *, made_of: str | None, has_own: bool, named: str | None) -> Problem | None:
    """A retry executes the snapshot of the retried run, so it may only name the Orchestration that this was taken of.

    `made_of` is that Orchestration, `has_own` says that the retried run has a definition of its own. Where neither is
    known, nothing is said.
    """
    if named is None or made_of == named or (made_of is None and not has_own):
        return None
    source = f"Orchestration {made_of}" if made_of else "an inline definition"
    return Problem(
        reason=Reason.INVALID_SPEC,
        path=("spec", "orchestrationRef"),
        message=f"the run retries {retried}, which was created from {source}, not from Orchestration {named}",
        fix="remove spec.orchestrationRef, or remove spec.retryOf",
    )


def own_definition_problem() -> Problem:
    """A run that repeats another one has a definition of its own."""
    return Problem(
        reason=Reason.INVALID_SPEC,
        path=("spec", "orchestration"),
        message="a run with retryOf executes the definition of the retried run and cannot have an inline definition",
        fix="remove spec.orchestration, or remove spec.retryOf",
    )
