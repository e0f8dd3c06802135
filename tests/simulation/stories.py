"""Scenarios: an orchestration, how its work behaves, and what people do meanwhile. The same end each time."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jangar.controllers.resources import CHILD_UID
from jangar.kube.builtin import JOBS
from simulation.bed import NAMESPACE, Bed, bed, step
from simulation.faults import Faults
from simulation.simulated_cluster import OnTerm, Work


async def _nothing(_: Bed) -> None:
    pass


def _good(_name: str, _before: int) -> Work:
    return Work()


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One scenario."""

    name: str
    steps: Sequence[Mapping[str, Any]]
    work: Callable[[str, int], Work] = _good
    people: Callable[[Bed], Awaitable[None]] = _nothing
    nested: Sequence[Mapping[str, Any]] = ()
    spec: Mapping[str, Any] = field(default_factory=dict)
    faults_may_change: frozenset[str] = frozenset()
    """Fields of the end that depend on when exactly people acted."""

    @property
    def needs(self) -> dict[str, tuple[str, ...]]:
        return {each["name"]: tuple(each.get("dependsOn") or ()) for each in self.steps}

    @property
    def forgiving(self) -> frozenset[str]:
        return frozenset(each["name"] for each in self.steps if each.get("continueOnFailure"))


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """What is left of a story."""

    phase: str
    reason: str
    steps: Mapping[str, tuple[str, str, int, str]]
    starts: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A story and what came of it."""

    end: End
    writes: int
    violations: Sequence[str]
    lives: int
    left_over: Sequence[str]


def _is(name: str, *phases: str) -> Callable[[dict[str, Any]], bool]:
    def holds(run: dict[str, Any]) -> bool:
        steps = {each["name"]: each for each in (run.get("status") or {}).get("stepStatuses") or ()}
        return steps.get(name, {}).get("phase") in phases

    return holds


async def _cancel_at_once(made: Bed) -> None:
    await made.cancel()


async def _cancel_midway(made: Bed) -> None:
    await made.until(_is("b", "Running"))
    await made.cancel()


async def _cancel_late(made: Bed) -> None:
    await made.ended()
    await made.cancel()


async def _delete_job(made: Bed) -> None:
    await made.until(_is("b", "Running"))
    for job in await made.client.list(JOBS, NAMESPACE):
        if "-b-" in job["metadata"]["name"]:
            await made.client.delete(JOBS, job["metadata"]["name"], NAMESPACE, uid=job["metadata"]["uid"])


def _scripted(**scripts: Work | tuple[Work, ...]) -> Callable[[str, int], Work]:
    def script(name: str, before: int) -> Work:
        found = scripts.get(name, Work())
        return found if isinstance(found, Work) else found[min(before, len(found) - 1)]

    return script


FAILS = Work(exit_code=1)
LONG = Work(runs=30)

STORIES = {
    story.name: story
    for story in (
        Story(name="chain", steps=[step("a"), step("b", "a"), step("c", "b")]),
        Story(name="diamond", steps=[step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c")]),
        Story(
            name="fan-out",
            steps=[
                step("a"),
                *(step(f"f{n}", "a") for n in range(6)),
                step("z", *(f"f{n}" for n in range(6))),
            ],
        ),
        Story(
            name="failure with skip",
            steps=[step("a"), step("b", "a"), step("c", "b"), step("d", "a")],
            work=_scripted(b=FAILS),
        ),
        Story(
            name="continueOnFailure",
            steps=[step("a", continueOnFailure=True), step("b", "a")],
            work=_scripted(a=FAILS),
        ),
        Story(
            name="retry",
            steps=[step("a", retries=2, retryBackoffSeconds=1), step("b", "a")],
            work=_scripted(a=(FAILS, FAILS, Work())),
        ),
        Story(name="timeout", steps=[step("a", timeoutSeconds=3), step("b", "a")], work=_scripted(a=LONG)),
        Story(
            name="cancel early",
            steps=[step("a"), step("b", "a")],
            people=_cancel_at_once,
            work=_scripted(a=LONG),
        ),
        Story(
            name="cancel midway",
            steps=[step("a"), step("b", "a"), step("c", "b")],
            work=_scripted(b=LONG),
            people=_cancel_midway,
        ),
        Story(name="cancel late", steps=[step("a")], people=_cancel_late),
        Story(
            name="nested",
            steps=[
                step("a"),
                {
                    "name": "n",
                    "kind": "SubOrchestration",
                    "orchestrationRef": {"name": "inner"},
                    "dependsOn": ["a"],
                },
                step("z", "n"),
            ],
            nested=[step("x"), step("y", "x")],
        ),
        Story(
            name="Job deleted by hand",
            steps=[step("a"), step("b", "a"), step("c", "b")],
            work=_scripted(b=LONG),
            people=_delete_job,
        ),
    )
}
STOPPING = {kind: Work(runs=60, on_term=kind) for kind in OnTerm}


async def tell(story: Story, *, faults: Faults | None = None, seed: int = 0) -> Told:
    """Play it to its end and a while longer, so that everything is let go."""
    async with bed(seed, story.work) as made:
        made.server.history.needs, made.server.history.forgiving = story.needs, story.forgiving
        if story.nested:
            await made.orchestration("inner", story.nested)
        await made.orchestration("o", story.steps, **story.spec)
        first = made.start_controllers(faults)
        reviving = asyncio.create_task(made.stays_alive())
        try:
            await made.start_run()
            await story.people(made)
            await made.ended()
            await asyncio.sleep(120)
            run = await made.run_object()
            if reviving.done():
                reviving.result()
            left = await _left_over(made)
            return Told(
                end=_end(run, made),
                writes=len(first.writes),
                violations=made.server.history.violations(),
                lives=len(made.lives),
                left_over=left,
            )
        finally:
            reviving.cancel()
            await asyncio.gather(reviving, return_exceptions=True)


async def _left_over(made: Bed) -> list[str]:
    """Objects that still carry our finalizer though all is over, and Jobs that run on."""
    found = []
    for job in await made.client.list(JOBS, NAMESPACE, labels=CHILD_UID):
        if job["metadata"].get("finalizers"):
            found.append(f"Job {job['metadata']['name']} is still held")
        if (job.get("status") or {}).get("active"):
            found.append(f"Job {job['metadata']['name']} still runs")
    return found


def _end(run: Mapping[str, Any], made: Bed) -> End:
    status = run["status"]
    return End(
        phase=status["phase"],
        reason=status.get("reason", ""),
        steps={
            each["name"]: (
                each["phase"],
                each.get("reason", ""),
                each.get("attempt", 0),
                str(each.get("outputs") or ""),
            )
            for each in status.get("stepStatuses") or ()
        },
        starts=dict(made.cluster.starts),
    )
