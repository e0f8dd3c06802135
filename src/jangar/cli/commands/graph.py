"""`jangar graph`: the DAG of an orchestration, drawn."""

import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, assert_never

import typer

from jangar.cli.exit_codes import ExitCode
from jangar.cli.terminal import columns, has_box_characters, has_color, printable, write_error, write_lines

if TYPE_CHECKING:
    from jangar.cli.drawing.dag import Dag
    from jangar.lint.objects import CheckedObject
    from jangar.lint.report import Report


class GraphFormat(StrEnum):
    """How a graph is drawn."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    JSON = "json"


EPILOG = """\b
Examples:
  jangar graph nightly.yaml
  jangar graph all.yaml --name nightly
  jangar graph nightly.yaml -o mermaid >> README.md
  jangar graph nightly.yaml -o dot | dot -Tsvg > nightly.svg

\b
Exit codes: 0 drawn, 1 the definition has problems, 2 wrong usage, 4 not found."""


def graph_command(
    path: Annotated[str, typer.Argument(metavar="FILE|-", help="A manifest, or - for standard input.")],
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="Draw only the Orchestration or OrchestrationRun with this name."
        ),
    ] = None,
    output: Annotated[GraphFormat, typer.Option("--output", "-o", help="Output format.")] = GraphFormat.TEXT,
) -> None:
    """Draw the DAG of an Orchestration.

    Draws every Orchestration, and every run with an inline definition.
    Steps appear below their dependencies. A graph that is too wide for the terminal is listed level by level.
    """
    from jangar.lint.files import (  # noqa: PLC0415
        CannotRead,
        SourceFile,
        read_sources,
    )
    from jangar.lint.report import lint  # noqa: PLC0415

    found = list(read_sources([path], sys.stdin.buffer))
    for item in found:
        if isinstance(item, CannotRead):
            write_error(f"jangar graph: {item}")
            raise typer.Exit(ExitCode.USAGE)
    report = lint(item for item in found if isinstance(item, SourceFile))
    chosen = [item for item in report.objects if item.definition and name in {None, item.manifest.name}]
    _reject_problems(report, chosen)
    if not chosen:
        _reject_missing(report, path, name)
    _draw([_dag(item) for item in chosen], output)


def _reject_problems(report: "Report", chosen: "Sequence[CheckedObject]") -> None:
    """Problems of the file as a whole, and of what is to be drawn."""
    from jangar.cli.findings import finding_lines  # noqa: PLC0415 - heavy
    from jangar.lint.finding import Severity, short  # noqa: PLC0415

    drawn = {(item.manifest.kind.name, short(item.manifest.name)) for item in chosen}
    problems = [
        finding
        for finding in report.findings
        if finding.severity is Severity.ERROR and (not finding.kind or (finding.kind, finding.name) in drawn)
    ]
    if problems:
        write_lines(finding_lines(problems, color=has_color(sys.stderr)), to=sys.stderr)
        raise typer.Exit(ExitCode.FAILED)


def _reject_missing(report: "Report", path: str, name: str | None) -> None:
    names = [f"{item.manifest.kind.name}/{item.manifest.name}" for item in report.objects if item.definition]
    if name is None or not names:
        write_error(f"jangar graph: {path} contains no Orchestration")
    else:
        write_error(f"jangar graph: {path} contains no {name}; it contains {', '.join(names)}")
    raise typer.Exit(ExitCode.NOT_FOUND)


def _dag(checked: "CheckedObject") -> "Dag":
    from jangar.cli.drawing.dag import Dag  # noqa: PLC0415 - heavy
    from jangar.domain.orchestration.validation import define  # noqa: PLC0415
    from jangar.lint.conditions import compile_when  # noqa: PLC0415

    spec = checked.definition.whole if checked.definition else None
    defined = define(spec, compile_condition=compile_when) if spec else []
    if isinstance(defined, list):
        write_error(
            f"jangar graph: {checked.manifest.kind.name}/{checked.manifest.name} has problems; run jangar lint"
        )
        raise typer.Exit(ExitCode.FAILED)
    return Dag(
        kind=checked.manifest.kind.name,
        name=checked.manifest.name,
        mode=defined.mode,
        step_kinds=[step.kind for step in defined.steps],
        graph=defined.graph,
    )


def _draw(dags: "Sequence[Dag]", output: GraphFormat) -> None:
    from jangar.cli.drawing import exports  # noqa: PLC0415 - heavy
    from jangar.cli.json_text import json_text  # noqa: PLC0415

    match output:
        case GraphFormat.TEXT:
            write_lines(_text(dags))
        case GraphFormat.MERMAID:
            write_lines(exports.mermaid(dags))
        case GraphFormat.DOT:
            write_lines(exports.dot(dags))
        case GraphFormat.JSON:
            write_lines([json_text(exports.as_json(dags))])
        case _:
            assert_never(output)


def _text(dags: "Sequence[Dag]") -> list[str]:
    from jangar.cli.drawing.boxes import boxes  # noqa: PLC0415 - heavy
    from jangar.cli.drawing.canvas import ASCII  # noqa: PLC0415
    from jangar.cli.drawing.listing import listing  # noqa: PLC0415

    lines: list[str] = []
    for dag in dags:
        drawing = boxes(dag, width=columns()) or listing(dag, width=columns())
        lines += ["", printable(dag.title), "", *drawing] if lines else [printable(dag.title), "", *drawing]
    return lines if has_box_characters(sys.stdout) else [line.translate(ASCII) for line in lines]
