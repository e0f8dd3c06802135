"""`jangar down`: stop the laptop's control plane."""

import os
import signal
import time
from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.exit_codes import ExitCode
from jangar.cli.target import DataDirOption, Target
from jangar.cli.terminal import write_error, write_lines

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from jangar.processes.data_directory import DataDirectory, Instance
    from jangar.processes.laptop_work import Stopped

EPILOG = """\b
Examples:
  jangar down
  jangar down --stop-work

\b
Exit codes: 0 stopped, 1 the control plane or some work did not stop in time."""

MAX_STOP = 60.0
LOOK_SECONDS = 0.02


def down_command(
    data_dir: DataDirOption = None,
    stop_work: Annotated[
        bool,
        typer.Option(
            "--stop-work",
            help="First cancel every run and stop all other work (default: work keeps running).",
        ),
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout", metavar="SECONDS", min=0, help="Maximum time for stopping work, in seconds."
        ),
    ] = 65.0,
) -> None:
    """Stop the local control plane.

    Running work continues, and the next jangar up re-adopts it. --stop-work cancels live runs, which is final
    (jangar retry repeats one), suspends other Jobs and deletes unowned pods.
    """
    from jangar.cli.laptop.messages import going_on, not_up  # noqa: PLC0415 - not needed for --help
    from jangar.processes.data_directory import DataDirectory, instance_of  # noqa: PLC0415

    place = DataDirectory.of(data_dir, os.environ)
    option = f" --data-dir {data_dir}" if data_dir else ""
    instance = instance_of(place)
    if instance is None:
        write_lines([not_up(place.directory) + option])
        return
    left, pods = _prepared(place, instance, stop_work, timeout)
    if instance.pid:
        os.kill(instance.pid, signal.SIGTERM)
    if not _is_gone(place, instance.pid):
        write_error(f"jangar down: process {instance.pid} did not stop in {MAX_STOP:.0f} s; see {place.log}")
        raise typer.Exit(ExitCode.FAILED)
    write_lines([going_on(pods, option)])
    if left:
        raise typer.Exit(ExitCode.FAILED)


def _prepared(
    place: "DataDirectory", instance: "Instance", stop_work: bool, timeout: float
) -> tuple[bool, int]:
    """Stop work if asked; whether some did not end, and how many pods go on."""
    from jangar.cli.api_session import ask  # noqa: PLC0415 - heavy
    from jangar.cli.laptop.messages import stopped_lines  # noqa: PLC0415
    from jangar.processes import laptop_work  # noqa: PLC0415

    if not instance.is_ready:
        return False, 0

    async def work(session: "Session") -> "tuple[Stopped | None, int]":
        stopped = await laptop_work.stop_work(session.client, seconds=timeout) if stop_work else None
        return stopped, len(await laptop_work.live_pods(session.client))

    stopped, pods = ask("down", Target(kubeconfig=place.kubeconfig), work)
    write_lines(stopped_lines(stopped) if stopped else ())
    return bool(stopped and stopped.left), pods


def _is_gone(place: "DataDirectory", pid: int) -> bool:
    from jangar.processes.data_directory import instance_of  # noqa: PLC0415 - not needed for --help

    deadline = time.monotonic() + MAX_STOP
    while time.monotonic() < deadline:
        instance = instance_of(place)
        if instance is None or instance.pid != pid:
            return True
        time.sleep(LOOK_SECONDS)
    return False
