"""Whose logs a command means: those of all steps, of one, or of the steps of a nested run; and how it reads them."""

from pathlib import Path
from typing import TYPE_CHECKING

from jangar.cli.following.tree import Seen
from jangar.cli.runs.reading import RUNS, ReadRun, read_object
from jangar.operations.refusals import Refused, Why
from jangar.operations.step_logs import Source, StepLogs, no_step, source

if TYPE_CHECKING:
    from jangar.cli.api_session import Session


def sources(seen: Seen, step: str, attempt: int | None, prefix: str = "") -> list[Source]:
    """All steps, or the one named; raises Refused if there is none of that name or number."""
    first, _, rest = step.partition("/")
    states = list(seen.read.record.steps)
    names = [item.name for item in states]
    if first and first not in names:
        raise no_step(seen.read.identity.name, first, names)
    found: list[Source] = []
    for state in states:
        if first and state.name != first:
            continue
        within = seen.inside.get(state.name)
        if within is not None:
            found += sources(within, rest, attempt, f"{prefix}{state.name}/")
        elif rest:
            raise Refused(f"{prefix}{state.name} is not a nested run: it has no step {rest}", Why.MISSING)
        else:
            found.append(source(seen.read, state, f"{prefix}{state.name}", attempt))
    return found


def logs_of(session: "Session", tails: Path | None) -> StepLogs:
    """What reads them, as this command's user."""

    async def read(namespace: str, name: str) -> ReadRun:
        return await read_object(session.client, await session.client.get(RUNS, name, namespace))

    return StepLogs(session.client, session.transport, read, tails=tails, together=True)
