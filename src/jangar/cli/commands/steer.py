"""`jangar cancel`, `suspend`, `resume`, `retry` and `resubmit`: what people ask of a run."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.commands.describe import RunArgument
from jangar.cli.commands.run import ParametersOption, TimeoutOption
from jangar.cli.completions import complete_steps
from jangar.cli.target import Target, asks_an_api
from jangar.cli.terminal import write_lines
from jangar.cli.wording import counted

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from jangar.cli.exit_codes import ExitCode
    from kubekit.client.api_client import Obj

CANCEL_EPILOG = """\b
Examples:
  jangar cancel nightly-1
  jangar cancel nightly-1 --wait --timeout 120
  jangar cancel nightly-1 --grace 3 --wait

\b
Exit codes: 0 asked for (with --wait: it is over), 4 not found, 5 the API cannot be reached, 124 timed out."""
SUSPEND_EPILOG = """\b
Examples:
  jangar suspend nightly-1
  jangar resume nightly-1

\b
Exit codes: 0 suspended, 1 it is over already, 4 not found, 5 the API cannot be reached."""
RESUME_EPILOG = """\b
Examples:
  jangar resume nightly-1

\b
Exit codes: 0 it goes on, 1 it is over already, 4 not found, 5 the API cannot be reached."""
RETRY_EPILOG = """\b
Examples:
  jangar retry nightly-1
  jangar retry nightly-1 --from deploy --name nightly-1-again
  jangar retry nightly-1 --watch

\b
Exit codes: 0 the new run is there (with --watch: it succeeded), 1 it cannot be retried or it failed, 3 cancelled,
4 no such run or step, 5 the API cannot be reached, 124 not over in time, 130 left running."""
RESUBMIT_EPILOG = """\b
Examples:
  jangar resubmit nightly-1
  jangar resubmit nightly-1 --name nightly-2
  jangar resubmit nightly-1 -p env=prod -p notes=@notes.md --watch

