"""Skips tests that need real clients unless the run provides them, and starts the servers."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from e2e.laptop_process import LaptopProcess
from support.api_servers import EmbeddedApiServer
from support.client_environment import WHY_NOT, clients


def pytest_collection_modifyitems(items):
    if clients() is None:
        for item in items:
            if item.path.is_relative_to(Path(__file__).parent):
                item.add_marker(pytest.mark.skip(reason=WHY_NOT))


@pytest.fixture(scope="module")
def server():
    """The embedded API on its own."""
    server = EmbeddedApiServer()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def laptop():
    """`jangar up` with its data directory below /tmp."""
    home = Path(tempfile.mkdtemp(prefix="jangar-nightly-", dir="/tmp"))
    process = LaptopProcess(home)
    # Containers get the PATH of `jangar up`; the chart's hooks start `jangar`.
    process.environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{process.environment['PATH']}"
    process.start()
    yield process
    process.stop()
    process.jangar("down", "--stop-work")
    shutil.rmtree(home, ignore_errors=True)
