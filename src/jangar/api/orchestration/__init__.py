"""Orchestration (a DAG of steps) and OrchestrationRun (one execution of it)."""

from jangar.api.orchestration.definition import (
    GROUP,
    MAX_STEPS,
    ORCHESTRATION,
    DeclaredOutput,
    OrchestrationSpec,
    Parameter,
    Policies,
    ReturnedOutput,
    Step,
)
from jangar.api.orchestration.run import ORCHESTRATION_RUN, OrchestrationRunSpec, RetryOf

__all__ = [
    "GROUP",
    "MAX_STEPS",
    "ORCHESTRATION",
    "ORCHESTRATION_RUN",
    "DeclaredOutput",
    "OrchestrationRunSpec",
    "OrchestrationSpec",
    "Parameter",
    "Policies",
    "RetryOf",
    "ReturnedOutput",
    "Step",
]
