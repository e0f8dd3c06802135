"""How problems look: a line each, as compilers write them, or JSON."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import typer

from jangar.cli.terminal import printable
from jangar.cli.wording import counted
from jangar.lint.files import CannotRead
from jangar.lint.finding import Finding, Severity
from jangar.lint.report import Report

_COLORS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow"}


def finding_lines(findings: Iterable[Finding], *, color: bool) -> Iterator[str]:
    """`file:line:column: error: Kind/name: field: what is wrong (what to do)`."""
    for finding in findings:
        place = printable(f"{finding.file}:{finding.position.line}:{finding.position.column}:")
        severity = f"{finding.severity}:"
        if color:
            place = typer.style(place, bold=True)
            severity = typer.style(severity, fg=_COLORS[finding.severity], bold=True)
        owner = f"{finding.kind}/{finding.name or '?'}" if finding.kind else ""
        fix = f" ({finding.fix})" if finding.fix else ""
        what = ": ".join(part for part in (owner, finding.field, f"{finding.message}{fix}") if part)
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
        "problems": [_finding_json(finding) for finding in report.findings],
        "unreadable": [{"file": item.name, "message": str(item)} for item in unreadable],
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