\b
Exit codes: 0 the new run is there (with --watch: it succeeded), 1 refused or it failed, 2 wrong usage, 3 cancelled,
4 not found, 5 the API cannot be reached, 124 not over in time, 130 left running."""

NameOption = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Name of the new run; else the old one's with a suffix."),
]
WatchOption = Annotated[
    bool,
    typer.Option("--watch", "-w", help="Follow the new run to its end; the exit code tells how it ended."),
]


@asks_an_api
def cancel_command(
    run: RunArgument,
    wait: Annotated[bool, typer.Option("--wait", help="Until it is over.")] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0, help="Seconds to wait at most.")
    ] = 90.0,
    grace: Annotated[
        int | None,
        typer.Option(
            "--grace",
            metavar="SECONDS",
            min=1,
            help="Seconds from SIGTERM to SIGKILL, if less than the pods' own grace period.",
        ),
    ] = None,
    *,
    target: Target,
) -> None:
    """Cancel a run and what it runs.

    Nothing new starts, and what runs is stopped gracefully. A cancel cannot be taken back.

    With --grace the command waits until the controllers have told the run's pods to stop, then shortens the time that
    they have. This needs the right to delete pods.
    """
    from jangar.cli.api_session import ask  # noqa: PLC0415 - heavy

    async def work(session: "Session") -> list[str]:
        return await _cancelled(session, run, wait=wait, seconds=timeout, grace=grace)

    write_lines(ask("cancel", target, work))


async def _cancelled(
    session: "Session", run: str, *, wait: bool, seconds: float, grace: int | None
) -> list[str]:
    from jangar.cli.runs.grace_period import shorten_grace_period  # noqa: PLC0415 - heavy
    from jangar.cli.runs.reading import RUNS  # noqa: PLC0415
    from jangar.cli.runs.waiting import until  # noqa: PLC0415
    from jangar.server.steering import cancel  # noqa: PLC0415
    from jangar.server.submit import is_over, phase_of  # noqa: PLC0415

    found = await cancel(session.client, await session.client.get(RUNS, run, session.namespace))
    if is_over(found.run):
        return [f"{run} {found.told}"]
    if grace is not None:
        count = await shorten_grace_period(session.client, found.run, grace=grace, seconds=seconds)
        write_lines([f"{counted(count, 'pod')} of {run} got {grace} s to end"] if count else [])
    if not wait:
        return [f"{run} {found.told}; jangar explain {run} shows what is left"]
    over = await until(session.client, RUNS, found.run, is_over, seconds=seconds, waiting_for="its end")
    if over is None:
        return [f"{run} is gone"]
    left = ((over.get("status") or {}).get("cancel") or {}).get("leftBehind") or ()
    told = [f"{run} is over: {phase_of(over)}"]
    told += [
        f"may still run: {each.get('kind')} {each.get('name')}" for each in left if not each.get("endedAt")
    ]
    return told


@asks_an_api
def suspend_command(
    run: RunArgument,
    *,
    target: Target,
) -> None:
    """Let a run start no further step. What runs goes on, and so do timeouts."""
    _hold("suspend", target, run, suspend=True)


@asks_an_api
def resume_command(
    run: RunArgument,
    *,
    target: Target,
) -> None:
    """Let a suspended run go on."""
    _hold("resume", target, run, suspend=False)


def _hold(command: str, target: Target, run: str, *, suspend: bool) -> None:
    from jangar.cli.api_session import ask  # noqa: PLC0415 - heavy
    from jangar.cli.runs.reading import RUNS  # noqa: PLC0415
    from jangar.server.steering import hold  # noqa: PLC0415

    async def work(session: "Session") -> str:
        found = await hold(
            session.client, await session.client.get(RUNS, run, session.namespace), suspend=suspend
        )
        hint = f"; jangar resume {run} lets it go on" if suspend and found.changed else ""
        return f"{run} {found.told}{hint}"

    write_lines([ask(command, target, work)])


@asks_an_api
def retry_command(
    run: RunArgument,
    from_step: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="STEP",
            help="First step to repeat; else all that did not succeed.",
            autocompletion=complete_steps,
        ),
    ] = None,
    name: NameOption = None,
    watch: WatchOption = False,
    timeout: TimeoutOption = None,
    *,
    target: Target,
) -> None:
    """Repeat an ended run, keeping the steps that succeeded.

    It is a new run of the definition that the old one ran.
    """
    from jangar.server.steering import retry  # noqa: PLC0415 - heavy

    again = partial(retry, from_step=from_step, name=name)
    raise typer.Exit(_repeat("retry", target, run, again, "retries {}", watch=watch, seconds=timeout))


@asks_an_api
def resubmit_command(
    run: RunArgument,
    parameters: ParametersOption = None,
    name: NameOption = None,
    watch: WatchOption = False,
    timeout: TimeoutOption = None,
    *,
    target: Target,
) -> None:
    """Run what a run ran again, from the beginning.

    It is a new run of the definition as it is today.
    It gets the parameters of the old run; those given by -p replace them one by one.
    """
    from jangar.cli.api_session import refusing  # noqa: PLC0415 - heavy
    from jangar.cli.parameters import parse_parameters  # noqa: PLC0415
    from jangar.server.steering import resubmit  # noqa: PLC0415

    with refusing("resubmit", target):
        given = parse_parameters(parameters or [])
    again = partial(resubmit, name=name, overrides=given)
    raise typer.Exit(
        _repeat("resubmit", target, run, again, "runs what {} ran", watch=watch, seconds=timeout)
    )


def _repeat(
    command: str,
    target: Target,
    run: str,
    again: "Callable[..., Awaitable[Obj]]",
    told: str,
    *,
    watch: bool,
    seconds: float | None,
) -> "ExitCode":
    """Makes the new run, says so, and follows it where that is wanted."""
    from jangar.cli.api_session import ask, user  # noqa: PLC0415 - heavy
    from jangar.cli.exit_codes import ExitCode  # noqa: PLC0415
    from jangar.cli.following.show import shown_to_the_end  # noqa: PLC0415
    from jangar.cli.runs.reading import read_run  # noqa: PLC0415

    async def work(session: "Session") -> ExitCode:
        made = await again(session.client, await read_run(session, run), by=user())
        write_lines([f"{made['metadata']['name']} {told.format(run)}"])
        return await shown_to_the_end(session, made, target, seconds=seconds) if watch else ExitCode.OK

    return ask(command, target, work)
