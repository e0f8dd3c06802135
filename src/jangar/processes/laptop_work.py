"""The work of a laptop as a whole: how much of it is alive, and ending all of it through the API.

A live run is cancelled, for that is what stops its steps and keeps its record; a Job of somebody else is suspended,
which ends its process and keeps the object; a pod of nobody is deleted.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from jangar.api.agents.agentrun import AGENT_RUN
from jangar.api.kind import VERSION, Kind
from jangar.api.orchestration import ORCHESTRATION_RUN
from jangar.api.phases import TERMINAL
from jangar.api.tools import TOOL_RUN
from kubekit.client.api_client import Client, PatchKind
from kubekit.client.builtin import JOBS, PODS
from kubekit.client.errors import Conflict, Invalid, NotFound
from kubekit.client.resource import Obj, Resource

LOOK_SECONDS: Final = 0.1
LIVE_PODS: Final = frozenset({"Pending", "Running"})
OURS: Final = frozenset(kind.name for kind in (ORCHESTRATION_RUN, TOOL_RUN, AGENT_RUN))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """What was asked to stop, and what had not ended in time."""

    runs: tuple[str, ...]
    others: tuple[str, ...]
    """Jobs and pods that belong to no run."""
    left: tuple[str, ...]


async def stop_work(client: Client, *, seconds: float) -> Stopped:
    """Ask everything that runs to stop, and wait until it has, at most so long."""
    runs = await _cancel_runs(client)
    others = [*await _suspend_jobs(client), *await _delete_pods(client)]
    deadline = time.monotonic() + seconds
    while (left := await _alive(client)) and time.monotonic() < deadline:  # noqa: ASYNC110 - several kinds
        await asyncio.sleep(LOOK_SECONDS)
    return Stopped(runs=tuple(runs), others=tuple(others), left=tuple(left))


async def live_pods(client: Client) -> list[Obj]:
    """Pods whose processes run, or will without anybody asking."""
    return [pod for pod in await client.list(PODS) if _phase(pod, "Pending") in LIVE_PODS]


async def _cancel_runs(client: Client) -> list[str]:
    """Those that belong to no other run: they pass it on."""
    found = []
    for kind in (ORCHESTRATION_RUN, TOOL_RUN, AGENT_RUN):
        resource = _resource(kind)
        for run in await client.list(resource):
            if _controller(run) is None and _phase(run, "Pending") not in TERMINAL | {"Template"}:
                await _unless_gone(_patched(client, resource, run, {"cancel": True}))
                found.append(_told(run))
    return found


async def _suspend_jobs(client: Client) -> list[str]:
    found = []
    for job in await client.list(JOBS):
        if _controller(job) in OURS or job["spec"].get("suspend") or _is_finished(job):
            continue
        await _unless_gone(_patched(client, JOBS, job, {"suspend": True}))
        found.append(_told(job))
    return found


async def _delete_pods(client: Client) -> list[str]:
    found = []
    for pod in await live_pods(client):
        if _controller(pod) is None:
            await _unless_gone(_deleted(client, pod))
            found.append(_told(pod))
    return found


async def _alive(client: Client) -> list[str]:
    runs = [
        run
        for run in await client.list(_resource(ORCHESTRATION_RUN))
        if _controller(run) is None and _phase(run, "Pending") not in TERMINAL
    ]
    return [_told(each) for each in (*runs, *await live_pods(client))]


def _patched(client: Client, resource: Resource, obj: Obj, spec: Obj) -> Callable[[], Awaitable[Any]]:
    meta = obj["metadata"]
    body = {"metadata": {"uid": meta["uid"]}, "spec": spec}
    return lambda: client.patch(resource, meta["name"], meta["namespace"], body, kind=PatchKind.MERGE)


def _deleted(client: Client, pod: Obj) -> Callable[[], Awaitable[Any]]:
    meta = pod["metadata"]
    return lambda: client.delete(PODS, meta["name"], meta["namespace"], uid=meta["uid"])


async def _unless_gone(work: Callable[[], Awaitable[Any]]) -> None:
    """What ended meanwhile needs no order."""
    try:
        await work()
    except (NotFound, Conflict, Invalid):
        return


def _resource(kind: Kind) -> Resource:
    return Resource(group=kind.group, version=VERSION, plural=kind.plural, kind=kind.name)


def _phase(obj: Obj, default: str) -> str:
    return (obj.get("status") or {}).get("phase") or default


def _controller(obj: Obj) -> str | None:
    """The kind of what manages the object."""
    owners: Iterable[Obj] = obj["metadata"].get("ownerReferences") or ()
    return next((each["kind"] for each in owners if each.get("controller")), None)


def _is_finished(job: Obj) -> bool:
    conditions: Iterable[Obj] = (job.get("status") or {}).get("conditions") or ()
    return any(each["type"] in {"Complete", "Failed"} and each["status"] == "True" for each in conditions)


def _told(obj: Obj) -> str:
    meta = obj["metadata"]
    return f"{obj['kind']} {meta['namespace']}/{meta['name']}"
