"""`jangar lint` and `jangar graph`: check manifests, and draw the DAGs in them."""

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, assert_never

import typer

from jangar.cli.exit_codes import ExitCode
from jangar.cli.json_text import json_text
from jangar.cli.terminal import (
    TextOrJson,
    columns,
    has_box_characters,
    has_color,
    printable,
    write_error,
    write_lines,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jangar.cli.drawing.dag import Dag
    from jangar.lint.objects import CheckedObject
    from jangar.lint.report import Report

LINT_EPILOG = """\b
Examples:
  jangar lint nightly.yaml
  jangar lint charts/agents/examples more/*.yaml
  helm template charts/agents | jangar lint -
  jangar lint -o json . | jq '.problems[].message'

\b
Exit codes: 0 no problems, 1 problems, 2 wrong usage or a file that cannot be read."""
GRAPH_EPILOG = """\b
Examples:
  jangar graph nightly.yaml
  jangar graph all.yaml --name nightly
  jangar graph nightly.yaml -o mermaid >> README.md
  jangar graph nightly.yaml -o dot | dot -Tsvg > nightly.svg

\b
Exit codes: 0 drawn, 1 the definition has problems, 2 wrong usage, 4 not found."""


class GraphFormat(StrEnum):
    """Output formats."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    JSON = "json"


def lint_command(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="FILE|DIR|-", help="Files, directories, or - for standard input."),
    ],
    output: Annotated[TextOrJson, typer.Option("--output", "-o", help="Output format.")] = TextOrJson.TEXT,
    strict: Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")] = False,
) -> None:
    """Check manifests and list every problem.

    Checks syntax, schema, rules, graphs and references of YAML and JSON files. Reports every problem with its
    line and a fix. Needs no cluster.
    Skips objects of other API groups.
    """
    from jangar.cli.manifests import finding_lines, read_files, report_json, summary  # noqa: PLC0415
    from jangar.lint.report import lint  # noqa: PLC0415

    sources, unreadable = read_files(paths)
    report = lint(sources)
    for item in unreadable:
        write_error(f"jangar lint: {item}")
    if output is TextOrJson.JSON:
        write_lines([json_text(report_json(report, unreadable))])
    else:
        write_lines(finding_lines(report.findings, color=has_color(sys.stdout)))
        if report.files:
            write_error(summary(report))
    if unreadable:
        raise typer.Exit(ExitCode.USAGE)
    if report.errors or (strict and report.warnings):
        raise typer.Exit(ExitCode.FAILED)


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
    from jangar.cli.manifests import read_files  # noqa: PLC0415 - heavy
    from jangar.lint.report import lint  # noqa: PLC0415

    sources, unreadable = read_files([path])
    if unreadable:
        write_error(f"jangar graph: {unreadable[0]}")
        raise typer.Exit(ExitCode.USAGE)
    report = lint(sources)
    chosen = [item for item in report.objects if item.definition and name in {None, item.manifest.name}]
    _reject_problems(report, chosen)
    if not chosen:
        _reject_missing(report, path, name)
    _draw([_dag(item) for item in chosen], output)


def _reject_problems(report: "Report", chosen: "Sequence[CheckedObject]") -> None:
    """Exit if the file, or an object that is drawn, has a problem."""
    from jangar.cli.manifests import finding_lines  # noqa: PLC0415 - heavy
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
    from jangar.cli.drawing.boxes import ASCII, boxes, listing  # noqa: PLC0415 - heavy

    lines: list[str] = []
    for dag in dags:
        drawing = boxes(dag, width=columns()) or listing(dag, width=columns())
        lines += ["", printable(dag.title), "", *drawing] if lines else [printable(dag.title), "", *drawing]
    return lines if has_box_characters(sys.stdout) else [line.translate(ASCII) for line in lines]
