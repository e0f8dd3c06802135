"""The beds, each started on first use, and a namespace for every test."""

import secrets
from pathlib import Path

import pytest

from contract.engine.engine_agents import Agents
from contract.engine.engine_api import Api
from contract.engine.engine_beds import BEDS, NoImage, await_default_account, why_not
from contract.engine.engine_namespace import FAIL, FOREVER, OK, EngineNamespace

PARAMETERS = [pytest.param(name, marks=pytest.mark.xdist_group(f"engine-{name}")) for name in BEDS]


@pytest.fixture(scope="session")
def running_beds():
    """The beds started in this session; stopped together at its end."""
    running = {}
    yield running
    for bed in running.values():
        bed.stop()


@pytest.fixture(scope="session")
def obstacles():
    return {name: why_not(name) for name in BEDS}


def pytest_collection_modifyitems(items):
    """Orders the tests bed by bed: one bed is finished before the next starts."""
    order = list(BEDS)
    positions = [
        position for position, item in enumerate(items) if Path(__file__).parent in item.path.parents
    ]
    own = sorted(
        (items[position] for position in positions), key=lambda item: order.index(item.callspec.params["bed"])
    )
    for position, item in zip(positions, own, strict=True):
        items[position] = item


@pytest.fixture(params=PARAMETERS)
def bed(request, running_beds, obstacles):
    if obstacle := obstacles[request.param]:
        pytest.skip(f"bed {request.param}: {obstacle}")
    if request.param not in running_beds:
        running_beds[request.param] = made = BEDS[request.param]()
        try:
            made.start()
        except Exception as error:
            obstacles[request.param] = f"did not start: {error}"
            raise
    return running_beds[request.param]


@pytest.fixture
def agents(namespace):
    """Agents in a namespace whose containers have the product."""
    try:
        return Agents(namespace, namespace.bed.agent_image())
    except NoImage as obstacle:
        pytest.skip(str(obstacle))


@pytest.fixture
def namespace(bed):
    """A test's own namespace with three tools: one succeeds, one fails, and one runs until it is stopped."""
    client = bed.server.client()
    own_name = f"t-{secrets.token_hex(4)}"
    Api(client).create("Namespace", own_name)
    api = Api(client, own_name)
    await_default_account(api)
    namespace = EngineNamespace(bed=bed, api=api)
    for name, script in {"ok": OK, "bad": FAIL, "forever": FOREVER}.items():
        namespace.tool(name, script)
    yield namespace
    api.delete("Namespace", own_name)
    client.close()
