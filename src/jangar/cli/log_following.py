"""Follows the logs of a run's steps: every attempt that starts is followed until it ends."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from jangar.cli.following.run_watcher import watch_run
from jangar.cli.following.tree import Seen
from jangar.operations.step_logs import LogSource, StepLogs, log_sources

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from kubekit.client.api_client import Obj

TICK: Final = 1.0

WriteLine = Callable[[str, str], None]
"""Writes a line of a step, which is named by its path."""


async def follow_logs(session: "Session", obj: "Obj", step: str, logs: StepLogs, write: WriteLine) -> None:
    """Write lines until the run and all its logs end."""
    tasks: dict[tuple[str, int], asyncio.Task[None]] = {}
    async with aclosing(watch_run(session, obj, tick=TICK)) as trees:
        async for tree in trees:
            for source in _started(tree, step):
                key = (source.path, source.attempt)
                if key not in tasks:
                    tasks[key] = asyncio.create_task(_follow(source, logs, write))
    await asyncio.gather(*tasks.values())


def _started(tree: Seen, step: str) -> list[LogSource]:
    if not tree.read.record.steps:
        return []
    return [source for source in log_sources(tree, step, None) if source.child_uid is not None]


async def _follow(source: LogSource, logs: StepLogs, write: WriteLine) -> None:
    async with aclosing(logs.follow(source)) as lines:
        async for line in lines:
            write(source.path, line)
