"""The last lines of a test run: why history was not proven on PostgreSQL, where it was not. Works from test reports."""

import re
from typing import Any

WHY_NOT = re.compile(r"history on postgresql: (.*)")


def write_history_summary(terminal: Any) -> None:
    skipped = [report.longrepr for report in terminal.stats.get("skipped", [])]
    reasons = [WHY_NOT.search(str(each[-1] if isinstance(each, tuple | list) else each)) for each in skipped]
    told = [reason[1] for reason in reasons if reason]
    if told:
        terminal.write_sep("-", "History")
        terminal.write_line(f"postgresql: {len(told)} tests not run: {told[0]}")
