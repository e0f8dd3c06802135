"""Processes that share the work: a holder is killed, paused, or disconnected. Row 8 of the matrix."""

import asyncio
from random import Random

import pytest

from kubekit.controller.fence import current_key
from simulation.bed import bed
from simulation.faults import Faults
from simulation.plans import BLOCKS, block_of, clean, undisturbed
from simulation.stories import STORIES
from simulation.story import End, play, trial_result
from support.reliability_page import record_trials

TAKEN_OVER = 60.0
"""Seconds without a renewal after which a lease of 30 s certainly has another holder."""
LONG = ("chain", "diamond", "fan-out", "nested")
OTHERS = ("two", "three")
WAYS = ("killed", "paused", "partitioned")


@pytest.mark.rule("RUN-3", "CHART-4")
@pytest.mark.parametrize("shards", [1, 12])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_only_one_of_several_processes_acts(way, shards, block, record_property):
    """Others take over; two never decide on one object at once, no work is repeated, and the outcome is the same."""
    failed = []
    seeds = block_of(block, 70, 1)
    for seed in seeds:
        name = list(STORIES)[(seed + WAYS.index(way)) % len(STORIES)]
        try:
            violations = undisturbed(_rivalry(name, way, seed, shards, clean(name).end))
        except Exception as error:  # noqa: BLE001 - whatever it was, the trial failed
            violations = [repr(error)]
        if violations:
            failed.append((name, way, seed, violations))
    row = f"8: the lease's holder is {way}" if shards == 1 else f"8: a holder of {shards} shards is {way}"
    record_trials(record_property, row=row, bed="S", seeds=seeds, failures=len(failed))
    assert failed == []


async def _rivalry(name: str, way: str, seed: int, shards: int, end: End) -> list[str]:
    story = STORIES[name]
    rng = Random(f"rivals {seed}")  # noqa: S311
    moment = 6.0 + 4 * rng.random()
    pause = 20 + 50 * rng.random()
    window = ((moment, moment + pause),)
    faults = {
        "killed": Faults(die_after=moment),
        "paused": Faults(paused=window),
        "partitioned": Faults(away=window),
    }[way]
    violations: list[str] = []
    async with bed(seed, drawn=story.work) as made:
        made.server.history.needs, made.server.history.forgiving = story.needs, story.forgiving
        if story.nested:
            await made.orchestration("inner", story.nested)
        await made.orchestration("o", story.steps, **story.spec)
        lives = [made.start_controllers(faults, candidate="one", shards=shards)]
        await asyncio.sleep(0.5)
        lives += [
            made.start_controllers(candidate=other, shards=shards) for other in OTHERS[: 1 + (shards > 1)]
        ]
        for own in lives:
            own.wire.on_write = _alone(own, [live for live in lives if live is not own], violations)
        await asyncio.sleep(5.5)
        await play(story, made)
        came = await trial_result(made, writes=0)
    must_take_over = name in LONG and moment < 7.5 and (way == "killed" or pause > TAKEN_OVER)
    if must_take_over and not any(live.wire.writes for live in lives[1:]):
        violations.append("the other processes never acted")
    return [*violations, *came.violations, *came.left_over, *story.judge(came, end)]


def _alone(own, others, violations):
    def on_write(what):
        key = current_key()
        if key is None:
            violations.append(f"{what} was decided outside of any pass")
            return
        for other in others:
            if other.sharing.shards.holds(key) and not other.wire.dead:
                names = [item.sharing.shards.identity for item in (own, other)]
                violations.append(f"{names[0]} decided to {what} for {key} while {names[1]} held its shard")

    return on_write
