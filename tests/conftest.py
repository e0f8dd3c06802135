"""Hooks of the whole test suite, also for the controller of a parallel run."""

import os
import tempfile
from pathlib import Path

from support.client_environment import write_clients_summary
from support.conformance_summary import write_conformance_summary
from support.engine_summary import write_engine_summary
from support.history_summary import write_history_summary
from support.reliability_page import write_reliability_page

if Path("/var/tmp").is_dir() and "TMPDIR" not in os.environ:  # noqa: S108 - where tests make their directories
    # Every pod on a laptop has its own /tmp: files that its processes share with a test are elsewhere.
    os.environ["TMPDIR"] = tempfile.tempdir = "/var/tmp"  # noqa: S108


def pytest_terminal_summary(terminalreporter):
    write_conformance_summary(terminalreporter)
    write_clients_summary(terminalreporter)
    write_engine_summary(terminalreporter)
    write_history_summary(terminalreporter)
    write_reliability_page(terminalreporter)
