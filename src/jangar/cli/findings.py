"""How problems look: a line each, as compilers write them, or JSON."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import typer

from jangar.cli.terminal import printable
from jangar.cli.wording import counted
from jangar.lint.errors import CannotRead
from jangar.lint.finding import Finding, Severity
from jangar.lint.report import Report

_COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow"}


def finding_lines(findings: Iterable[Finding], *, colour: bool) -> Iterator[str]:
    """`file:line:column: error: Kind/name: field: what is wrong (what to do)`."""
    for each in findings:
        place = printable(f"{each.file}:{each.position.line}:{each.position.column}:")
        severity = f"{each.severity}:"
        if colour:
            place = typer.style(place, bold=True)
            severity = typer.style(severity, fg=_COLOURS[each.severity], bold=True)
        owner = f"{each.kind}/{each.name or '?'}" if each.kind else ""
        fix = f" ({each.fix})" if each.fix else ""
        what = ": ".join(part for part in (owner, each.field, f"{each.message}{fix}") if part)
        yield f"{place} {severity} {printable(what)}"


def summary(report: Report) -> str:
    """The last line: what was looked at and what came of it."""
    looked = f"{counted(len(report.objects), 'object')} in {counted(report.files, 'file')}"
    found = [counted(report.errors, "problem")] if report.errors else []
    found += [counted(report.warnings, "warning")] if report.warnings else []
    others = f"; {counted(report.others, 'other object')} not checked" if report.others else ""
    return f"{looked}: {', '.join(found) or 'no problems'}{others}"


def report_json(report: Report, unreadable: Iterable[CannotRead]) -> dict[str, Any]:
    """The report for scripts."""
    return {
        "problems": [_finding_json(each) for each in report.findings],
        "unreadable": [{"file": each.name, "message": str(each)} for each in unreadable],
        "checked": len(report.objects),
        "files": report.files,
        "notChecked": report.others,
        "errors": report.errors,
        "warnings": report.warnings,
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "file": finding.file,
        "line": finding.position.line,
        "column": finding.position.column,
        "kind": finding.kind,
        "name": finding.name,
        "field": finding.field,
        "step": finding.step,
        "reason": str(finding.reason),
        "message": finding.message,
        "fix": finding.fix,
        "severity": str(finding.severity),
    }
