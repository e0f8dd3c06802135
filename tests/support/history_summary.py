"""Test summary: why history was not tested on PostgreSQL, if so. Works from test reports only."""

import re
from typing import Any

WHY_NOT = re.compile(r"history on postgresql: (.*)")


def write_history_summary(terminal: Any) -> None:
    skipped = [report.longrepr for report in terminal.stats.get("skipped", [])]
    reasons = [WHY_NOT.search(str(item[-1] if isinstance(item, tuple | list) else item)) for item in skipped]
    reported = [reason[1] for reason in reasons if reason]
    if reported:
        terminal.write_sep("-", "History")
        terminal.write_line(f"postgresql: {len(reported)} tests not run: {reported[0]}")
