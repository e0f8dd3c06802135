"""Twelve scenarios with the same outcome under all faults."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from kubekit.client.builtin import JOBS
from simulation.bed import NAMESPACE, Bed, step
from simulation.simulated_cluster import Work
from simulation.story import End, Story, TrialResult, same_end, scripted


def is_now(name: str, *phases: str) -> Callable[[dict[str, Any]], bool]:
    def holds(run: dict[str, Any]) -> bool:
        steps = {
            step_status["name"]: step_status
            for step_status in (run.get("status") or {}).get("stepStatuses") or ()
        }
        return steps.get(name, {}).get("phase") in phases

    return holds


async def _cancel_at_once(made: Bed) -> None:
    await made.cancel()


async def _cancel_midway(made: Bed) -> None:
    await made.until(is_now("b", "Running"))
    await made.cancel()


async def _cancel_late(made: Bed) -> None:
    await made.ended()
    await made.cancel()


async def _delete_job(made: Bed) -> None:
    await made.until(is_now("b", "Running"))
    for job in await made.client.list(JOBS, NAMESPACE):
        if "-b-" in job["metadata"]["name"]:
            await made.client.delete(JOBS, job["metadata"]["name"], NAMESPACE, uid=job["metadata"]["uid"])


def _same_but_perhaps_not_started(reported: TrialResult, clean: End) -> Iterable[str]:
    """Faults may take so long that the timeout expires before the work has started."""
    started = reported.end if reported.end.starts else replace(reported.end, starts=clean.starts)
    return same_end(replace(reported, end=started), clean)


FAILS = Work(exit_code=1)
LONG = Work(runs=600)

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
            work=scripted(b=FAILS),
        ),
        Story(
            name="continueOnFailure",
            steps=[step("a", continueOnFailure=True), step("b", "a")],
            work=scripted(a=FAILS),
        ),
        Story(
            name="retry",
            steps=[step("a", retries=2, retryBackoffSeconds=1), step("b", "a")],
            work=scripted(a=(FAILS, FAILS, Work())),
        ),
        Story(
            name="timeout",
            steps=[step("a", timeoutSeconds=3), step("b", "a")],
            work=scripted(a=LONG),
            judge=_same_but_perhaps_not_started,
        ),
        Story(
            name="cancel early",
            steps=[step("a"), step("b", "a")],
            people=_cancel_at_once,
            work=scripted(a=LONG),
        ),
        Story(
            name="cancel midway",
            steps=[step("a"), step("b", "a"), step("c", "b")],
            work=scripted(b=LONG),
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
            work=scripted(b=LONG),
            people=_delete_job,
        ),
    )
}

SHORT_LIVED = {
    story.name: story
    for story in (
        Story(
            name="a run with a time to live",
            steps=[step("a"), step("b", "a")],
            run={"ttlSecondsAfterFinished": 60},
        ),
    )
}
"""Deleted by the controllers, never early."""
