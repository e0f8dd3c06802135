"""Skips tests that need real agent CLIs unless the run provides them."""

import os
from pathlib import Path

import pytest

WHY_NOT = "needs real agent CLIs: make agent-clis"


def pytest_collection_modifyitems(items):
    if "JANGAR_AGENT_CLIS" not in os.environ:
        for item in items:
            if item.path.is_relative_to(Path(__file__).parent):
                item.add_marker(pytest.mark.skip(reason=WHY_NOT))
