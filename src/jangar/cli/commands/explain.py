"""`jangar explain`: why a run and its steps are as they are (RUN-4)."""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.commands.describe import RunArgument
from jangar.cli.completions import complete_steps
from jangar.cli.target import Target, with_api_options
from jangar.cli.terminal import columns, write_lines

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from jangar.cli.runs.reading import ReadRun

EPILOG = """\b
Examples:
  jangar explain nightly-1
  jangar explain nightly-1 deploy
  kubectl jangar explain nightly-1 -o json

\b
Exit codes: 0 explained, 4 no such run or step, 5 the API cannot be reached."""


class ExplainFormat(StrEnum):
    """How it is shown."""

    TEXT = "text"
    JSON = "json"


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
    output: Annotated[
        ExplainFormat, typer.Option("--output", "-o", help="Output format.")
    ] = ExplainFormat.TEXT,
    *,
    target: Target,
) -> None:
    """Explain why steps wait, retry, failed or were skipped.

    Also shows the inputs and outputs of the steps.
    """
    from jangar.cli.api_session import ask  # noqa: PLC0415 - heavy
    from jangar.cli.json_text import json_text  # noqa: PLC0415
    from jangar.cli.runs.explaining import explained, explained_document, lines  # noqa: PLC0415
    from jangar.cli.runs.reading import read_run  # noqa: PLC0415

    async def work(session: "Session") -> "ReadRun":
        read = await read_run(session, run)
        explained(read, step)
        return read

    read = ask("explain", target, work)
    found = explained(read, step)
    if output is ExplainFormat.JSON:
        write_lines([json_text(explained_document(read, found))])
    else:
        write_lines(lines(read, found, width=columns() if sys.stdout.isatty() else None))
