"""Helpers that build history rows and call any implementation with a timeout."""

import asyncio
from datetime import UTC, datetime, timedelta

from jangar.store.rows import Ended, RunRow, StepRow

NOON = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)


def ended(name: str, *, at: int = 0, steps=(), log_tail=None, whole=None, key=None, **fields) -> Ended:
    """A run that ended `at` seconds after noon."""
    reported = {
        "uid": f"uid-{name}",
        "kind": "OrchestrationRun",
        "namespace": "ci",
        "name": name,
        "version": 1,
        "phase": "Succeeded",
        "created_at": NOON - timedelta(hours=1),
        "finished_at": NOON + timedelta(seconds=at),
        "updated_at": NOON + timedelta(seconds=at),
        "root_uid": f"uid-{name}",
        "spec": {"orchestrationRef": {"name": "nightly"}},
    }
    return Ended(run=RunRow(**reported | fields), steps=tuple(steps), log_tail=log_tail, whole=whole, key=key)


def step(position: int, name: str, **fields) -> StepRow:
    return StepRow(**{"position": position, "name": name, "kind": "ToolRun", "phase": "Succeeded"} | fields)


def run(scenario, seconds=60.0):
    """Run a whole test in one loop with a timeout."""

    async def bounded():
        async with asyncio.timeout(seconds):
            return await scenario

    return asyncio.run(bounded())
