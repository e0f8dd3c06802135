"""What holds for a whole run: the definition's policies with the run's own on top. Knows no step."""

from dataclasses import dataclass
from datetime import timedelta

from jangar.api.orchestration import Policies


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPolicies:
    """Policies in force, defaults filled in."""

    fail_fast: bool = False
    max_parallel: int | None = None
    timeout: timedelta | None = None
    retries: int = 0


def policies_in_force(defined: Policies | None, overriding: Policies | None) -> RunPolicies:
    """Field by field: the run's own value, else the definition's, else the default. 0 bounds nothing."""
    layers = [layer for layer in (overriding, defined) if layer is not None]
    fail_fast = next((item.fail_fast for item in layers if item.fail_fast is not None), False)
    max_parallel = next((item.max_parallel for item in layers if item.max_parallel is not None), None)
    retries = next((item.retries for item in layers if item.retries is not None), 0)
    totals = (item.timeouts.total_seconds for item in layers if item.timeouts is not None)
    total = next((seconds for seconds in totals if seconds is not None), None)
    return RunPolicies(
        fail_fast=fail_fast,
        max_parallel=max_parallel or None,
        timeout=timedelta(seconds=total) if total else None,
        retries=retries,
    )
