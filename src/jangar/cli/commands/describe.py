"""`jangar describe`: everything about one run."""

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jangar.cli.completions import complete_runs
from jangar.cli.output.form import TABLE, FormOption, Shape
from jangar.cli.target import Target, with_api_options
from jangar.cli.terminal import columns, has_color, write_lines

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from jangar.cli.runs.reading import ReadRun

EPILOG = """\b
Examples:
  jangar describe nightly-1
  jangar describe nightly-1 -n team-a --context staging
  jangar describe nightly-1 -o json | jq '.steps[] | {name, inputs, outputs}'

\b
Exit codes: 0 shown, 4 not found, 5 the API cannot be reached."""

RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="Name of the run.", autocompletion=complete_runs)
]


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
    from jangar.cli.api_session import ask  # noqa: PLC0415 - heavy
    from jangar.cli.output.form import object_lines  # noqa: PLC0415
    from jangar.cli.runs.describing import described, described_document  # noqa: PLC0415
    from jangar.cli.runs.failed_logs import failed_tails  # noqa: PLC0415
    from jangar.cli.runs.reading import read_run  # noqa: PLC0415
    from kubekit.client.builtin import EVENTS  # noqa: PLC0415

    async def work(session: "Session") -> "tuple[ReadRun, list[dict[str, Any]], dict[str, list[str]]]":
        read = await read_run(session, run)
        about = f"involvedObject.uid={read.obj['metadata']['uid']}"
        events = await session.client.list(EVENTS, session.namespace, fields=about)
        return read, events, await failed_tails(session, target, read)

    read, events, tails = ask("describe", target, work)
    now = datetime.now(UTC)
    if not output.is_table:
        write_lines(object_lines(output, [described_document(read, events, now, tails)], is_one=True))
        return
    width = columns() if sys.stdout.isatty() and output.shape is not Shape.WIDE else None
    write_lines(described(read, events, now, width=width, color=has_color(sys.stdout), tails=tails))
