"""What the doctor says: lines for people, JSON for scripts. Pure."""

from collections.abc import Sequence
from typing import Any

from jangar.cli.doctor.facts import Check, Facts
from jangar.cli.terminal import printable
from jangar.cli.wording import counted

MOST = 10


def lines(facts: Facts, checks: Sequence[Check]) -> list[str]:
    """A line a check, and below it what is wrong and what to do."""
    wide = max(len(each.name) for each in checks)
    told = [f"ok    {'API':<{wide}}  {facts.server}"]
    for check in checks:
        if check.skipped:
            told.append(f"?     {check.name:<{wide}}  not looked at: {check.skipped}")
        elif not check.ailments:
            told.append(f"ok    {check.name:<{wide}}  {check.found}")
        else:
            told += _ailing(check, wide)
    count = sum(len(each.ailments) for each in checks)
    told.append(counted(count, "problem") if count else "no problems")
    return [printable(line) for line in told]


def _ailing(check: Check, wide: int) -> list[str]:
    told = []
    for ailment in check.ailments[:MOST]:
        about = f"{ailment.subject}: " if ailment.subject else ""
        told += [
            f"WRONG {check.name:<{wide}}  {about}{ailment.message}",
            f"{'':<{wide + 8}}fix: {ailment.fix}",
        ]
    if len(check.ailments) > MOST:
        told.append(f"WRONG {check.name:<{wide}}  … {len(check.ailments) - MOST:,} more")
    return told


def unreached(message: str) -> dict[str, Any]:
    """The document of an API that does not answer: one check, of which nothing but that is known."""
    said, _, fix = message.removesuffix(")").rpartition(" (") if message.endswith(")") else (message, "", "")
    problem = {"subject": None, "message": said, "fix": fix or "jangar up starts an API on this machine"}
    return {
        "server": None,
        "healthy": False,
        "checks": [{"name": "API", "found": "", "skipped": None, "problems": [problem]}],
    }


def document(facts: Facts, checks: Sequence[Check]) -> dict[str, Any]:
    return {
        "server": facts.server,
        "healthy": not any(each.ailments for each in checks),
        "checks": [
            {
                "name": check.name,
                "found": check.found,
                "skipped": check.skipped or None,
                "problems": [
                    {"subject": each.subject or None, "message": each.message, "fix": each.fix}
                    for each in check.ailments
                ],
            }
            for check in checks
        ],
    }
