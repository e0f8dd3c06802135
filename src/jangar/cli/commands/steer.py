"""`jangar cancel`, `suspend`, `resume`, `retry` and `resubmit`: what people ask of a run."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.commands.describe import RunArgument
from jangar.cli.target import Target, asks_an_api
from jangar.cli.terminal import write_lines

if TYPE_CHECKING:
    from jangar.cli.asking import Session
    from jangar.kube.client import Obj

CANCEL_EPILOG = """\b
Examples:
  jangar cancel nightly-1
  jangar cancel nightly-1 --wait --timeout 120

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

\b
Exit codes: 0 the new run is there, 1 it cannot be retried, 4 no such run or step, 5 the API cannot be reached."""
RESUBMIT_EPILOG = """\b
Examples:
  jangar resubmit nightly-1
  jangar resubmit nightly-1 --name nightly-2

\b
Exit codes: 0 the new run is there, 1 refused, 4 not found, 5 the API cannot be reached."""

NameOption = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Name of the new run; else the old one's with a suffix."),
]


@asks_an_api
def cancel_command(
    run: RunArgument,
    wait: Annotated[bool, typer.Option("--wait", help="Until it is over.")] = False,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", min=0, help="Seconds to wait at most.")
    ] = 90.0,
    *,
    target: Target,
) -> None:
    """Cancel a run: nothing new starts, what runs is stopped gracefully. It cannot be taken back."""
    from jangar.cli.asking import ask  # noqa: PLC0415 - heavy

    async def work(session: "Session") -> list[str]:
        return await _cancelled(session, run, seconds=timeout if wait else None)

    write_lines(ask("cancel", target, work))


async def _cancelled(session: "Session", run: str, *, seconds: float | None) -> list[str]:
    from jangar.cli.runs.reading import RUNS  # noqa: PLC0415 - heavy
    from jangar.cli.runs.waiting import until  # noqa: PLC0415
    from jangar.server.steering import cancel  # noqa: PLC0415
    from jangar.server.submit import is_over, phase_of  # noqa: PLC0415

    found = await cancel(session.client, await session.client.get(RUNS, run, session.namespace))
    if is_over(found.run):
        return [f"{run} {found.told}"]
    if seconds is None:
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
    from jangar.cli.asking import ask  # noqa: PLC0415 - heavy
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
        typer.Option("--from", metavar="STEP", help="First step to repeat; else all that did not succeed."),
    ] = None,
    name: NameOption = None,
    *,
    target: Target,
) -> None:
    """Repeat an ended run as a new one: with its own definition, keeping the steps that succeeded."""
    from jangar.server.steering import retry  # noqa: PLC0415 - heavy

    made = _made("retry", target, run, partial(retry, from_step=from_step, name=name))
    write_lines([f"{made['metadata']['name']} retries {run}"])


@asks_an_api
def resubmit_command(
    run: RunArgument,
    name: NameOption = None,
    *,
    target: Target,
) -> None:
    """Run what a run ran once more, from the beginning, as it is defined today."""
    from jangar.server.steering import resubmit  # noqa: PLC0415 - heavy

    made = _made("resubmit", target, run, partial(resubmit, name=name))
    write_lines([f"{made['metadata']['name']} runs what {run} ran"])


def _made(command: str, target: Target, run: str, again: "Callable[..., Awaitable[Obj]]") -> "Obj":
    from jangar.cli.asking import ask, user  # noqa: PLC0415 - heavy
    from jangar.cli.runs.reading import read_run  # noqa: PLC0415

    async def work(session: "Session") -> "Obj":
        return await again(session.client, await read_run(session, run), by=user())

    return ask(command, target, work)
