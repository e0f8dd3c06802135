"""A scenario: an orchestration, how its work behaves, what people do meanwhile; how it is played, and what is left."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any, TypeAlias

from jangar.controllers.resources import CHILD_UID
from jangar.domain.work.releasing import OUTCOME_FINALIZER
from kubekit.client.builtin import JOBS, PODS
from simulation.bed import NAMESPACE, Bed, Scripts, bed
from simulation.faults import Faults
from simulation.simulated_cluster import Work
from support.virtual_time import EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """What is left of a story."""

    phase: str
    reason: str
    steps: Mapping[str, tuple[str, str, int, str]]
    """Phase, reason, attempt and outputs."""
    starts: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A story and what came of it."""

    end: End
    writes: int
    """Of the first life."""
    violations: Sequence[str]
    lives: int
    left_over: Sequence[str]
    status: Mapping[str, Any]
    """The run's last."""
    children: Mapping[str, Mapping[str, Any]]
    """The last status of each ToolRun, by name."""


Judge: TypeAlias = Callable[[Told, End], Iterable[str]]
"""What is wrong with what came of it; told also the end without faults."""


async def _nothing(_: Bed) -> None:
    pass


def _good(_: Random) -> Scripts:
    return lambda _name, _before: Work()


def same_end(told: Told, clean: End) -> Iterable[str]:
    """Nothing that went wrong may show."""
    if told.end != clean:
        yield f"the end is {told.end}, not {clean}"


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
    afterwards: float = 120
    """Seconds in which everything is let go."""

    @property
    def needs(self) -> dict[str, tuple[str, ...]]:
        return {each["name"]: tuple(each.get("dependsOn") or ()) for each in self.steps}

    @property
    def forgiving(self) -> frozenset[str]:
        return frozenset(each["name"] for each in self.steps if each.get("continueOnFailure"))


def scripted(**scripts: Work | tuple[Work, ...]) -> Callable[[Random], Scripts]:
    """Work by its name; several are its attempts."""

    def script(name: str, before: int) -> Work:
        found = scripts.get(name, Work())
        return found if isinstance(found, Work) else found[min(before, len(found) - 1)]

    return lambda _: script


async def tell(
    story: Story,
    *,
    lives: Sequence[Faults] = (),
    seed: int = 0,
    start: datetime = EPOCH,
    node_clock: float = 0.0,
) -> Told:
    """Play it to its end and a while longer, so that everything is let go."""
    async with bed(seed, drawn=story.work, start=start, node_clock=node_clock) as made:
        made.server.history.needs, made.server.history.forgiving = story.needs, story.forgiving
        if story.nested:
            await made.orchestration("inner", story.nested)
        await made.orchestration("o", story.steps, **story.spec)
        first = made.start_controllers(lives[0] if lives else None)
        reviving = asyncio.create_task(made.stays_alive(lives[1:]))
        try:
            await play(story, made, longer=max((each.behind for each in lives), default=0.0))
            if reviving.done():
                reviving.result()
            return await told(made, writes=len(first.wire.writes))
        finally:
            reviving.cancel()
            await asyncio.gather(reviving, return_exceptions=True)


async def play(story: Story, made: Bed, *, longer: float = 0.0) -> None:
    """From the request to the last trace; who has a clock that is behind lets go so much later."""
    await made.start_run(**story.run)
    await story.people(made)
    await made.over()
    await asyncio.sleep(story.afterwards + longer)


async def told(made: Bed, *, writes: int) -> Told:
    history = made.server.history
    run = next(
        each.obj
        for each in reversed(history.versions)
        if each.resource == "orchestrationruns" and each.obj["metadata"]["name"] == "run"
    )
    return Told(
        end=_end(run, made),
        writes=writes,
        violations=history.violations(),
        lives=len(made.lives),
        left_over=await _left_over(made),
        status=run.get("status") or {},
        children={
            each.obj["metadata"]["name"]: each.status
            for each in history.versions
            if each.resource == "toolruns"
        },
    )


async def _left_over(made: Bed) -> list[str]:
    """Objects that still carry our finalizer though all is over, and Jobs that run on."""
    found = []
    for resource in (JOBS, PODS):
        for each in await made.client.list(resource, NAMESPACE, labels=CHILD_UID):
            name = f"{resource.kind} {each['metadata']['name']}"
            if OUTCOME_FINALIZER in (each["metadata"].get("finalizers") or ()):
                found.append(f"{name} is still held")
            if (each.get("status") or {}).get("active"):
                found.append(f"{name} still runs")
    return found


def _end(run: Mapping[str, Any], made: Bed) -> End:
    status = run.get("status") or {}
    return End(
        phase=status.get("phase", ""),
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
