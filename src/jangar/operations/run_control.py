"""Changes to existing runs: cancel, suspend, resume, delete, and a shorter grace period for cancelled work."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from jangar.controllers.resources import RUN_UID
from jangar.operations.caller import Caller, RunRef
from jangar.operations.refusals import ErrorKind, Refused
from jangar.operations.run_reading import RUNS, is_cancel_requested, is_over, phase_of
from kubekit.client.api_client import Client, Obj, PatchKind
from kubekit.client.builtin import PODS
from kubekit.client.errors import Conflict, Forbidden, NotFound

POLL_INTERVAL: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChange:
    """A run after a request to change it."""

    run: Obj
    changed: bool
    """False if the run was already in the requested state."""
    message: str
    """A sentence without its subject: "is being cancelled"."""


async def cancel_run(caller: Caller, ref: RunRef) -> RunChange:
    """Request that a run ends. This cannot be undone (CAN-1)."""
    run = await _current(caller, ref)
    if is_over(run):
        message = f"has already ended: {phase_of(run)}; nothing to cancel"
        return RunChange(run=run, changed=False, message=message)
    if is_cancel_requested(run):
        return RunChange(run=run, changed=False, message="is already being cancelled")
    return RunChange(
        run=await _patch_spec(caller, run, cancel=True),
        changed=True,
        message="is being cancelled: running work is stopped and no further step starts",
    )


async def suspend_run(caller: Caller, ref: RunRef) -> RunChange:
    """Keep a run from starting further steps (DAG-15). Raises Refused if it has ended."""
    message = "is suspended: no further step starts; running steps continue"
    return await _set_suspend(caller, ref, suspend=True, message=message, no_change="is already suspended")


async def resume_run(caller: Caller, ref: RunRef) -> RunChange:
    """Let a suspended run start steps again. Raises Refused if it has ended."""
    return await _set_suspend(caller, ref, suspend=False, message="is resumed", no_change="is not suspended")


async def _set_suspend(
    caller: Caller, ref: RunRef, *, suspend: bool, message: str, no_change: str
) -> RunChange:
    run = await _current(caller, ref)
    if is_over(run):
        raise Refused(
            f"{ref.name} has already ended: {phase_of(run)} (jangar resubmit {ref.name} runs it again)",
            ErrorKind.CONFLICT,
        )
    if bool((run.get("spec") or {}).get("suspend")) == suspend:
        return RunChange(run=run, changed=False, message=no_change)
    return RunChange(run=await _patch_spec(caller, run, suspend=suspend), changed=True, message=message)


async def delete_run(caller: Caller, ref: RunRef) -> bool:
    """Whether the run is deleted at once; otherwise its work is stopped first (GC-9)."""
    meta = (await _current(caller, ref))["metadata"]
    return await caller.client.delete(RUNS, meta["name"], meta["namespace"], uid=meta["uid"]) is None


async def _current(caller: Caller, ref: RunRef) -> Obj:
    """The run as the API has it now, not a cache, because the decision is written."""
    run = await caller.client.get(RUNS, ref.name, ref.namespace)
    if ref.uid not in {None, run["metadata"]["uid"]}:
        raise Refused(f"{ref.name} was deleted; a later run has its name", ErrorKind.MISSING)
    return run


async def _patch_spec(caller: Caller, run: Obj, **spec: Any) -> Obj:
    """The uid in the patch protects a later run of the same name."""
    meta = run["metadata"]
    body = {"metadata": {"uid": meta["uid"]}, "spec": spec}
    return await caller.client.patch(RUNS, meta["name"], meta["namespace"], body, kind=PatchKind.MERGE)


async def shorten_grace_period(caller: Caller, run: Obj, *, grace: int, seconds: float) -> int:
    """Give the pods of a cancelled run, and of the runs in it, less time between SIGTERM and SIGKILL.

    Returns the number of pods. Only pods that the controllers have already stopped are deleted again with the shorter
    period, which is what Kubernetes offers for this; an earlier deletion would not be recorded as a stop. Raises
    Refused if pods may not be deleted, or the controllers do not stop them in time.
    """
    meta, shortened = run["metadata"], set[str]()
    try:
        async with asyncio.timeout(seconds):
            while True:
                current = await caller.client.get(RUNS, meta["name"], meta["namespace"])
                if current["metadata"]["uid"] != meta["uid"] or is_over(current):
                    return len(shortened)
                live = [pod for pod in await _pods_of(caller.client, current) if _is_live(pod)]
                for pod in live:
                    if _is_stopping(pod, grace):
                        await _delete_pod(caller.client, pod, grace)
                        shortened.add(pod["metadata"]["uid"])
                if phase_of(current) == "Cancelling" and all(
                    _has_grace(pod, grace, shortened) for pod in live
                ):
                    return len(shortened)
                await asyncio.sleep(POLL_INTERVAL)
    except NotFound:
        return len(shortened)
    except Forbidden as error:
        raise Refused(
            f"{meta['name']} is being cancelled, but its grace period cannot be shortened: {error} "
            "(--grace deletes pods; ask a cluster administrator for this permission)",
            ErrorKind.CONFLICT,
        ) from error
    except TimeoutError:
        raise Refused(
            f"{meta['name']} is being cancelled, but its pods did not begin to stop within {seconds:.0f} s: "
            "their grace period is unchanged",
            ErrorKind.TIMEOUT,
        ) from None


async def _pods_of(client: Client, run: Obj) -> list[Obj]:
    """The pods of the run and of the runs that its steps started."""
    namespace, uids, level = run["metadata"]["namespace"], [], [run["metadata"]["uid"]]
    while level:
        uids += level
        nested = await client.list(RUNS, namespace, labels=_run_selector(level))
        level = [item["metadata"]["uid"] for item in nested if item["metadata"]["uid"] not in uids]
    return await client.list(PODS, namespace, labels=_run_selector(uids))


def _run_selector(uids: list[str]) -> str:
    return f"{RUN_UID} in ({','.join(uids)})"


async def _delete_pod(client: Client, pod: Obj, grace: int) -> None:
    meta = pod["metadata"]
    try:
        await client.delete(PODS, meta["name"], meta["namespace"], uid=meta["uid"], grace_seconds=grace)
    except (NotFound, Conflict):
        # The pod ended in the meantime.
        return


def _is_live(pod: Mapping[str, Any]) -> bool:
    return (pod.get("status") or {}).get("phase") not in {"Succeeded", "Failed"}


def _is_stopping(pod: Mapping[str, Any], grace: int) -> bool:
    """Whether the pod is being deleted with a longer grace period."""
    meta = pod["metadata"]
    return bool(meta.get("deletionTimestamp")) and (meta.get("deletionGracePeriodSeconds") or 0) > grace


def _has_grace(pod: Mapping[str, Any], grace: int, shortened: set[str]) -> bool:
    meta = pod["metadata"]
    return meta["uid"] in shortened or (bool(meta.get("deletionTimestamp")) and not _is_stopping(pod, grace))
