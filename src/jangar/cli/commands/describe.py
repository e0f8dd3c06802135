"""`jangar describe`: everything about one run."""

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jangar.cli.target import Target, asks_an_api
from jangar.cli.terminal import columns, has_colour, write_lines

if TYPE_CHECKING:
    from jangar.cli.asking import Session
    from jangar.cli.runs.reading import ReadRun

EPILOG = """\b
Examples:
  jangar describe nightly-1
  jangar describe nightly-1 -n team-a --context staging

\b
Exit codes: 0 shown, 4 not found, 5 the API cannot be reached."""

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="Name of the run.")]


@asks_an_api
def describe_command(
    run: RunArgument,
    *,
    target: Target,
) -> None:
    """Show everything about a run: its steps and why each is as it is, outputs, conditions and events."""
    from jangar.cli.asking import ask  # noqa: PLC0415 - heavy
    from jangar.cli.runs.describing import described  # noqa: PLC0415
    from jangar.cli.runs.reading import read_run  # noqa: PLC0415
    from jangar.kube.builtin import EVENTS  # noqa: PLC0415

    async def work(session: "Session") -> "tuple[ReadRun, list[dict[str, Any]]]":
        read = await read_run(session, run)
        about = f"involvedObject.uid={read.obj['metadata']['uid']}"
        return read, await session.client.list(EVENTS, session.namespace, fields=about)

    read, events = ask("describe", target, work)
    width = columns() if sys.stdout.isatty() else None
    write_lines(described(read, events, datetime.now(UTC), width=width, colour=has_colour(sys.stdout)))
