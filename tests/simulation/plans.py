"""A trial as plain data: the story, the seed, and the faults of each life. A failure is a file that reproduces it."""

import functools
import gc
import json
import logging
import os
import traceback
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any, Self, TypeVar

from kubekit.times import parse_rfc3339, rfc3339
from simulation.cancel_races import RACES, STUBBORN, TRUTHFUL
from simulation.disruptions import DISRUPTED, VANISHING
from simulation.faults import Faults
from simulation.stories import SHORT_LIVED, STORIES
from simulation.story import Story, TrialResult, run_story
from support.reliability_page import record_trials
from support.virtual_time import EPOCH, run_virtual

EVERY: dict[str, Story] = {
    **STORIES,
    **SHORT_LIVED,
    **RACES,
    **STUBBORN,
    **TRUTHFUL,
    **VANISHING,
    **DISRUPTED,
}
ALL = os.environ.get("JANGAR_SIMULATION") == "all"
BLOCKS = 8
T = TypeVar("T")
_played = count(1)
COLLECTED = 16
"""Trials between garbage collections; collecting within a trial costs a sixth of the time."""


def undisturbed(trial: Coroutine[Any, Any, T]) -> T:
    """Run without logging and garbage collection; return the result."""
    gc.disable()
    silenced = logging.root.manager.disable
    logging.disable()
    try:
        return run_virtual(trial)
    finally:
        logging.disable(silenced)
        gc.enable()
        if next(_played) % COLLECTED == 0:
            gc.collect()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One trial."""

    story: str
    seed: int = 0
    lives: Sequence[Faults] = ()
    """The first life's faults, then those of each life that follows a crash."""
    start: datetime = EPOCH
    node_clock: float = 0.0
    """Seconds by which the nodes' clock is ahead."""

    def as_json(self) -> str:
        document: dict[str, Any] = {"story": self.story, "seed": self.seed}
        if self.lives:
            document["lives"] = [live.as_json() for live in self.lives]
        if self.start != EPOCH:
            document["start"] = rfc3339(self.start)
        if self.node_clock:
            document["node_clock"] = self.node_clock
        return json.dumps(document)

    @classmethod
    def of_json(cls, text: str) -> Self:
        document = json.loads(text)
        return cls(
            story=document["story"],
            seed=document.get("seed", 0),
            lives=tuple(Faults.of_json(live) for live in document.get("lives", ())),
            start=parse_rfc3339(document["start"]) if "start" in document else EPOCH,
            node_clock=document.get("node_clock", 0.0),
        )

    def play(self) -> TrialResult:
        return undisturbed(
            run_story(
                EVERY[self.story],
                lives=self.lives,
                seed=self.seed,
                start=self.start,
                node_clock=self.node_clock,
            )
        )


@functools.cache
def clean(story: str) -> TrialResult:
    """The result without faults."""
    return Plan(story=story).play()


def problems(plan: Plan) -> list[str]:
    """The violations of its result."""
    try:
        reported = plan.play()
        return [
            *reported.violations,
            *reported.left_over,
            *EVERY[plan.story].judge(reported, clean(plan.story).end),
        ]
    except TimeoutError:
        return ["it came to no end"]
    except Exception:  # noqa: BLE001 - whatever it was, the trial failed
        return [traceback.format_exc()]


def block_of(block: int, trials: int, sample: int) -> range:
    """The seeds of one of `BLOCKS` parts: all trials in a full proof, otherwise the first few of them."""
    return range(block, trials if ALL else sample, BLOCKS)


def prove(
    row: str, plans: Iterable[Plan], record_property: Callable[[str, object], None], *, bed: str = "S"
) -> None:
    """Run all plans; print each failing one as a line that reproduces it."""
    played, failed = [], []
    for plan in plans:
        played.append(plan.seed)
        if violations := problems(plan):
            failed.append(f"{violations}\n  replay, in tests: python -m simulation.replay '{plan.as_json()}'")
    record_trials(record_property, row=row, bed=bed, seeds=played, failures=len(failed))
    assert not failed, "\n".join([f"{len(failed)} of {len(played)} trials failed", *failed[:5]])
