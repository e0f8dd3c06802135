"""Hooks of the whole suite. Only what every run, and the controller of a parallel one, must know."""

from support.conformance_summary import write_conformance_summary


def pytest_terminal_summary(terminalreporter):
    write_conformance_summary(terminalreporter)
