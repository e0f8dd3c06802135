"""Real Kubernetes clients for the nightly tests: where they are installed, and what a run without them says."""

import os
from pathlib import Path
from typing import Any, Final

VARIABLE: Final = "JANGAR_NIGHTLY"
"""Names the environment of the clients; `make nightly` makes it and sets this."""
WHY_NOT: Final = "real clients run every night: make nightly"


def clients() -> Path | None:
    """The directory of the environment; None in an ordinary run."""
    found = os.environ.get(VARIABLE)
    return Path(found) if found else None


def write_clients_summary(terminal: Any) -> None:
    """Name what was not run."""
    names = sorted(
        {
            report.nodeid.rpartition("/")[2].partition(".py")[0].removeprefix("test_")
            for report in terminal.stats.get("skipped", [])
            if WHY_NOT in str(report.longrepr)
        }
    )
    if names:
        terminal.write_sep("-", "Real Kubernetes clients")
        terminal.write_line(f"not run: {', '.join(names)} ({WHY_NOT})")
