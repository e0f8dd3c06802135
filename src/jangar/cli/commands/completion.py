"""`jangar completion`: the script that completes commands and options in a shell."""

from enum import StrEnum
from typing import Annotated

import typer

from jangar.cli.terminal import write_lines

ASKED = "_JANGAR_COMPLETE"
"""Variable by which the script of a shell asks for completions."""


class Shell(StrEnum):
    """Shells there is a script for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


EPILOG = """\b
Examples:
  jangar completion zsh > "${fpath[1]}/_jangar"
  jangar completion fish > ~/.config/fish/completions/jangar.fish
  source <(jangar completion bash)"""


def completion_command(
    shell: Annotated[Shell, typer.Argument(help="Shell to print the script for.")],
) -> None:
    """Print the completion script for a shell."""
    from typer import completion  # noqa: PLC0415 - not needed for --help

    script = completion.get_completion_script(  # type: ignore[attr-defined]
        prog_name="jangar", complete_var=ASKED, shell=shell
    )
    write_lines([script])


def complete() -> None:
    """Make ready to answer a shell that asks for completions."""
    from typer import completion  # noqa: PLC0415 - not needed for --help

    completion.completion_init()  # type: ignore[attr-defined]
