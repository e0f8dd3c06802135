"""What the doctor says: lines for people, JSON for scripts. Pure."""

from collections.abc import Sequence
from typing import Any

from jangar.cli.doctor.checks import Check, Facts
from jangar.cli.terminal import printable
from jangar.cli.wording import counted

MAX_COUNT = 10


def lines(facts: Facts, checks: Sequence[Check]) -> list[str]:
    """A line a check, and below it what is wrong and what to do."""
    wide = max(len(item.name) for item in checks)
    reported = [f"ok    {'API':<{wide}}  {facts.server}"]
    for check in checks:
        if check.skipped:
            reported.append(f"?     {check.name:<{wide}}  not checked: {check.skipped}")
        elif not check.ailments:
            reported.append(f"ok    {check.name:<{wide}}  {check.found}")
        else:
            reported += _problem_lines(check, wide)
    count = sum(len(item.ailments) for item in checks)
    reported.append(counted(count, "problem") if count else "no problems")
    return [printable(line) for line in reported]


def _problem_lines(check: Check, wide: int) -> list[str]:
    reported = []
    for ailment in check.ailments[:MAX_COUNT]:
        about = f"{ailment.subject}: " if ailment.subject else ""
        reported += [
            f"WRONG {check.name:<{wide}}  {about}{ailment.message}",
            f"{'':<{wide + 8}}fix: {ailment.fix}",
        ]
    if len(check.ailments) > MAX_COUNT:
        reported.append(f"WRONG {check.name:<{wide}}  … {len(check.ailments) - MAX_COUNT:,} more")
    return reported


def unreachable_document(message: str) -> dict[str, Any]:
    """The document of an API that does not answer: one check, of which nothing but that is known."""
    said, _, fix = message.removesuffix(")").rpartition(" (") if message.endswith(")") else (message, "", "")
    problem = {
        "subject": None,
        "message": said,
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
        "healthy": not any(item.ailments for item in checks),
        "checks": [
            {
                "name": check.name,
                "found": check.found,
                "skipped": check.skipped or None,
                "problems": [
                    {"subject": ailment.subject or None, "message": ailment.message, "fix": ailment.fix}
                    for ailment in check.ailments
                ],
            }
            for check in checks
        ],
    }
