"""Test summary: the beds on which the engine was tested, and why not on the others.

Works from test reports only, so that it also counts results of pytest-xdist workers.
"""

import re
from collections import Counter
from typing import Any

BED = re.compile(r"contract/engine/.*\[(laptop|apiserver|cluster)\b")
WHY_NOT = re.compile(r"bed \w+: (.*)")


def write_engine_summary(terminal: Any) -> None:
    ran: dict[str, Counter[str]] = {}
    missing: dict[str, str] = {}
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminal.stats.get(outcome, []):
            match = BED.search(report.nodeid)
            if match is None:
                continue
            if outcome != "skipped":
                ran.setdefault(match[1], Counter())[outcome] += 1
            elif reason := WHY_NOT.search(_words(report.longrepr)):
                missing.setdefault(match[1], reason[1])
    if not ran and not missing:
        return
    terminal.write_sep("-", "The engine on its beds")
    for bed, counts in ran.items():
        total = sum(counts.values())
        terminal.write_line(f"{bed}: {counts['passed']} of {total} tests passed")
    for bed, reason in missing.items():
        terminal.write_line(f"{bed}: not run: {reason}")


def _words(skipped: Any) -> str:
    """A skip report has file, line and reason."""
    return str(skipped[-1] if isinstance(skipped, tuple | list) else skipped)
