"""`jangar cancel`, `suspend`, `resume`, `retry` and `resubmit`: what people ask of a run."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.commands.describe import RunArgument
from jangar.cli.target import ContextOption, DataDirOption, KubeconfigOption, NamespaceOption, Target
from jangar.cli.terminal import write_lines

if TYPE_CHECKING:
    from jangar.cli.asking import Session
    from jangar.cli.runs.reading import ReadRun
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
  jangar resume nightly-1"""
RESUME_EPILOG = """\b
Examples:
  jangar resume nightly-1"""
RETRY_EPILOG = """\b
Examples:
  jangar retry nightly-1
  jangar retry nightly-1 --from deploy --name nightly-1-again

\b
Exit codes: 0 the new run is there, 1 it cannot be retried, 4 no such run or step, 5 the API cannot be reached."""
RESUBMIT_EPILOG = """\b
Examples:
  jangar resubmit nightly-1
  jangar resubmit nightly-1 --name nightly-2"""

NameOption = Annotated[
    str | None, typer.Option("--name", help="Name of the new run; else the old one's with a suffix.")
]


def cancel_command(
    run: RunArgument,
    wait: Annotated[bool, typer.Option("--wait", help="Until it is over.")] = False,
    timeout: Annotated[float, typer.Option("--timeout", min=0, help="Seconds to wait at most.")] = 90.0,
    namespace: NamespaceOption = "",
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Cancel a run: nothing new starts, what runs is stopped gracefully. It cannot be taken back."""
    from jangar.cli.asking import ask  # noqa: PLC0415 - heavy

    async def work(session: "Session") -> list[str]:
        return await _cancelled(session, run, seconds=timeout if wait else None)

    target = Target(kubeconfig=kubeconfig, context=context, namespace=namespace, data_dir=data_dir)
    write_lines(ask("cancel", target, work))


async def _cancelled(session: "Session", run: str, *, seconds: float | None) -> list[str]:
    from jangar.cli.runs.reading import RUNS  # noqa: PLC0415 - heavy
    from jangar.cli.runs.steering import is_over, phase_of, steer  # noqa: PLC0415
    from jangar.cli.runs.waiting import until  # noqa: PLC0415

    obj = await session.client.get(RUNS, run, session.namespace)
    if is_over(obj):
        return [f"{run} is over already: {phase_of(obj)}; nothing to cancel"]
    obj = await steer(session.client, obj, cancel=True)
    if seconds is None:
        return [f"{run} is being cancelled; jangar explain {run} shows what is left"]
    over = await until(session.client, RUNS, obj, is_over, seconds=seconds, waiting_for="its end")
    if over is None:
        return [f"{run} is gone"]
    left = ((over.get("status") or {}).get("cancel") or {}).get("leftBehind") or ()
    told = [f"{run} is over: {phase_of(over)}"]
    told += [
        f"may still run: {each.get('kind')} {each.get('name')}" for each in left if not each.get("endedAt")
    ]
    return told


def suspend_command(
    run: RunArgument,
    namespace: NamespaceOption = "",
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Let a run start no further step. What runs goes on, and so do timeouts."""
    target = Target(kubeconfig=kubeconfig, context=context, namespace=namespace, data_dir=data_dir)
    _hold("suspend", target, run, suspend=True)


def resume_command(
    run: RunArgument,
    namespace: NamespaceOption = "",
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Let a suspended run go on."""
    target = Target(kubeconfig=kubeconfig, context=context, namespace=namespace, data_dir=data_dir)
    _hold("resume", target, run, suspend=False)


def _hold(command: str, target: Target, run: str, *, suspend: bool) -> None:
    from jangar.cli.asking import Failure, ask  # noqa: PLC0415 - heavy
    from jangar.cli.runs.reading import RUNS  # noqa: PLC0415
    from jangar.cli.runs.steering import is_over, phase_of, steer  # noqa: PLC0415

    async def work(session: "Session") -> str:
        obj = await session.client.get(RUNS, run, session.namespace)
        if is_over(obj):
            raise Failure(f"{run} is over already: {phase_of(obj)} (jangar resubmit {run} runs it again)")
        if bool(obj["spec"].get("suspend")) == suspend:
            return f"{run} is {'suspended' if suspend else 'not suspended'} already"
        await steer(session.client, obj, suspend=suspend)
        return (
            f"{run} is suspended: no further step starts; jangar resume {run} lets it go on"
            if suspend
            else f"{run} goes on"
        )

    write_lines([ask(command, target, work)])


def retry_command(
    run: RunArgument,
    from_step: Annotated[
        str | None,
        typer.Option("--from", metavar="STEP", help="First step to repeat; else all that did not succeed."),
    ] = None,
    name: NameOption = None,
    namespace: NamespaceOption = "",
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Repeat an ended run as a new one: with its own definition, keeping the steps that succeeded."""
    from jangar.cli.runs.steering import retry_of  # noqa: PLC0415 - heavy

    target = Target(kubeconfig=kubeconfig, context=context, namespace=namespace, data_dir=data_dir)
    made = _made("retry", target, run, lambda read: retry_of(read, from_step, name))
    write_lines([f"{made['metadata']['name']} retries {run}"])


def resubmit_command(
    run: RunArgument,
    name: NameOption = None,
    namespace: NamespaceOption = "",
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Run what a run ran once more, from the beginning, as it is defined today."""
    from jangar.cli.runs.steering import resubmission_of  # noqa: PLC0415 - heavy

    target = Target(kubeconfig=kubeconfig, context=context, namespace=namespace, data_dir=data_dir)
    made = _made("resubmit", target, run, lambda read: resubmission_of(read, name))
    write_lines([f"{made['metadata']['name']} runs what {run} ran"])


def _made(command: str, target: Target, run: str, new: "Callable[[ReadRun], Obj]") -> "Obj":
    from jangar.cli.asking import ask  # noqa: PLC0415 - heavy
    from jangar.cli.runs.reading import RUNS, read_run  # noqa: PLC0415

    async def work(session: "Session") -> "Obj":
        return await session.client.create(RUNS, new(await read_run(session, run)))

    return ask(command, target, work)
