"""`jangar doctor`: what is wrong with a control plane, and what to do about it."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.exit_codes import ExitCode
from jangar.cli.target import Target, local_data_directory, with_api_options
from jangar.cli.terminal import write_lines

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from jangar.cli.doctor.checks import Facts

EPILOG = """\b
Examples:
  jangar doctor
  jangar doctor --context staging -o json

\b
Exit codes: 0 healthy, 1 problems, 5 the API cannot be reached."""


class DoctorFormat(StrEnum):
    """How it is shown."""

    TEXT = "text"
    JSON = "json"


@with_api_options
def doctor_command(
    output: Annotated[
        DoctorFormat, typer.Option("--output", "-o", help="Output format.")
    ] = DoctorFormat.TEXT,
    *,
    target: Target,
) -> None:
    """Diagnose a control plane and print a fix for each problem.

    Checks CRDs, versions, controllers, stuck deletions and orphaned work. Changes nothing. If you may read only one
    namespace, checks that namespace.
    """
    from jangar.cli.api_session import ask  # noqa: PLC0415 - heavy
    from jangar.cli.doctor.checks import run_checks  # noqa: PLC0415
    from jangar.cli.doctor.facts_reader import read_facts  # noqa: PLC0415
    from jangar.cli.doctor.report import document, lines, unreachable_document  # noqa: PLC0415
    from jangar.cli.json_text import json_text  # noqa: PLC0415
    from jangar.processes.data_directory import instance_of  # noqa: PLC0415

    async def work(session: "Session") -> "Facts":
        place = local_data_directory(target)
        return await read_facts(session, instance_of(place) if place else None)

    def tell(message: str, _: ExitCode) -> None:
        write_lines([json_text(unreachable_document(message))])

    facts = ask("doctor", target, work, tell if output is DoctorFormat.JSON else None)
    checks = run_checks(facts)
    write_lines([json_text(document(facts, checks))] if output is DoctorFormat.JSON else lines(facts, checks))
    if any(check.problems for check in checks):
        raise typer.Exit(ExitCode.FAILED)
