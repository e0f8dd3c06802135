"""Formats the results of the checks: lines for people, JSON for scripts. Pure."""

from collections.abc import Sequence
from typing import Any

from jangar.cli.doctor.checks import Check, Facts
from jangar.cli.terminal import printable
from jangar.cli.wording import counted

MAX_COUNT = 10


def lines(facts: Facts, checks: Sequence[Check]) -> list[str]:
    """A line per check, and below it each problem with its fix."""
    wide = max(len(item.name) for item in checks)
    output = [f"ok    {'API':<{wide}}  {facts.server}"]
    for check in checks:
        if check.skipped:
            output.append(f"?     {check.name:<{wide}}  not checked: {check.skipped}")
        elif not check.problems:
            output.append(f"ok    {check.name:<{wide}}  {check.found}")
        else:
            output += _problem_lines(check, wide)
    count = sum(len(item.problems) for item in checks)
    output.append(counted(count, "problem") if count else "no problems")
    return [printable(line) for line in output]


def _problem_lines(check: Check, wide: int) -> list[str]:
    output = []
    for problem in check.problems[:MAX_COUNT]:
        about = f"{problem.subject}: " if problem.subject else ""
        output += [
            f"WRONG {check.name:<{wide}}  {about}{problem.message}",
            f"{'':<{wide + 8}}fix: {problem.fix}",
        ]
    if len(check.problems) > MAX_COUNT:
        output.append(f"WRONG {check.name:<{wide}}  … {len(check.problems) - MAX_COUNT:,} more")
    return output


def unreachable_document(message: str) -> dict[str, Any]:
    """The document for an API that does not respond."""
    text, _, fix = message.removesuffix(")").rpartition(" (") if message.endswith(")") else (message, "", "")
    problem = {
        "subject": None,
        "message": text,
        "fix": fix or "run jangar up to start an API on this machine",
    }
    return {
        "server": None,
        "healthy": False,
        "checks": [{"name": "API", "found": "", "skipped": None, "problems": [problem]}],
    }


def document(facts: Facts, checks: Sequence[Check]) -> dict[str, Any]:
    return {
        "server": facts.server,
        "healthy": not any(item.problems for item in checks),
        "checks": [
            {
                "name": check.name,
                "found": check.found,
                "skipped": check.skipped or None,
                "problems": [
                    {"subject": problem.subject or None, "message": problem.message, "fix": problem.fix}
                    for problem in check.problems
                ],
            }
            for check in checks
        ],
    }
