"""`jangar describe`, `explain` and `logs`: show one run, the reasons for its state (RUN-4), and its logs."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.api_session import Session, call_api
from jangar.cli.commands.run import RunArgument
from jangar.cli.completions import complete_runs, complete_step_paths, complete_steps
from jangar.cli.exit_codes import ExitCode
from jangar.cli.json_text import json_text
from jangar.cli.output.form import TABLE, FormOption, Shape, object_lines
from jangar.cli.target import Target, with_api_options
from jangar.cli.terminal import TextOrJson, columns, has_color, write_error, write_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jangar.domain.orchestration.explain import Explanation
    from jangar.operations.run_reading import ReadRun
    from kubekit.client.api_client import Obj

DESCRIBE_EPILOG = """\b
Examples:
  jangar describe nightly-1
  jangar describe nightly-1 -n team-a --context staging
  jangar describe nightly-1 -o json | jq '.steps[] | {name, inputs, outputs}'

\b
Exit codes: 0 shown, 4 not found, 5 the API cannot be reached."""
EXPLAIN_EPILOG = """\b
Examples:
  jangar explain nightly-1
  jangar explain nightly-1 deploy
  kubectl jangar explain nightly-1 -o json

\b
Exit codes: 0 explained, 4 no such run or step, 5 the API cannot be reached."""
LOGS_EPILOG = """\b
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
def describe_command(
    run: RunArgument,
    output: FormOption = TABLE,
    *,
    target: Target,
) -> None:
    """Show everything about a run.

    Shows steps with inputs and outputs, the last log lines of failed steps, conditions and events.
    Long values are truncated with their length; -o json and -o yaml show them in full.
    """
    from jangar.cli.run_description import (  # noqa: PLC0415
        description_document,
        description_lines,
        failed_log_lines,
    )
    from jangar.operations.objects import list_events  # noqa: PLC0415
    from jangar.operations.run_reading import get_run  # noqa: PLC0415

    async def work(session: Session) -> "tuple[ReadRun, list[Obj], dict[str, list[str]]]":
        read = await get_run(session.caller, session.run(run))
        events = await list_events(session.caller, read.obj)
        return read, events, await failed_log_lines(session, target, read)

    read, events, tails = call_api("describe", target, work)
    now = datetime.now(UTC)
    if not output.is_table:
        write_lines(object_lines(output, [description_document(read, events, now, tails)], is_one=True))
        return
    width = columns() if sys.stdout.isatty() and output.shape is not Shape.WIDE else None
    color = has_color(sys.stdout)
    write_lines(description_lines(read, events, now, width=width, color=color, tails=tails))


@with_api_options
def explain_command(
    run: RunArgument,
    step: Annotated[
        str,
        typer.Argument(
            metavar="STEP",
            help="One step (default: all steps that did not succeed).",
            autocompletion=complete_steps,
        ),
    ] = "",
    output: Annotated[TextOrJson, typer.Option("--output", "-o", help="Output format.")] = TextOrJson.TEXT,
    *,
    target: Target,
) -> None:
    """Explain why steps wait, retry, failed or were skipped.

    Also shows the inputs and outputs of the steps.
    """
    from jangar.cli.run_description import explanation_document, explanation_lines  # noqa: PLC0415
    from jangar.operations.run_reading import explain_run_steps  # noqa: PLC0415

    async def work(session: Session) -> "tuple[ReadRun, Sequence[Explanation]]":
        return await explain_run_steps(session.caller, session.run(run), step)

    read, explanations = call_api("explain", target, work)
    if output is TextOrJson.JSON:
        write_lines([json_text(explanation_document(read, explanations))])
    else:
        width = columns() if sys.stdout.isatty() else None
        write_lines(explanation_lines(read, explanations, width=width))


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

    from jangar.cli.logs import follow_logs, show_logs  # noqa: PLC0415 - heavy

    async def work(session: Session) -> ExitCode:
        if follow:
            return await follow_logs(session, target, run, step)
        return await show_logs(session, target, run, step, attempt, tail)

    raise typer.Exit(call_api("logs", target, work))


def _show_server_log(data_dir: Path | None, tail: int, *, follow: bool) -> None:
    from jangar.cli.laptop import server_log  # noqa: PLC0415 - not needed for --help
    from jangar.processes.data_directory import DataDirectory  # noqa: PLC0415

    directory = DataDirectory.of(data_dir, os.environ)
    if not directory.log.exists():
        write_error(f"jangar logs: {directory.log} does not exist: jangar up never ran with this directory")
        raise typer.Exit(ExitCode.NOT_FOUND)
    write_lines(server_log.tail(directory.log, tail))
    if follow:
        for line in server_log.followed(directory.log):
            write_lines([line])
