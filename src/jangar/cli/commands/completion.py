"""`jangar completion`: the script that completes commands and options in a shell."""

from enum import StrEnum
from typing import Annotated

import typer

from jangar.cli.terminal import write_lines


class Shell(StrEnum):
    """Shells there is a script for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


EPILOG = """\b
Examples:
  source <(jangar completion bash)
  jangar completion zsh > "${fpath[1]}/_jangar"
  jangar completion fish > ~/.config/fish/completions/jangar.fish"""


def completion_command(shell: Annotated[Shell, typer.Argument(help="For which shell.")]) -> None:
    """Print the completion script of a shell."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415 - not needed for --help

    from jangar.cli.app import app  # noqa: PLC0415 - it knows this module

    found = get_completion_class(shell)
    if found is None:
        raise typer.BadParameter(f"{shell} is not known", param_hint="SHELL")
    script = found(typer.main.get_command(app), {}, "jangar", "_JANGAR_COMPLETE").source()
    write_lines([script.rstrip("\n")])
