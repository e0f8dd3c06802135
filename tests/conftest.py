"""Hooks of the whole suite. Only what every run, and the controller of a parallel one, must know."""

from support.conformance_summary import write_conformance_summary
from support.engine_summary import write_engine_summary
from support.history_summary import write_history_summary
from support.reliability_page import write_reliability_page


def pytest_terminal_summary(terminalreporter):
    write_conformance_summary(terminalreporter)
    write_engine_summary(terminalreporter)
    write_history_summary(terminalreporter)
    write_reliability_page(terminalreporter)
