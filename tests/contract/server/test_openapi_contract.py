"""The server follows its OpenAPI document: schemathesis generates valid and invalid requests from it.

A bounded run by default; JANGAR_SCHEMATHESIS_SECONDS and JANGAR_SCHEMATHESIS_EXAMPLES extend it.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from contract.server.conftest import HERE
from support.proving import FULL

SECONDS = int(os.environ.get("JANGAR_SCHEMATHESIS_SECONDS", "60" if FULL else "20"))
EXAMPLES = os.environ.get("JANGAR_SCHEMATHESIS_EXAMPLES", "8")
SCHEMATHESIS = Path(sys.executable).with_name("st")
KNOWN_OBJECTS = f"""
[[operations]]
include-path-regex = "/v1/namespaces/"
parameters = {{ "path.namespace" = "{HERE}", "path.name" = "live" }}
"""


@pytest.mark.parametrize("known", [False, True], ids=["anything", "of-a-run-that-is-there"])
def test_no_request_violates_the_contract(control_plane, tmp_path, known):
    """No 5xx, no undocumented status, type or body, and no unsupported method or header is accepted."""
    if known:
        (tmp_path / "schemathesis.toml").write_text(KNOWN_OBJECTS)
    command = [
        *(SCHEMATHESIS, "run", f"{control_plane.http.url}/openapi.json"),
        *("--header", f"Authorization: Bearer {control_plane.server.token}"),
        # Streams never end; the other requests need the run that a DELETE would remove.
        *("--exclude-path-regex", "/watch$|/logs$", "--exclude-method", "DELETE"),
        # A made-up cursor or a definition without steps fits the schema and is rejected.
        *("--exclude-checks", "positive_data_acceptance"),
        *("--phases", "examples,coverage,fuzzing", "--max-examples", EXAMPLES),
        *(
            "--max-time",
            str(SECONDS),
            "--request-timeout",
            "30",
            "--warnings",
            "off",
            "--seed",
            "1",
            "--no-shrink",
        ),
        *(("--include-path-regex", "/v1/namespaces/") if known else ()),
    ]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS * 3 + 60, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    if known:
        assert (
            f"path=/v1/namespaces/{HERE}/runs/live/graph status=200" in control_plane.process.log.read_text()
        )
