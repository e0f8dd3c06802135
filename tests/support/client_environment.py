"""Real Kubernetes clients for the nightly tests: where they are installed, and what a run without them prints."""

import os
from pathlib import Path
from typing import Any, Final

VARIABLE: Final = "JANGAR_NIGHTLY"
"""The directory of the clients' environment; `make nightly` creates it and sets this variable."""
WHY_NOT: Final = "real clients run every night: make nightly"


def clients() -> Path | None:
    """The directory of the environment; None in a normal run."""
    directory = os.environ.get(VARIABLE)
    return Path(directory) if directory else None


def write_clients_summary(terminal: Any) -> None:
    """Print the skipped tests."""
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
