"""`jangar doctor`: what is wrong with a control plane, and what to do about it."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.exit_codes import ExitCode
from jangar.cli.target import Target, asks_an_api, laptop_place
from jangar.cli.terminal import write_lines

if TYPE_CHECKING:
    from jangar.cli.api_session import Session
    from jangar.cli.doctor.facts import Facts

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


@asks_an_api
def doctor_command(
    output: Annotated[
        DoctorFormat, typer.Option("--output", "-o", help="How to show it.")
    ] = DoctorFormat.TEXT,
    *,
    target: Target,
) -> None:
    """Look for what is wrong, and say the fix for each: kinds, versions, controllers, stuck deletions, lost work.

    Looks only, and changes nothing. Where only one namespace may be read, that one is looked at.
    """
    from jangar.cli.api_session import ask  # noqa: PLC0415 - heavy
    from jangar.cli.doctor.checks import examined  # noqa: PLC0415
    from jangar.cli.doctor.examination import examine  # noqa: PLC0415
    from jangar.cli.doctor.report import document, lines, unreached  # noqa: PLC0415
    from jangar.cli.json_text import json_text  # noqa: PLC0415
    from jangar.processes.laptop_instance import instance_of  # noqa: PLC0415

    async def work(session: "Session") -> "Facts":
        place = laptop_place(target)
        return await examine(session, instance_of(place) if place else None)

    def tell(message: str, _: ExitCode) -> None:
        write_lines([json_text(unreached(message))])

    facts = ask("doctor", target, work, tell if output is DoctorFormat.JSON else None)
    checks = examined(facts)
    write_lines([json_text(document(facts, checks))] if output is DoctorFormat.JSON else lines(facts, checks))
    if any(each.ailments for each in checks):
        raise typer.Exit(ExitCode.FAILED)
