"""The examples unchanged: the outcome does not depend on where they run.

tests/e2e/test_examples.py runs them on a laptop.
"""

import json
import subprocess

import pytest

from contract.engine.engine_beds import JANGAR, NoImage
from e2e.example_ends import AGENTS, OVER, SMALL, assert_ended_as_expected, expected, is_to_be_cancelled
from support.api_servers import wait_for

PATIENCE = 180.0
CLUSTER = pytest.param("cluster", marks=pytest.mark.xdist_group("engine-cluster"))
"""On a laptop they are run by tests/e2e/test_examples.py."""


def jangar(namespace, *words):
    """A command as a user of this bed types it."""
    where = ("--kubeconfig", namespace.bed.server.kubeconfig, "-n", namespace.api.namespace)
    ran = subprocess.run(
        [JANGAR, *map(str, words), *map(str, where)], capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.parametrize("bed", [CLUSTER], indirect=True)
@pytest.mark.parametrize("folder", SMALL, ids=lambda folder: folder.name)
def test_an_example_has_the_same_outcome_on_a_cluster_as_on_a_laptop(namespace, folder):
    """Applied unchanged with our own command; run, steps, attempts, outputs and causes match expected.toml."""
    wanted = expected(folder)
    if folder in AGENTS:
        try:
            namespace.bed.agent_image()
        except NoImage as obstacle:
            pytest.skip(str(obstacle))
    jangar(namespace, "apply", "-f", folder)
    cancelled = False

    def over():
        nonlocal cancelled
        status = json.loads(jangar(namespace, "get", "run", wanted["run"], "-o", "json")).get("status") or {}
        if not cancelled and is_to_be_cancelled(wanted, status):
            jangar(namespace, "cancel", wanted["run"])
            cancelled = True
        return status if status.get("phase") in OVER else None

    assert_ended_as_expected(wanted, wait_for(over, what=f"the end of {wanted['run']}", seconds=PATIENCE))
