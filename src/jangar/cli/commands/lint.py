"""`jangar lint`: every problem of some manifests at once."""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from jangar.cli.exit_codes import ExitCode
from jangar.cli.terminal import has_color, write_error, write_lines

if TYPE_CHECKING:
    from jangar.lint.files import CannotRead
    from jangar.lint.report import Report


class LintFormat(StrEnum):
    """How problems are shown."""

    TEXT = "text"
    JSON = "json"


EPILOG = """\b
Examples:
  jangar lint nightly.yaml
  jangar lint charts/agents/examples more/*.yaml
  helm template charts/agents | jangar lint -
  jangar lint -o json . | jq '.problems[].message'

\b
Exit codes: 0 no problems, 1 problems, 2 wrong usage or a file that cannot be read."""


def lint_command(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="FILE|DIR|-", help="Files, directories, or - for standard input."),
    ],
    output: Annotated[LintFormat, typer.Option("--output", "-o", help="Output format.")] = LintFormat.TEXT,
    strict: Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")] = False,
) -> None:
    """Check manifests and list every problem.

    Checks syntax, schema, rules, graphs and references of YAML and JSON files. Reports every problem with its
    line and a fix. Needs no cluster.
    Skips objects of other API groups.
    """
    from jangar.lint.files import (  # noqa: PLC0415
        CannotRead,
        SourceFile,
        read_sources,
    )
    from jangar.lint.report import lint  # noqa: PLC0415

    found = list(read_sources(paths, sys.stdin.buffer))
    unreadable = [item for item in found if isinstance(item, CannotRead)]
    report = lint(item for item in found if isinstance(item, SourceFile))
    for item in unreadable:
        write_error(f"jangar lint: {item}")
    _show(report, unreadable, output)
    if unreadable:
        raise typer.Exit(ExitCode.USAGE)
    if report.errors or (strict and report.warnings):
        raise typer.Exit(ExitCode.FAILED)


def _show(report: "Report", unreadable: "list[CannotRead]", output: LintFormat) -> None:
    from jangar.cli.findings import finding_lines, report_json, summary  # noqa: PLC0415 - heavy
    from jangar.cli.json_text import json_text  # noqa: PLC0415

    match output:
        case LintFormat.JSON:
            write_lines([json_text(report_json(report, unreadable))])
        case LintFormat.TEXT:
            write_lines(finding_lines(report.findings, color=has_color(sys.stdout)))
            if report.files:
                write_error(summary(report))
