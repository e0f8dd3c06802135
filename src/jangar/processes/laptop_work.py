"""Counts and stops the workloads of the local control plane through the API.

Active runs are canceled, which stops their steps and keeps their records. Jobs of other owners are suspended,
which stops their processes and keeps the objects. Unowned pods are deleted.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from jangar.api.kind import VERSION, Kind
from jangar.api.orchestration import ORCHESTRATION_RUN
from jangar.api.phases import TERMINAL
from jangar.kinds.registry import RUN_KINDS
from kubekit.client.api_client import Client, PatchKind
from kubekit.client.builtin import JOBS, PODS
from kubekit.client.errors import Conflict, Invalid, NotFound
from kubekit.client.resource import Obj, Resource
from kubekit.metadata import controller_of, has_condition

POLL_SECONDS: Final = 0.1
LIVE_PODS: Final = frozenset({"Pending", "Running"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """What was asked to stop, and what was still running at the timeout."""

    runs: tuple[str, ...]
    others: tuple[str, ...]
    """Jobs and pods that do not belong to a run."""
    left: tuple[str, ...]


async def stop_work(client: Client, *, seconds: float) -> Stopped:
    """Ask all workloads to stop and wait for them, for at most `seconds`."""
    runs = await _cancel_runs(client)
    others = [*await _suspend_jobs(client), *await _delete_pods(client)]
    deadline = time.monotonic() + seconds
    while (left := await _alive(client)) and time.monotonic() < deadline:  # noqa: ASYNC110 - several kinds
        await asyncio.sleep(POLL_SECONDS)
    return Stopped(runs=tuple(runs), others=tuple(others), left=tuple(left))


async def live_pods(client: Client) -> list[Obj]:
    """Pods that are pending or running."""
    return [pod for pod in await client.list(PODS) if _phase(pod, "Pending") in LIVE_PODS]


async def _cancel_runs(client: Client) -> list[str]:
    """Cancel top-level runs, which cancel their children."""
    cancelled = []
    for run_kind in RUN_KINDS.values():
        resource = _resource(run_kind.kind)
        for run in await client.list(resource):
            if _controller(run) is None and _phase(run, "Pending") not in TERMINAL | {"Template"}:
                await _ignore_if_gone(_patch(client, resource, run, {"cancel": True}))
                cancelled.append(_describe(run))
    return cancelled


async def _suspend_jobs(client: Client) -> list[str]:
    suspended = []
    for job in await client.list(JOBS):
        if _controller(job) in RUN_KINDS or job["spec"].get("suspend") or _is_finished(job):
            continue
        await _ignore_if_gone(_patch(client, JOBS, job, {"suspend": True}))
        suspended.append(_describe(job))
    return suspended


async def _delete_pods(client: Client) -> list[str]:
    deleted = []
    for pod in await live_pods(client):
        if _controller(pod) is None:
            await _ignore_if_gone(_delete(client, pod))
            deleted.append(_describe(pod))
    return deleted


async def _alive(client: Client) -> list[str]:
    runs = [
        run
        for run in await client.list(_resource(ORCHESTRATION_RUN))
        if _controller(run) is None and _phase(run, "Pending") not in TERMINAL
    ]
    return [_describe(obj) for obj in (*runs, *await live_pods(client))]


def _patch(client: Client, resource: Resource, obj: Obj, spec: Obj) -> Callable[[], Awaitable[Any]]:
    meta = obj["metadata"]
    body = {"metadata": {"uid": meta["uid"]}, "spec": spec}
    return lambda: client.patch(resource, meta["name"], meta["namespace"], body, kind=PatchKind.MERGE)


def _delete(client: Client, pod: Obj) -> Callable[[], Awaitable[Any]]:
    meta = pod["metadata"]
    return lambda: client.delete(PODS, meta["name"], meta["namespace"], uid=meta["uid"])


async def _ignore_if_gone(request: Callable[[], Awaitable[Any]]) -> None:
    """Send the request; ignore that the object ended or was replaced in the meantime."""
    try:
        await request()
    except (NotFound, Conflict, Invalid):
        return


def _resource(kind: Kind) -> Resource:
    return Resource(group=kind.group, version=VERSION, plural=kind.plural, kind=kind.name)


def _phase(obj: Obj, default: str) -> str:
    return (obj.get("status") or {}).get("phase") or default


def _controller(obj: Obj) -> str | None:
    """The kind of the controlling owner."""
    controller = controller_of(obj)
    return controller["kind"] if controller is not None else None


def _is_finished(job: Obj) -> bool:
    return has_condition(job, "Complete") or has_condition(job, "Failed")


def _describe(obj: Obj) -> str:
    meta = obj["metadata"]
    return f"{obj['kind']} {meta['namespace']}/{meta['name']}"
