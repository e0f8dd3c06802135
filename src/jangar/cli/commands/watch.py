"""`jangar watch`: a run live, until it is over."""

from typing import TYPE_CHECKING

import typer

from jangar.cli.commands.describe import RunArgument
from jangar.cli.commands.run import TimeoutOption
from jangar.cli.target import Target, with_api_options

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from jangar.cli.exit_codes import ExitCode

EPILOG = """\b
Examples:
  jangar watch nightly-1
  jangar watch nightly-1 --timeout 600 | tee nightly.log

\b
Exit codes: 0 succeeded, 1 failed, 3 cancelled, 4 not found, 5 the API cannot be reached,
124 timed out, 130 left running."""


@with_api_options
def watch_command(
    run: RunArgument,
    timeout: TimeoutOption = None,
    *,
    target: Target,
) -> None:
    """Follow a run until it ends.

    Shows each step with its phase, duration, attempt, reason and last log line.
    """
    from jangar.cli.api_session import ask  # noqa: PLC0415 - heavy
    from jangar.cli.following.follow import follow_to_end  # noqa: PLC0415
    from jangar.cli.runs.reading import RUNS  # noqa: PLC0415

    async def work(session: "Session") -> "ExitCode":
        obj = await session.client.get(RUNS, run, session.namespace)
        return await follow_to_end(session, obj, target, seconds=timeout)

    raise typer.Exit(ask("watch", target, work))
