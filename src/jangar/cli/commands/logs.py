"""`jangar logs --server`: what the laptop's control plane wrote."""

import os
from typing import Annotated

import typer

from jangar.cli.exit_codes import ExitCode
from jangar.cli.target import DataDirOption
from jangar.cli.terminal import write_error, write_lines

EPILOG = """\b
Examples:
  jangar logs --server
  jangar logs --server -f --tail 20"""


def logs_command(
    server: Annotated[
        bool, typer.Option("--server", help="The log of the laptop's control plane itself.")
    ] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes.")] = False,
    tail: Annotated[int, typer.Option("--tail", min=0, help="So many of the last lines.")] = 200,
    data_dir: DataDirOption = None,
) -> None:
    """Show the log of the laptop's control plane."""
    from jangar.cli.laptop import server_log  # noqa: PLC0415 - not needed for --help
    from jangar.processes.laptop_place import Place  # noqa: PLC0415

    if not server:
        raise typer.BadParameter("say --server: the control plane's own log", param_hint="--server")
    place = Place.of(data_dir, os.environ)
    if not place.log.exists():
        write_error(f"jangar logs: there is no {place.log}: jangar was never up with this directory")
        raise typer.Exit(ExitCode.NOT_FOUND)
    write_lines(server_log.tail(place.log, tail))
    if follow:
        for line in server_log.followed(place.log):
            write_lines([line])
