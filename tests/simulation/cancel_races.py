"""Scenarios with cancel races and work that does not stop: rows 13 and 14."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from random import Random
from typing import Any

from kubekit.client.api_client import PatchKind
from kubekit.client.builtin import JOBS, PODS
from kubekit.client.errors import NotFound
from kubekit.client.resource import Resource
from simulation.bed import NAMESPACE, RUNS, Bed, Scripts, step
from simulation.simulated_cluster import OnTerm, Work
from simulation.stories import FAILS, is_now
from simulation.story import End, Judge, Story, TrialResult, scripted

CHAIN = [step("a"), step("b", "a"), step("c", "b")]
OTHERS = "example.com/held-by-others"
OPEN = frozenset({"Pending", "Running", "Retrying", "Cancelling", "Suspended"})


def _sometime(within: float) -> Callable[[Bed], Awaitable[None]]:
    async def people(made: Bed) -> None:
        await asyncio.sleep(within * made.rng.random())
        await made.cancel()

    return people


async def _twice(made: Bed) -> None:
    await asyncio.sleep(5 * made.rng.random())
    await made.cancel()
    await asyncio.sleep(5 * made.rng.random() ** 2)
    run = await made.run_object()
    body = {"metadata": {"uid": run["metadata"]["uid"]}, "spec": {"desiredState": "Cancelled"}}
    await made.client.patch(RUNS, "run", NAMESPACE, body, kind=PatchKind.MERGE)


async def _and_delete(made: Bed) -> None:
    await asyncio.sleep(5 * made.rng.random())
    await made.cancel()
    await asyncio.sleep(5 * made.rng.random() ** 2)
    await made.delete()


async def _only_delete(made: Bed) -> None:
    await asyncio.sleep(8 * made.rng.random())
    await made.delete()


def _raced(**most_starts: int) -> Judge:
    """The run has one of its outcomes and reports how it handled the request; unless it was deleted before anything
    started.
    """

    def judge(reported: TrialResult, _: End) -> Iterable[str]:
        if "deleted" in most_starts and not reported.end.starts:
            return
        phases = {name: item[0] for name, item in reported.end.steps.items()}
        if reported.end.phase not in ("Succeeded", "Failed", "Cancelled"):
            yield f"the run is {reported.end.phase}"
        if reported.end.phase == "Succeeded" and set(phases.values()) != {"Succeeded"}:
            yield f"the run succeeded with steps {phases}"
        if OPEN & set(phases.values()):
            yield f"the run is {reported.end.phase} with steps {phases}"
        for name, count in reported.end.starts.items():
            if count > most_starts.get(name, 1):
                yield f"the work of {name} ran {count} times"
        if "deleted" not in most_starts and not (_ignored(reported.status) or reported.status.get("cancel")):
            yield "the request left no trace"

    return judge


def _ignored(status: Mapping[str, Any]) -> bool:
    return any(
        condition["type"] == "CancelIgnored" and condition["status"] == "True"
        for condition in status.get("conditions") or ()
    )


RACES = {
    story.name: story
    for story in (
        Story(name="cancel races completion", steps=[step("a")], people=_sometime(4), judge=_raced()),
        Story(
            name="cancel races failure",
            steps=[step("a"), step("b", "a")],
            work=scripted(a=FAILS),
            people=_sometime(4),
            judge=_raced(),
        ),
        Story(
            name="cancel races a retry",
            steps=[step("a", retries=2, retryBackoffSeconds=1), step("b", "a")],
            work=scripted(a=(FAILS, FAILS, Work())),
            people=_sometime(9),
            judge=_raced(a=3),
        ),
        Story(name="cancel races the start of steps", steps=CHAIN, people=_sometime(6), judge=_raced()),
        Story(
            name="cancel races a nested run",
            steps=[
                step("a"),
                {
                    "name": "n",
                    "kind": "SubOrchestration",
                    "orchestrationRef": {"name": "inner"},
                    "dependsOn": ["a"],
                },
            ],
            nested=[step("x"), step("y", "x")],
            people=_sometime(7),
            judge=_raced(),
        ),
        Story(name="cancel races a second cancel", steps=CHAIN, people=_twice, judge=_raced()),
        Story(name="cancel races a delete", steps=CHAIN, people=_and_delete, judge=_raced(deleted=1)),
        Story(name="a delete at any time", steps=CHAIN, people=_only_delete, judge=_raced(deleted=1)),
    )
}


# Work that does not stop.


def _stubborn(on_term: OnTerm, *, shortest: float = 0.1, longest: float = 0.1) -> Callable[[Random], Scripts]:
    def scripts(rng: Random) -> Scripts:
        b = Work(runs=900, on_term=on_term, ends_in=shortest + (longest - shortest) * rng.random())
        return lambda name, _before: b if name == "b" else Work(runs=0.3)

    return scripts


async def _cancel_running(made: Bed) -> None:
    await made.until(is_now("b", "Running"))
    await asyncio.sleep(5 * made.rng.random())
    await made.cancel()


async def _delete_running(made: Bed) -> None:
    await made.until(is_now("b", "Running"))
    await asyncio.sleep(5 * made.rng.random())
    await made.delete()


def _held_by_others(resource: Resource) -> Callable[[Bed], Awaitable[None]]:
    async def people(made: Bed) -> None:
        await made.until(is_now("b", "Running"))
        job = (await made.job_of("b"))["metadata"]["name"]
        children = await made.client.list(resource, NAMESPACE)
        held = next(item for item in children if item["metadata"]["name"].startswith(job))
        await _set_finalizers(made, resource, held, [*held["metadata"]["finalizers"], OTHERS])
        await asyncio.sleep(5 * made.rng.random())
        await made.cancel()
        await made.over()
        await asyncio.sleep(100)
        with contextlib.suppress(NotFound):
            now = await made.client.get(resource, held["metadata"]["name"], NAMESPACE)
            rest = [finalizer for finalizer in now["metadata"].get("finalizers") or () if finalizer != OTHERS]
            await _set_finalizers(made, resource, now, rest)

    return people


async def _set_finalizers(made: Bed, resource: Resource, obj: dict[str, Any], finalizers: list[str]) -> None:
    meta = {"uid": obj["metadata"]["uid"], "finalizers": finalizers}
    await made.client.patch(
        resource, obj["metadata"]["name"], NAMESPACE, {"metadata": meta}, kind=PatchKind.MERGE
    )


def _cancelled(*reasons: str, left_behind: bool = False) -> Judge:
    """In time or not, and leftover children are followed to their end."""

    def judge(reported: TrialResult, _: End) -> Iterable[str]:
        if reported.end.phase != "Cancelled" or reported.end.reason not in reasons:
            yield f"the run is {reported.end.phase}/{reported.end.reason}"
        if reported.end.starts != {"a": 1, "b": 1}:
            yield f"the work ran {reported.end.starts}"
        left = (reported.status.get("cancel") or {}).get("leftBehind") or []
        if bool(left) != (left_behind and reported.end.reason == "CancelTimedOut"):
            yield f"left behind is {left}"
        for name, child in reported.children.items():
            for item in (child.get("cancel") or {}).get("leftBehind") or ():
                if not item.get("endedAt"):
                    yield f"{name} still lists {item['kind']} {item['name']}"

    return judge


STUBBORN = {
    story.name: story
    for story in (
        Story(
            name="work ignores SIGTERM",
            steps=CHAIN,
            work=_stubborn(OnTerm.IGNORES),
            people=_cancel_running,
            judge=_cancelled("Cancelled"),
        ),
        Story(
            name="work ends well on SIGTERM",
            steps=CHAIN,
            work=_stubborn(OnTerm.SUCCEEDS, longest=20),
            people=_cancel_running,
            judge=_cancelled("Cancelled"),
        ),
        Story(
            name="work cannot be killed",
            steps=CHAIN,
            work=_stubborn(OnTerm.HANGS, shortest=30, longest=300),
            people=_cancel_running,
            judge=_cancelled("Cancelled", "CancelTimedOut", left_behind=True),
            settle_seconds=400,
        ),
        Story(
            name="a deleted run's work cannot be killed",
            steps=CHAIN,
            work=_stubborn(OnTerm.HANGS, shortest=30, longest=300),
            people=_delete_running,
            judge=_raced(deleted=1),
            settle_seconds=400,
        ),
        Story(
            name="others hold the Job",
            steps=CHAIN,
            work=_stubborn(OnTerm.OBEYS),
            people=_held_by_others(JOBS),
            judge=_cancelled("Cancelled"),
        ),
        Story(
            name="others hold the pod",
            steps=CHAIN,
            work=_stubborn(OnTerm.OBEYS),
            people=_held_by_others(PODS),
            judge=_cancelled("Cancelled"),
        ),
    )
}


# Work that had ended before it was stopped.


async def _cancel_what_has_ended(made: Bed) -> None:
    await made.until(is_now("b", "Running"))
    await asyncio.sleep(OWN_END + LONG_BEFORE + 5 * made.rng.random())
    await made.cancel()


def _reported_late(exit_code: int) -> Callable[[Random], Scripts]:
    b = Work(runs=OWN_END, exit_code=exit_code, reported_late=LONG_BEFORE + 10)
    return lambda _: lambda name, _before: b if name == "b" else Work(runs=0.3)


def _keeps(phase: str, reason: str) -> Judge:
    """The own outcome of b counts, and its dependents are not started."""

    def judge(reported: TrialResult, _: End) -> Iterable[str]:
        if reported.end.steps["b"][:2] != (phase, reason):
            yield f"step b is {reported.end.steps['b']}"
        if reported.end.starts != {"a": 1, "b": 1}:
            yield f"the work ran {reported.end.starts}"

    return judge


OWN_END = 4.0
LONG_BEFORE = 16.0
"""Seconds between the end and the request; a node's clock that was wrong is not trusted to the second."""

TRUTHFUL = {
    story.name: story
    for story in (
        Story(
            name="work had succeeded before the cancel",
            steps=CHAIN,
            work=_reported_late(0),
            people=_cancel_what_has_ended,
            judge=_keeps("Succeeded", "Succeeded"),
        ),
        Story(
            name="work had failed before the cancel",
            steps=CHAIN,
            work=_reported_late(3),
            people=_cancel_what_has_ended,
            judge=_keeps("Failed", "NonZeroExit"),
        ),
    )
}
