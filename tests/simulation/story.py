"""A scenario: an orchestration, the scripts of its work, the actions of users, how it runs, and its result."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any, TypeAlias

from jangar.controllers.resources import CHILD_UID
from jangar.domain.job_execution.cleanup import OUTCOME_FINALIZER
from kubekit.client.builtin import JOBS, PODS
from simulation.bed import NAMESPACE, Bed, Scripts, bed
from simulation.faults import Faults
from simulation.simulated_cluster import Work
from support.virtual_time import EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The result of a story."""

    phase: str
    reason: str
    steps: Mapping[str, tuple[str, str, int, str]]
    """Phase, reason, attempt and outputs."""
    starts: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """A story and its result."""

    end: End
    writes: int
    """Of the first life."""
    violations: Sequence[str]
    lives: int
    left_over: Sequence[str]
    status: Mapping[str, Any]
    """The last status of the run."""
    children: Mapping[str, Mapping[str, Any]]
    """The last status of each ToolRun, by name."""


Judge: TypeAlias = Callable[[TrialResult, End], Iterable[str]]
"""The violations of a result; the result without faults is an argument, too."""


async def _nothing(_: Bed) -> None:
    pass


def _good(_: Random) -> Scripts:
    return lambda _name, _before: Work()


def same_end(reported: TrialResult, clean: End) -> Iterable[str]:
    """No fault may be visible in the result."""
    if reported.end != clean:
        yield f"the end is {reported.end}, not {clean}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One scenario."""

    name: str
    steps: Sequence[Mapping[str, Any]]
    work: Callable[[Random], Scripts] = _good
    people: Callable[[Bed], Awaitable[None]] = _nothing
    nested: Sequence[Mapping[str, Any]] = ()
    spec: Mapping[str, Any] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)
    """More of the run's spec."""
    judge: Judge = same_end
    settle_seconds: float = 120
    """Seconds until all objects are released."""

    @property
    def needs(self) -> dict[str, tuple[str, ...]]:
        return {step["name"]: tuple(step.get("dependsOn") or ()) for step in self.steps}

    @property
    def forgiving(self) -> frozenset[str]:
        return frozenset(step["name"] for step in self.steps if step.get("continueOnFailure"))


def scripted(**scripts: Work | tuple[Work, ...]) -> Callable[[Random], Scripts]:
    """Work by its name; several entries are its attempts."""

    def script(name: str, before: int) -> Work:
        work = scripts.get(name, Work())
        return work if isinstance(work, Work) else work[min(before, len(work) - 1)]

    return lambda _: script


async def run_story(
    story: Story,
    *,
    lives: Sequence[Faults] = (),
    seed: int = 0,
    start: datetime = EPOCH,
    node_clock: float = 0.0,
) -> TrialResult:
    """Run it to its end and a while longer, so that all objects are released."""
    async with bed(seed, drawn=story.work, start=start, node_clock=node_clock) as made:
        made.server.history.needs, made.server.history.forgiving = story.needs, story.forgiving
        if story.nested:
            await made.orchestration("inner", story.nested)
        await made.orchestration("o", story.steps, **story.spec)
        first = made.start_controllers(lives[0] if lives else None)
        reviving = asyncio.create_task(made.stays_alive(lives[1:]))
        try:
            await play(story, made, longer=max((live.behind for live in lives), default=0.0))
            if reviving.done():
                reviving.result()
            return await trial_result(made, writes=len(first.wire.writes))
        finally:
            reviving.cancel()
            await asyncio.gather(reviving, return_exceptions=True)


async def play(story: Story, made: Bed, *, longer: float = 0.0) -> None:
    """From the request until all objects are released; a clock that is behind delays that."""
    await made.start_run(**story.run)
    await story.people(made)
    await made.over()
    await asyncio.sleep(story.settle_seconds + longer)


async def trial_result(made: Bed, *, writes: int) -> TrialResult:
    history = made.server.history
    run = next(
        version.obj
        for version in reversed(history.versions)
        if version.resource == "orchestrationruns" and version.obj["metadata"]["name"] == "run"
    )
    return TrialResult(
        end=_end(run, made),
        writes=writes,
        violations=history.violations(),
        lives=len(made.lives),
        left_over=await _left_over(made),
        status=run.get("status") or {},
        children={
            version.obj["metadata"]["name"]: version.status
            for version in history.versions
            if version.resource == "toolruns"
        },
    )


async def _left_over(made: Bed) -> list[str]:
    """Objects that still have our finalizer after the end, and Jobs that still run."""
    remaining = []
    for resource in (JOBS, PODS):
        for item in await made.client.list(resource, NAMESPACE, labels=CHILD_UID):
            name = f"{resource.kind} {item['metadata']['name']}"
            if OUTCOME_FINALIZER in (item["metadata"].get("finalizers") or ()):
                remaining.append(f"{name} still has our finalizer")
            if (item.get("status") or {}).get("active"):
                remaining.append(f"{name} still runs")
    return remaining


def _end(run: Mapping[str, Any], made: Bed) -> End:
    status = run.get("status") or {}
    return End(
        phase=status.get("phase", ""),
        reason=status.get("reason", ""),
        steps={
            step_status["name"]: (
                step_status["phase"],
                step_status.get("reason", ""),
                step_status.get("attempt", 0),
                str(step_status.get("outputs") or ""),
            )
            for step_status in status.get("stepStatuses") or ()
        },
        starts=dict(made.cluster.starts),
    )
