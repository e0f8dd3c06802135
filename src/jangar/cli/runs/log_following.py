"""The logs of a run's steps as they are written: every attempt that starts is followed to its end."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from jangar.cli.following.run_watcher import watch_run
from jangar.cli.following.tree import Seen
from jangar.cli.runs.step_logs import sources
from jangar.operations.step_logs import Source, StepLogs

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from kubekit.client.api_client import Obj

TICK: Final = 1.0

Tell = Callable[[str, str], None]
"""Takes the path of a step and a line."""


async def follow_logs(session: "Session", obj: "Obj", step: str, logs: StepLogs, tell: Tell) -> None:
    """Until the run is over and every line is told."""
    tasks: dict[tuple[str, int], asyncio.Task[None]] = {}
    async with aclosing(watch_run(session, obj, tick=TICK)) as found:
        async for seen in found:
            for source in _started(seen, step):
                key = (source.path, source.attempt)
                if key not in tasks:
                    tasks[key] = asyncio.create_task(_followed(source, logs, tell))
    await asyncio.gather(*tasks.values())


def _started(seen: Seen, step: str) -> list[Source]:
    if not seen.read.record.steps:
        return []
    return [source for source in sources(seen, step, None) if source.child_uid is not None]


async def _followed(source: Source, logs: StepLogs, tell: Tell) -> None:
    async with aclosing(logs.follow(source)) as lines:
        async for line in lines:
            tell(source.path, line)
