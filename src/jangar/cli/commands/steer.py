"""`jangar cancel`, `suspend`, `resume`, `retry` and `resubmit`: what people ask of a run."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.commands.describe import RunArgument
from jangar.cli.commands.run import ParametersOption, TimeoutOption
from jangar.cli.completions import complete_steps
from jangar.cli.target import Target, with_api_options
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
Exit codes: 0 requested (with --wait: ended), 4 not found, 5 the API cannot be reached, 124 timed out."""
SUSPEND_EPILOG = """\b
Examples:
  jangar suspend nightly-1
  jangar resume nightly-1

\b
Exit codes: 0 suspended, 1 already ended, 4 not found, 5 the API cannot be reached."""
RESUME_EPILOG = """\b
Examples:
  jangar resume nightly-1

\b
Exit codes: 0 resumed, 1 already ended, 4 not found, 5 the API cannot be reached."""
RETRY_EPILOG = """\b
Examples:
  jangar retry nightly-1
  jangar retry nightly-1 --from deploy --name nightly-1-again
  jangar retry nightly-1 --watch

\b
Exit codes: 0 created (with --watch: succeeded), 1 cannot be retried or failed, 3 cancelled,
4 no such run or step, 5 the API cannot be reached, 124 timed out, 130 left running."""
RESUBMIT_EPILOG = """\b
Examples:
  jangar resubmit nightly-1
  jangar resubmit nightly-1 --name nightly-2
  jangar resubmit nightly-1 -p env=prod -p notes=@notes.md --watch

\b
Exit codes: 0 created (with --watch: succeeded), 1 rejected or failed, 2 wrong usage, 3 cancelled,
4 not found, 5 the API cannot be reached, 124 timed out, 130 left running."""

NameOption = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Name of the new run (default: the old name plus a suffix)."),
]
WatchOption = Annotated[
    bool,
    typer.Option(
        "--watch", "-w", help="Follow the new run until it ends; the exit code reports the outcome."
    ),
]


@with_api_options
def cancel_command(
    run: RunArgument,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the run has ended.")] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0, help="Maximum time to wait, in seconds.")
    ] = 90.0,
    grace: Annotated[
        int | None,
        typer.Option(
            "--grace",
            metavar="SECONDS",
            min=1,
            help="Seconds between SIGTERM and SIGKILL, if shorter than the pods' grace period.",
        ),
    ] = None,
    *,
    target: Target,
) -> None:
    """Cancel a run and stop its work.

    No further step starts, and running work is stopped gracefully. Cancellation cannot be undone.

    With --grace the command waits until the controllers stop the run's pods, then shortens their grace period.
    This requires permission to delete pods.
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
    from jangar.operations.run_control import cancel  # noqa: PLC0415
    from jangar.operations.submit import is_over, phase_of  # noqa: PLC0415

    found = await cancel(session.client, await session.client.get(RUNS, run, session.namespace))
    if is_over(found.run):
        return [f"{run} {found.message}"]
    if grace is not None:
        count = await shorten_grace_period(session.client, found.run, grace=grace, seconds=seconds)
        write_lines(
            [f"shortened the grace period of {counted(count, 'pod')} of {run} to {grace} s"] if count else []
        )
    if not wait:
        return [f"{run} {found.message}; jangar explain {run} shows what is still running"]
    over = await until(session.client, RUNS, found.run, is_over, seconds=seconds, waiting_for="its end")
    if over is None:
        return [f"{run} was deleted"]
    left = ((over.get("status") or {}).get("cancel") or {}).get("leftBehind") or ()
    reported = [f"{run} has ended: {phase_of(over)}"]
    reported += [
        f"may still be running: {item.get('kind')} {item.get('name')}"
        for item in left
        if not item.get("endedAt")
    ]
    return reported


@with_api_options
def suspend_command(
    run: RunArgument,
    *,
    target: Target,
) -> None:
    """Suspend a run: no further step starts. Running steps and timeouts continue."""
    _hold("suspend", target, run, suspend=True)


@with_api_options
def resume_command(
    run: RunArgument,
    *,
    target: Target,
) -> None:
    """Resume a suspended run."""
    _hold("resume", target, run, suspend=False)


def _hold(command: str, target: Target, run: str, *, suspend: bool) -> None:
    from jangar.cli.api_session import ask  # noqa: PLC0415 - heavy
    from jangar.cli.runs.reading import RUNS  # noqa: PLC0415
    from jangar.operations.run_control import hold  # noqa: PLC0415

    async def work(session: "Session") -> str:
        found = await hold(
            session.client, await session.client.get(RUNS, run, session.namespace), suspend=suspend
        )
        hint = f"; jangar resume {run} resumes it" if suspend and found.changed else ""
        return f"{run} {found.message}{hint}"

    write_lines([ask(command, target, work)])


@with_api_options
def retry_command(
    run: RunArgument,
    from_step: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="STEP",
            help="First step to repeat (default: all steps that did not succeed).",
            autocompletion=complete_steps,
        ),
    ] = None,
    name: NameOption = None,
    watch: WatchOption = False,
    timeout: TimeoutOption = None,
    *,
    target: Target,
) -> None:
    """Retry an ended run, keeping the results of steps that succeeded.

    Creates a new run with the definition that the old run used.
    """
    from jangar.operations.run_control import retry  # noqa: PLC0415 - heavy

    again = partial(retry, from_step=from_step, name=name)
    raise typer.Exit(_repeat("retry", target, run, again, "retries {}", watch=watch, seconds=timeout))


@with_api_options
def resubmit_command(
    run: RunArgument,
    parameters: ParametersOption = None,
    name: NameOption = None,
    watch: WatchOption = False,
    timeout: TimeoutOption = None,
    *,
    target: Target,
) -> None:
    """Run an orchestration again from the beginning, with the parameters of an earlier run.

    Creates a new run of the current definition.
    Each -p replaces one parameter of the old run.
    """
    from jangar.cli.api_session import report_errors  # noqa: PLC0415 - heavy
    from jangar.cli.parameters import parse_parameters  # noqa: PLC0415
    from jangar.operations.run_control import resubmit  # noqa: PLC0415

    with report_errors("resubmit", target):
        given = parse_parameters(parameters or [])
    again = partial(resubmit, name=name, overrides=given)
    raise typer.Exit(_repeat("resubmit", target, run, again, "resubmits {}", watch=watch, seconds=timeout))


def _repeat(
    command: str,
    target: Target,
    run: str,
    again: "Callable[..., Awaitable[Obj]]",
    reported: str,
    *,
    watch: bool,
    seconds: float | None,
) -> "ExitCode":
    """Makes the new run, says so, and follows it where that is wanted."""
    from jangar.cli.api_session import ask, user  # noqa: PLC0415 - heavy
    from jangar.cli.exit_codes import ExitCode  # noqa: PLC0415
    from jangar.cli.following.show import follow_to_end  # noqa: PLC0415
    from jangar.cli.runs.reading import read_run  # noqa: PLC0415

    async def work(session: "Session") -> ExitCode:
        made = await again(session.client, await read_run(session, run), by=user())
        write_lines([f"{made['metadata']['name']} {reported.format(run)}"])
        return await follow_to_end(session, made, target, seconds=seconds) if watch else ExitCode.OK

    return ask(command, target, work)
