"""`jangar cancel`, `suspend`, `resume`, `retry` and `resubmit`: change or repeat a run."""

from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.api_session import Session, call_api, report_errors
from jangar.cli.commands.run import ParametersOption, RunArgument, TimeoutOption
from jangar.cli.completions import complete_steps
from jangar.cli.exit_codes import ExitCode
from jangar.cli.parameters import parse_parameters
from jangar.cli.target import Target, with_api_options
from jangar.cli.terminal import write_lines
from jangar.cli.wording import counted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jangar.operations.run_control import RunChange
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
    from jangar.operations.run_control import cancel_run, shorten_grace_period  # noqa: PLC0415
    from jangar.operations.run_reading import RUNS, is_over, phase_of  # noqa: PLC0415
    from jangar.operations.watching import wait_until  # noqa: PLC0415

    async def work(session: Session) -> list[str]:
        change = await cancel_run(session.caller, session.run(run))
        if is_over(change.run):
            return [f"{run} {change.message}"]
        if grace is not None:
            count = await shorten_grace_period(session.caller, change.run, grace=grace, seconds=timeout)
            if count:
                write_lines([f"shortened the grace period of {counted(count, 'pod')} of {run} to {grace} s"])
        if not wait:
            return [f"{run} {change.message}; jangar explain {run} shows what is still running"]
        ended = await wait_until(
            session.client, RUNS, change.run, is_over, seconds=timeout, waiting_for="its end"
        )
        if ended is None:
            return [f"{run} was deleted"]
        left_behind = ((ended.get("status") or {}).get("cancel") or {}).get("leftBehind") or ()
        running = [item for item in left_behind if not item.get("endedAt")]
        return [
            f"{run} has ended: {phase_of(ended)}",
            *(f"may still be running: {item.get('kind')} {item.get('name')}" for item in running),
        ]

    write_lines(call_api("cancel", target, work))


@with_api_options
def suspend_command(
    run: RunArgument,
    *,
    target: Target,
) -> None:
    """Suspend a run: no further step starts. Running steps and timeouts continue."""
    from jangar.operations.run_control import suspend_run  # noqa: PLC0415 - heavy

    change = _change("suspend", target, run, suspend_run)
    hint = f"; jangar resume {run} resumes it" if change.changed else ""
    write_lines([f"{run} {change.message}{hint}"])


@with_api_options
def resume_command(
    run: RunArgument,
    *,
    target: Target,
) -> None:
    """Resume a suspended run."""
    from jangar.operations.run_control import resume_run  # noqa: PLC0415 - heavy

    write_lines([f"{run} {_change('resume', target, run, resume_run).message}"])


def _change(
    command: str, target: Target, run: str, operation: "Callable[..., Awaitable[RunChange]]"
) -> "RunChange":

    async def work(session: Session) -> "RunChange":
        return await operation(session.caller, session.run(run))

    return call_api(command, target, work)


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
    from jangar.operations.submit import retry_run  # noqa: PLC0415 - heavy

    async def create(session: Session) -> "Obj":
        return await retry_run(session.caller, session.run(run), from_step=from_step, name=name)

    _repeat("retry", target, create, f"retries {run}", watch=watch, seconds=timeout)


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
    from jangar.operations.submit import resubmit_run  # noqa: PLC0415

    with report_errors("resubmit", target):
        overrides = parse_parameters(parameters or [])

    async def create(session: Session) -> "Obj":
        return await resubmit_run(session.caller, session.run(run), name=name, overrides=overrides)

    _repeat("resubmit", target, create, f"resubmits {run}", watch=watch, seconds=timeout)


def _repeat(
    command: str,
    target: Target,
    create: "Callable[[Session], Awaitable[Obj]]",
    message: str,
    *,
    watch: bool,
    seconds: float | None,
) -> None:
    """Create the new run, follow it if requested, and exit."""
    from jangar.cli.following.follow import follow_to_end  # noqa: PLC0415

    async def work(session: Session) -> ExitCode:
        created = await create(session)
        write_lines([f"{created['metadata']['name']} {message}"])
        return await follow_to_end(session, created, target, seconds=seconds) if watch else ExitCode.OK

    raise typer.Exit(call_api(command, target, work))
