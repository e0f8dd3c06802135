"""`jangar version`, `doctor` and `completion`: the installation and its health."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from jangar import __version__
from jangar.cli.api_session import Session, call_api
from jangar.cli.exit_codes import ExitCode
from jangar.cli.json_text import json_text
from jangar.cli.target import Target, local_data_directory, with_api_options
from jangar.cli.terminal import TextOrJson, write_lines

if TYPE_CHECKING:
    from jangar.cli.doctor.checks import Facts

VERSION_EPILOG = """\b
Examples:
  jangar version
  jangar version -o json"""
DOCTOR_EPILOG = """\b
Examples:
  jangar doctor
  jangar doctor --context staging -o json

\b
Exit codes: 0 healthy, 1 problems, 5 the API cannot be reached."""
COMPLETION_EPILOG = """\b
Examples:
  jangar completion zsh > "${fpath[1]}/_jangar"
  jangar completion fish > ~/.config/fish/completions/jangar.fish
  source <(jangar completion bash)"""

COMPLETE_VARIABLE = "_JANGAR_COMPLETE"
"""Environment variable that the completion script sets."""


class Shell(StrEnum):
    """Supported shells."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def version_command(
    output: Annotated[TextOrJson, typer.Option("--output", "-o", help="Output format.")] = TextOrJson.TEXT,
) -> None:
    """Print the versions of jangar and its API."""
    import platform  # noqa: PLC0415 - not needed for --help

    from jangar.api.kind import VERSION  # noqa: PLC0415

    versions = {"jangar": __version__, "python": platform.python_version(), "apiVersion": VERSION}
    if output is TextOrJson.JSON:
        write_lines([json_text(versions)])
    else:
        write_lines(f"{name} {value}" for name, value in versions.items())


@with_api_options
def doctor_command(
    output: Annotated[TextOrJson, typer.Option("--output", "-o", help="Output format.")] = TextOrJson.TEXT,
    *,
    target: Target,
) -> None:
    """Diagnose a control plane and print a fix for each problem.

    Checks CRDs, versions, controllers, stuck deletions and orphaned work. Changes nothing. If you may read only one
    namespace, checks that namespace.
    """
    from jangar.cli.doctor.checks import run_checks  # noqa: PLC0415
    from jangar.cli.doctor.facts_reader import read_facts  # noqa: PLC0415
    from jangar.cli.doctor.report import document, lines, unreachable_document  # noqa: PLC0415
    from jangar.processes.data_directory import instance_of  # noqa: PLC0415

    async def work(session: Session) -> "Facts":
        directory = local_data_directory(target)
        return await read_facts(session, instance_of(directory) if directory else None)

    def report(message: str, _: ExitCode) -> None:
        write_lines([json_text(unreachable_document(message))])

    facts = call_api("doctor", target, work, report if output is TextOrJson.JSON else None)
    checks = run_checks(facts)
    write_lines([json_text(document(facts, checks))] if output is TextOrJson.JSON else lines(facts, checks))
    if any(check.problems for check in checks):
        raise typer.Exit(ExitCode.FAILED)


def completion_command(
    shell: Annotated[Shell, typer.Argument(help="Shell to print the script for.")],
) -> None:
    """Print the completion script for a shell."""
    from typer import completion  # noqa: PLC0415 - not needed for --help

    script = completion.get_completion_script(  # type: ignore[attr-defined]
        prog_name="jangar", complete_var=COMPLETE_VARIABLE, shell=shell
    )
    write_lines([script])


def complete() -> None:
    """Prepare typer to answer a completion request."""
    from typer import completion  # noqa: PLC0415 - not needed for --help

    completion.completion_init()  # type: ignore[attr-defined]
