"""`jangar kubeconfig`: where the laptop's kubeconfig is, and adding it to the user's own."""

import os
from typing import Annotated

import typer

from jangar.cli.exit_codes import ExitCode
from jangar.cli.target import DataDirOption
from jangar.cli.terminal import write_error, write_lines

EPILOG = """\b
Examples:
  jangar kubeconfig --merge && kubectl --context jangar get nodes
  export KUBECONFIG=$(jangar kubeconfig)"""


def kubeconfig_command(
    merge: Annotated[
        bool, typer.Option("--merge", help="Add the context jangar to $KUBECONFIG or ~/.kube/config.")
    ] = False,
    data_dir: DataDirOption = None,
) -> None:
    """Print the path of the local kubeconfig, or merge its context into yours.

    A merge keeps everything else in your file, including your current context.
    """
    from jangar.processes.data_directory import DataDirectory  # noqa: PLC0415 - not needed for --help

    place = DataDirectory.of(data_dir, os.environ)
    if not place.kubeconfig.exists():
        option = f" --data-dir {data_dir}" if data_dir else ""
        write_error(
            f"jangar kubeconfig: {place.kubeconfig} does not exist: run jangar up{option} to create it"
        )
        raise typer.Exit(ExitCode.NOT_FOUND)
    if not merge:
        write_lines([str(place.kubeconfig)])
        return
    from jangar.cli.laptop import user_kubeconfig  # noqa: PLC0415 - heavy

    own = user_kubeconfig.own_kubeconfig(os.environ)
    if own.exists() and own.samefile(place.kubeconfig):
        write_error(
            f"jangar kubeconfig: $KUBECONFIG already points to {own}: nothing to merge; unset it to merge into yours"
        )
        raise typer.Exit(ExitCode.USAGE)
    try:
        is_current = user_kubeconfig.merge(place.kubeconfig, own)
    except user_kubeconfig.CannotMerge as error:
        write_error(f"jangar kubeconfig: {error}; {own} is unchanged")
        raise typer.Exit(ExitCode.FAILED) from None
    usage = (
        "it is the current context"
        if is_current
        else f"use it with kubectl --context {user_kubeconfig.CONTEXT}"
    )
    write_lines([f"wrote context {user_kubeconfig.CONTEXT} to {own}; {usage}"])
