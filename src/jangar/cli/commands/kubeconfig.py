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
    """Print the path of the laptop's kubeconfig, or add its context to your own.

    A merge keeps everything else in your file, and your current context if you have one.
    """
    from jangar.processes.data_directory import DataDirectory  # noqa: PLC0415 - not needed for --help

    place = DataDirectory.of(data_dir, os.environ)
    if not place.kubeconfig.exists():
        option = f" --data-dir {data_dir}" if data_dir else ""
        write_error(f"jangar kubeconfig: there is no {place.kubeconfig}: jangar up{option} writes it")
        raise typer.Exit(ExitCode.NOT_FOUND)
    if not merge:
        write_lines([str(place.kubeconfig)])
        return
    from jangar.cli.laptop import merging  # noqa: PLC0415 - heavy

    own = merging.own_kubeconfig(os.environ)
    if own.exists() and own.samefile(place.kubeconfig):
        write_error(
            f"jangar kubeconfig: $KUBECONFIG is {own} itself: nothing to merge; unset it to use yours"
        )
        raise typer.Exit(ExitCode.USAGE)
    try:
        is_current = merging.merge(place.kubeconfig, own)
    except merging.CannotMerge as error:
        write_error(f"jangar kubeconfig: {error}; {own} was left as it is")
        raise typer.Exit(ExitCode.FAILED) from None
    chosen = "it is the current one" if is_current else f"use it with kubectl --context {merging.CONTEXT}"
    write_lines([f"context {merging.CONTEXT} was written to {own}; {chosen}"])
