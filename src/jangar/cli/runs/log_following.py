"""The logs of a run's steps as they are written: every attempt that starts is followed to its end."""

import asyncio
import contextlib
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from jangar.cli.following.sights import sights
from jangar.cli.following.tree import Seen
from jangar.cli.runs.step_logs import Source, StepLogs, sources
from jangar.kube.builtin import PODS
from jangar.kube.errors import ApiError

if TYPE_CHECKING:
    from jangar.cli.asking import Session
    from jangar.kube.client import Obj

TICK: Final = 1.0
AGAIN_SECONDS: Final = 0.3
SILENCE: Final = 3600.0

Tell = Callable[[str, str], None]
"""Takes the path of a step and a line."""


async def follow_logs(session: "Session", obj: "Obj", step: str, logs: StepLogs, tell: Tell) -> None:
    """Until the run is over and every line is told."""
    tasks: dict[tuple[str, int], asyncio.Task[None]] = {}
    async with aclosing(sights(session, obj, tick=TICK)) as found:
        async for seen in found:
            for source in _started(seen, step):
                key = (source.path, source.attempt)
                if key not in tasks:
                    tasks[key] = asyncio.create_task(_followed(session, source, logs, tell))
    await asyncio.gather(*tasks.values())


def _started(seen: Seen, step: str) -> list[Source]:
    if not seen.read.record.steps:
        return []
    return [each for each in sources(seen, step, None) if each.child_uid is not None]


async def _followed(session: "Session", source: Source, logs: StepLogs, tell: Tell) -> None:
    """One attempt: streamed from its pod; from where it is kept if the pod has gone already."""
    if source.state.is_live:
        pod = await _pod(source, logs)
        if pod is not None and await _streamed(session, source, pod, tell):
            return
    log = await logs.one(source, None)
    for line in log.lines:
        tell(source.path, line)


async def _pod(source: Source, logs: StepLogs) -> str | None:
    """As soon as there is one; None if the step's work is over before."""
    for _ in range(round(60 / AGAIN_SECONDS)):
        with contextlib.suppress(ApiError):
            if (found := await logs.pod(source)) is not None:
                return found
        await asyncio.sleep(AGAIN_SECONDS)
    return None


async def _streamed(session: "Session", source: Source, pod: str, tell: Tell) -> bool:
    """Whether anything came. With timestamps no line is empty, so none is lost on the way."""
    path = PODS.path(source.namespace, pod, "log")
    query = {"follow": "true", "timestamps": "true"}
    for _ in range(round(60 / AGAIN_SECONDS)):
        told = False
        try:
            async with session.transport.stream(path, query=query, idle_timeout=SILENCE) as lines:
                async for line in lines:
                    told = True
                    tell(source.path, line.decode(errors="replace").partition(" ")[2])
        except ApiError as error:
            if told or error.status not in {400, 0}:
                return told
            # The container has not started.
            await asyncio.sleep(AGAIN_SECONDS)
        else:
            return told
    return False
