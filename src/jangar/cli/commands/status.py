"""`jangar status`: whether the laptop's control plane is up, and how it is."""

import os
from enum import StrEnum
from typing import Annotated

import typer

from jangar.cli.exit_codes import ExitCode
from jangar.cli.target import DataDirOption, Target
from jangar.cli.terminal import write_lines


class StatusFormat(StrEnum):
    """How it is shown."""

    TEXT = "text"
    JSON = "json"


EPILOG = """\b
Examples:
  jangar status
  jangar status -o json | jq .runs

\b
Exit codes: 0 up and healthy, 1 up with problems, 5 not up."""


def status_command(
    data_dir: DataDirOption = None,
    output: Annotated[
        StatusFormat, typer.Option("--output", "-o", help="Output format.")
    ] = StatusFormat.TEXT,
) -> None:
    """Show whether the local control plane is up, its addresses, and the health of its components."""
    from jangar.cli.api_session import ask  # noqa: PLC0415 - heavy
    from jangar.cli.json_text import json_text  # noqa: PLC0415
    from jangar.cli.laptop.messages import not_up  # noqa: PLC0415
    from jangar.cli.laptop.state import document, lines, read_state  # noqa: PLC0415
    from jangar.processes.data_directory import DataDirectory, instance_of  # noqa: PLC0415

    place = DataDirectory.of(data_dir, os.environ)
    instance = instance_of(place)
    is_up = instance is not None and instance.is_ready
    state = ask("status", Target(kubeconfig=place.kubeconfig), read_state) if is_up else None
    if output is StatusFormat.JSON:
        write_lines([json_text(document(place, instance, state))])
    elif instance is None:
        write_lines([not_up(place.directory) + (f" --data-dir {data_dir}" if data_dir else "")])
    elif state is None:
        write_lines([f"jangar is starting (process {instance.pid}); see {place.log}"])
    else:
        write_lines(lines(place, instance, state))
    if state is None:
        raise typer.Exit(ExitCode.UNREACHABLE)
    if not state.is_healthy:
        raise typer.Exit(ExitCode.FAILED)
