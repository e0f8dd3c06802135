"""What may be asked of a run that is there: the command line, HTTP and the web page ask here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jangar.operations.refusals import Refused, Why
from jangar.operations.run_reading import RUNS, ReadRun
from jangar.operations.submit import check_parameters, is_over, make, phase_of, resubmission_of, retry_of
from kubekit.client.api_client import Obj, PatchKind

if TYPE_CHECKING:
    from kubekit.client.api_client import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """A run as it is after the question."""

    run: Obj
    changed: bool
    """False if it was so already."""
    message: str
    """What there is to say of it, without its name: "is being cancelled"."""


def is_cancelled(run: Mapping[str, Any]) -> bool:
    """Whether somebody has asked for its end."""
    spec = run.get("spec") or {}
    return bool(spec.get("cancel")) or spec.get("desiredState") == "Cancelled"


async def cancel(client: "Client", run: Obj) -> Steered:
    """Ask a run to end. It cannot be taken back (CAN-1)."""
    if is_over(run):
        return _as_it_was(run, f"has already ended: {phase_of(run)}; nothing to cancel")
    if is_cancelled(run):
        return _as_it_was(run, "is already being cancelled")
    changed = await _patched(client, run, cancel=True)
    return Steered(
        run=changed,
        changed=True,
        message="is being cancelled: running work is stopped and no further step starts",
    )


async def hold(client: "Client", run: Obj, *, suspend: bool) -> Steered:
    """Let a run start no further step, or let it go on (DAG-15). Raises Refused for one that is over."""
    if is_over(run):
        name = run["metadata"]["name"]
        raise Refused(
            f"{name} has already ended: {phase_of(run)} (jangar resubmit {name} runs it again)", Why.STATE
        )
    if bool((run.get("spec") or {}).get("suspend")) == suspend:
        return _as_it_was(run, "is already suspended" if suspend else "is not suspended")
    changed = await _patched(client, run, suspend=suspend)
    reported = "is suspended: no further step starts; running steps continue" if suspend else "is resumed"
    return Steered(run=changed, changed=True, message=reported)


async def retry(
    client: "Client", read: ReadRun, *, from_step: str | None, name: str | None, by: str | None = None
) -> Obj:
    """A new run that repeats an ended one (DAG-16). Raises Refused."""
    if not read.is_live:
        raise Refused(
            f"{read.identity.name} was deleted and exists only in the history: its steps cannot be reused; "
            f"resubmit it to run all steps again",
            Why.STATE,
        )
    return await make(client, retry_of(read, from_step, name), by)


async def resubmit(
    client: "Client",
    read: ReadRun,
    *,
    name: str | None,
    parameters: Mapping[str, str] | None = None,
    overrides: Mapping[str, str] | None = None,
    by: str | None = None,
) -> Obj:
    """A new run of today's definition, also of a run that is history. Raises Refused.

    `parameters` replace those of the old run as a whole, `overrides` one by one.
    """
    if overrides:
        parameters = {**((read.obj.get("spec") or {}).get("parameters") or {}), **overrides}
    run = resubmission_of(read, name, parameters)
    if parameters is not None:
        await check_parameters(client, run)
    return await make(client, run, by)


async def delete(client: "Client", run: Obj) -> bool:
    """Whether it is gone at once; else its work is stopped first (GC-9)."""
    meta = run["metadata"]
    return await client.delete(RUNS, meta["name"], meta["namespace"], uid=meta["uid"]) is None


def _as_it_was(run: Obj, reported: str) -> Steered:
    return Steered(run=run, changed=False, message=reported)


async def _patched(client: "Client", run: Obj, **spec: Any) -> Obj:
    """Change this very run, not another of its name."""
    meta = run["metadata"]
    body = {"metadata": {"uid": meta["uid"]}, "spec": spec}
    return await client.patch(RUNS, meta["name"], meta["namespace"], body, kind=PatchKind.MERGE)
