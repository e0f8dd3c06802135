"""Prints the logs of a run's steps, once or as they are written."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from jangar.cli.api_session import Failure, Session
from jangar.cli.exit_codes import ExitCode
from jangar.cli.following.follow import tails_of
from jangar.cli.following.run_watcher import RunReader, watch_run
from jangar.cli.target import Target
from jangar.cli.terminal import write_error, write_lines
from jangar.operations.run_reading import get_run
from jangar.operations.step_logs import LogSource, StepLogs, log_sources

TICK: Final = 1.0

WriteLine = Callable[[str, str], None]
"""Writes a line of a step, which is named by its path."""


async def show_logs(
    session: Session, target: Target, run: str, step: str, attempt: int | None, tail: int | None
) -> ExitCode:
    """Print the logs of all steps or one, and why a step has none."""
    read = await get_run(session.caller, session.run(run))
    tree = await RunReader(session.client).read(dict(read.obj))
    if not tree.read.record.steps:
        raise Failure(f"{run} has not started: run jangar explain {run} for the reason", ExitCode.NOT_FOUND)
    sources = log_sources(tree, step, attempt)
    write = _line_writer(max(len(source.path) for source in sources) if len(sources) > 1 else 0)
    has_log = False
    async for log in session.logs(tails_of(target)).read_all(sources, tail):
        if not log.missing:
            has_log = True
            for line in log.lines:
                write(log.source.path, line)
        if log.missing or log.note or not log.lines:
            write_error(f"{log.source.path}: {log.missing or log.note or 'the log is empty'}")
    return ExitCode.OK if has_log else ExitCode.NOT_FOUND


async def follow_logs(session: Session, target: Target, run: str, step: str) -> ExitCode:
    """Print lines as they are written, until the run and all its logs end. Every attempt is followed."""
    read = await get_run(session.caller, session.run(run))
    names = [state.name for state in read.record.steps]
    write = _line_writer(0 if "/" not in step and step else max(map(len, names), default=12))
    logs, tasks = session.logs(tails_of(target)), dict[tuple[str, int], asyncio.Task[None]]()
    async with aclosing(watch_run(session, dict(read.obj), tick=TICK)) as trees:
        async for tree in trees:
            for source in log_sources(tree, step, None) if tree.read.record.steps else ():
                key = (source.path, source.attempt)
                if source.child_uid is not None and key not in tasks:
                    tasks[key] = asyncio.create_task(_follow(source, logs, write))
    await asyncio.gather(*tasks.values())
    return ExitCode.OK


async def _follow(source: LogSource, logs: StepLogs, write: WriteLine) -> None:
    async with aclosing(logs.follow(source)) as lines:
        async for line in lines:
            write(source.path, line)


def _line_writer(width: int) -> WriteLine:
    """Writes lines, prefixed with the step if there are several."""

    def write(path: str, line: str) -> None:
        write_lines([f"{path:<{width}} | {line}" if width else line])

    return write
