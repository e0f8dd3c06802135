"""`jangar version`: what is installed."""

from enum import StrEnum
from typing import Annotated, assert_never

import typer

from jangar import __version__
from jangar.cli.terminal import write_lines


class VersionFormat(StrEnum):
    """How versions are shown."""

    TEXT = "text"
    JSON = "json"


EPILOG = """\b
Examples:
  jangar version
  jangar version -o json"""


def version_command(
    output: Annotated[
        VersionFormat, typer.Option("--output", "-o", help="Output format.")
    ] = VersionFormat.TEXT,
) -> None:
    """Print the versions of jangar and its API."""
    import platform  # noqa: PLC0415 - not needed for --help

    from jangar.api.kind import VERSION  # noqa: PLC0415
    from jangar.cli.json_text import json_text  # noqa: PLC0415

    found = {"jangar": __version__, "python": platform.python_version(), "apiVersion": VERSION}
    match output:
        case VersionFormat.TEXT:
            write_lines(f"{name} {value}" for name, value in found.items())
        case VersionFormat.JSON:
            write_lines([json_text(found)])
        case _:
            assert_never(output)
