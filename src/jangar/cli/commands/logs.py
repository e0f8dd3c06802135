"""`jangar logs`: what the steps of a run wrote, or with --server the laptop's control plane."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.completions import complete_runs, complete_step_paths
from jangar.cli.exit_codes import ExitCode
from jangar.cli.target import Target, with_api_options
from jangar.cli.terminal import write_error, write_lines

if TYPE_CHECKING:
    from jangar.cli.api_session import Session

EPILOG = """\b
Examples:
  jangar logs nightly-1
  jangar logs nightly-1 build --tail 50
  jangar logs nightly-1 deploy/migrate --attempt 1
  jangar logs nightly-1 -f
  jangar logs --server -f --tail 20

\b
Exit codes: 0 shown, 4 no such run, step, attempt or log, 5 the API cannot be reached."""

SERVER_LINES = 200


@with_api_options
def logs_command(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Name of the run.", autocompletion=complete_runs)
    ] = "",
    step: Annotated[
        str,
        typer.Argument(
            metavar="STEP",
            help="One step; outer/inner for a nested run (default: all steps).",
            autocompletion=complete_step_paths,
        ),
    ] = "",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow the logs.")] = False,
    tail: Annotated[
        int | None,
        typer.Option("--tail", metavar="N", min=0, help="Number of last lines of each step (default: all)."),
    ] = None,
    attempt: Annotated[
        int | None,
        typer.Option("--attempt", metavar="N", min=1, help="Attempt to show (default: the latest)."),
    ] = None,
    server: Annotated[
        bool, typer.Option("--server", help="Show the log of the local control plane.")
    ] = False,
    *,
    target: Target,
) -> None:
    """Show the logs of a run's steps.

    After the pods are deleted, shows the stored end of each log; the first line says if lines are missing.
    """
    if server == bool(run):
        raise typer.BadParameter("pass a run, or --server for the log of the control plane", param_hint="RUN")
    if server:
        _show_server_log(target.data_dir, SERVER_LINES if tail is None else tail, follow=follow)
        return
    if follow and (attempt is not None or tail is not None):
        raise typer.BadParameter("cannot be combined with --tail or --attempt", param_hint="-f")
    from jangar.cli.api_session import ask  # noqa: PLC0415 - heavy

    async def work(session: "Session") -> ExitCode:
        if follow:
            return await _follow(session, target, run, step)
        return await _show(session, target, run, step, attempt, tail)

    raise typer.Exit(ask("logs", target, work))


async def _show(
    session: "Session", target: Target, run: str, step: str, attempt: int | None, tail: int | None
) -> ExitCode:
    from jangar.cli.api_session import Failure  # noqa: PLC0415 - heavy
    from jangar.cli.following.follow import tails_of  # noqa: PLC0415
    from jangar.cli.following.run_watcher import RunReader  # noqa: PLC0415
    from jangar.cli.runs.reading import RUNS  # noqa: PLC0415
    from jangar.cli.runs.step_logs import logs_of, sources  # noqa: PLC0415

    seen = await RunReader(session.client).read(await session.client.get(RUNS, run, session.namespace))
    if not seen.read.record.steps:
        raise Failure(f"{run} has not started: run jangar explain {run} for the reason", ExitCode.NOT_FOUND)
    found = sources(seen, step, attempt)
    tell = _line_writer(max(len(item.path) for item in found) if len(found) > 1 else 0)
    is_any = False
    async for log in logs_of(session, tails_of(target)).read_all(found, tail):
        if not log.missing:
            is_any = True
            for line in log.lines:
                tell(log.source.path, line)
        if log.missing or log.note or not log.lines:
            write_error(f"{log.source.path}: {log.missing or log.note or 'the log is empty'}")
    return ExitCode.OK if is_any else ExitCode.NOT_FOUND


async def _follow(session: "Session", target: Target, run: str, step: str) -> ExitCode:
    from jangar.cli.following.follow import tails_of  # noqa: PLC0415 - heavy
    from jangar.cli.runs.log_following import follow_logs  # noqa: PLC0415
    from jangar.cli.runs.reading import RUNS, read_object  # noqa: PLC0415
    from jangar.cli.runs.step_logs import logs_of  # noqa: PLC0415

    obj = await session.client.get(RUNS, run, session.namespace)
    names = [item.name for item in (await read_object(session.client, obj)).record.steps]
    tell = _line_writer(0 if "/" not in step and step else max(map(len, names), default=12))
    await follow_logs(session, obj, step, logs_of(session, tails_of(target)), tell)
    return ExitCode.OK


def _line_writer(width: int) -> Callable[[str, str], None]:
    """Writes lines, with the step before them where there are several."""

    def tell(path: str, line: str) -> None:
        write_lines([f"{path:<{width}} | {line}" if width else line])

    return tell


def _show_server_log(data_dir: Path | None, tail: int, *, follow: bool) -> None:
    from jangar.cli.laptop import server_log  # noqa: PLC0415 - not needed for --help
    from jangar.processes.data_directory import DataDirectory  # noqa: PLC0415

    place = DataDirectory.of(data_dir, os.environ)
    if not place.log.exists():
        write_error(f"jangar logs: {place.log} does not exist: jangar up never ran with this directory")
        raise typer.Exit(ExitCode.NOT_FOUND)
    write_lines(server_log.tail(place.log, tail))
    if follow:
        for line in server_log.followed(place.log):
            write_lines([line])
