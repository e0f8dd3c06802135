"""Scenarios in which others remove or end work: rows 11 and 12 of the matrix."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable
from random import Random
from typing import Any

from kubekit.client.api_client import PatchKind
from kubekit.client.builtin import JOBS, PODS
from kubekit.client.errors import NotFound
from kubekit.client.resource import Resource
from simulation.bed import NAMESPACE, Bed, Scripts, step
from simulation.simulated_cluster import Fate, Work
from simulation.story import End, Judge, Story, TrialResult

SUCCEEDED, FAILED = "Succeeded", "Failed"
MISSING = ("WorkflowJobMissing", "JobDeleted", "PodDeleted")


def _work(rng: Random) -> Scripts:
    b = Work(pending=rng.random() / 2, runs=1 + 3 * rng.random())
    return lambda name, _before: b if name == "b" else Work(runs=0.3)


async def _free(made: Bed, resource: Resource, obj: dict[str, Any]) -> None:
    """Remove every finalizer, as impatient users do."""
    made.server.history.taken_away.add(obj["metadata"]["uid"])
    body = {"metadata": {"uid": obj["metadata"]["uid"], "finalizers": None}}
    with contextlib.suppress(NotFound):
        await made.client.patch(resource, obj["metadata"]["name"], NAMESPACE, body, kind=PatchKind.MERGE)


async def _vanish(made: Bed) -> None:
    """The Job and its pods vanish at once."""
    job = await made.job_of("b")
    name, uid = job["metadata"]["name"], job["metadata"]["uid"]
    with contextlib.suppress(NotFound):
        await made.client.delete(JOBS, name, NAMESPACE, uid=uid)
    await _free(made, JOBS, job)
    for pod in await made.client.list(PODS, NAMESPACE, labels=f"job-name={name}"):
        await _free(made, PODS, pod)
        with contextlib.suppress(NotFound):
            meta = pod["metadata"]
            await made.client.delete(PODS, meta["name"], NAMESPACE, uid=meta["uid"], grace_seconds=0)


async def _at_once(made: Bed) -> None:
    await made.job_of("b")
    await _vanish(made)


async def _while_running(made: Bed) -> None:
    await made.job_of("b")
    await asyncio.sleep(3.0 * made.rng.random())
    await _vanish(made)


async def _after_success(made: Bed) -> None:
    await made.job_of("b")
    while not _container_ended(made):
        await made.server.history.next_commit()
    await asyncio.sleep(made.rng.random())
    await _vanish(made)


def _container_ended(made: Bed) -> bool:
    return any(
        "terminated" in container_status["state"]
        for pod in made.server.history.all_newest("pods")
        if pod["metadata"]["name"].startswith("run-b")
        for container_status in (pod.get("status") or {}).get("containerStatuses") or ()
    )


async def _by_ttl(made: Bed) -> None:
    """A user sets a TTL of zero while the Job runs."""
    job = await made.job_of("b")
    await asyncio.sleep(made.rng.random())
    body = {"metadata": {"uid": job["metadata"]["uid"]}, "spec": {"ttlSecondsAfterFinished": 0}}
    await made.client.patch(JOBS, job["metadata"]["name"], NAMESPACE, body, kind=PatchKind.MERGE)


async def _by_a_person(made: Bed) -> None:
    job = await made.job_of("b")
    await asyncio.sleep(4.0 * made.rng.random())
    with contextlib.suppress(NotFound):
        await made.client.delete(JOBS, job["metadata"]["name"], NAMESPACE, uid=job["metadata"]["uid"])


async def _pod_by_a_person(made: Bed) -> None:
    job = await made.job_of("b")
    await asyncio.sleep(4.0 * made.rng.random())
    for pod in await made.client.list(PODS, NAMESPACE, labels=f"job-name={job['metadata']['name']}"):
        with contextlib.suppress(NotFound):
            await made.client.delete(PODS, pod["metadata"]["name"], NAMESPACE, uid=pod["metadata"]["uid"])


def _lost(*reasons: str, most_starts: int = 1, succeeds: bool = True) -> Judge:
    """The step succeeded, or failed for one of these reasons; and its work ran at most this often."""

    def judge(reported: TrialResult, _: End) -> Iterable[str]:
        phase, reason, *_rest = reported.end.steps["b"]
        if not ((succeeds and phase == SUCCEEDED) or (phase == FAILED and reason in reasons)):
            yield f"step b is {phase}/{reason}"
        if reported.end.starts.get("b", 0) > most_starts:
            yield f"the work of b ran {reported.end.starts['b']} times"
        if reported.end.phase != (SUCCEEDED if phase == SUCCEEDED else FAILED):
            yield f"the run is {reported.end.phase}"
        if reported.end.starts.get("c", 0) != (1 if phase == SUCCEEDED else 0):
            yield f"the work of c ran {reported.end.starts.get('c', 0)} times"

    return judge


def _vanishing(how: str, people: Callable[[Bed], Awaitable[None]], policy: str, judge: Judge) -> Story:
    return Story(
        name=f"a Job vanishes {how}, {policy}",
        steps=[step("a"), step("b", "a", onJobMissing=policy), step("c", "b")],
        work=_work,
        people=people,
        judge=judge,
    )


_WAYS: dict[str, Callable[[Bed], Awaitable[None]]] = {
    "before it is seen": _at_once,
    "while it runs": _while_running,
    "after its success": _after_success,
}
VANISHING = {
    story.name: story
    for story in (
        *(_vanishing(how, people, "Fail", _lost(*MISSING)) for how, people in _WAYS.items()),
        *(
            _vanishing(how, people, "Retry", _lost(*MISSING[1:], most_starts=2))
            for how, people in _WAYS.items()
        ),
        _vanishing("by its TTL", _by_ttl, "Fail", _lost()),
        _vanishing("by a person", _by_a_person, "Fail", _lost("JobDeleted")),
        _vanishing("as its pod by a person", _pod_by_a_person, "Fail", _lost("PodDeleted")),
    )
}


def _disrupted(fate: Fate, *, timeout: int | None = None, **work: float) -> Story:
    ends = {
        Fate.EVICTED: "Evicted",
        Fate.DRAINED: "Evicted",
        Fate.NODE_LOST: "Evicted",
        Fate.OUT_OF_MEMORY: "OOMKilled",
    }

    def scripts(rng: Random) -> Scripts:
        times = {"pending": 5 * rng.random(), "runs": 4 * rng.random(), **work}
        b = Work(fate=fate, **times)
        return lambda name, _before: b if name == "b" else Work(runs=0.3)

    reason = "StepTimedOut" if timeout else ends.get(fate)
    more = {"timeoutSeconds": timeout} if timeout else {}
    return Story(
        name=f"a pod: {fate}" + (", for too long" if timeout else ""),
        steps=[step("a"), step("b", "a", **more), step("c", "b")],
        work=scripts,
        judge=_lost(reason, succeeds=False) if reason else _lost(),
        settle_seconds=240,
    )


DISRUPTED = {
    story.name: story
    for story in (
        *(_disrupted(fate) for fate in Fate if fate is not Fate.ORDINARY),
        _disrupted(Fate.IMAGE_PULL, timeout=20, pending=1e6),
        _disrupted(Fate.UNSCHEDULABLE, timeout=20, pending=1e6),
    )
}
