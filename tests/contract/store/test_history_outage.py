"""The controllers with a real PostgreSQL that stops under load."""

import os
import secrets
import time

import pytest

from contract.engine.engine_api import Api
from contract.engine.engine_beds import await_default_account
from contract.engine.engine_namespace import EngineNamespace, step
from contract.store.history_bed import BedWithHistory
from jangar.api.phases import TERMINAL
from support.reliability_page import record_trials

IS_WHOLE = os.environ.get("JANGAR_SIMULATION") == "all"
OUTAGE = 60.0 if IS_WHOLE else 4.0
RUNS = 60 if IS_WHOLE else 8
LOG = "echo the log of $MARK"


@pytest.fixture
def namespace(postgres):
    bed = BedWithHistory()
    name = f"t_{secrets.token_hex(6)}"
    postgres.sql(f"CREATE DATABASE {name}")
    bed.url = postgres.url.removesuffix("postgres") + name
    bed.start()
    client = bed.server.client()
    own_name = f"t-{secrets.token_hex(4)}"
    Api(client).create("Namespace", own_name)
    namespace = EngineNamespace(bed=bed, api=Api(client, own_name))
    await_default_account(namespace.api)
    namespace.tool("ok", LOG)
    yield namespace
    client.close()
    bed.stop()


def start(namespace, number):
    run = namespace.run_of([step("a"), step("b", after=["a"])], name=f"run-{number}")
    namespace.api.merge("OrchestrationRun", run.name, {"spec": {"ttlSecondsAfterFinished": 0}})
    return run


def has_ended(run):
    return run.status.get("phase") in TERMINAL


@pytest.mark.rule("GC-6")
@pytest.mark.xdist_group("postgresql")
def test_an_outage_of_the_database_delays_deletion_and_loses_nothing(namespace, postgres, record_property):
    """Runs continue and end meanwhile, none is deleted, the controllers may be killed; then every row is stored."""
    start(namespace, "first")
    namespace.await_(
        lambda: not namespace.api.all("OrchestrationRun"),
        "that a run is deleted once it is stored",
        seconds=60,
    )
    postgres.kill()
    began = time.monotonic()
    runs = [start(namespace, number) for number in range(RUNS)]
    for run in runs:
        namespace.await_(
            lambda run=run: has_ended(run), f"that {run.name} ends without a database", seconds=120
        )
    namespace.bed.kill_controllers()
    namespace.bed.start_controllers()
    namespace.await_(lambda: time.monotonic() - began > OUTAGE, "the end of the outage", seconds=OUTAGE + 60)
    assert len(namespace.api.all("OrchestrationRun")) == RUNS, "nothing is deleted before it is stored"
    uids = {
        item["metadata"]["uid"]
        for kind in ("OrchestrationRun", "ToolRun")
        for item in namespace.api.all(kind)
    }
    assert len(uids) == 3 * RUNS
    postgres.start()
    namespace.await_(
        lambda: not namespace.api.all("OrchestrationRun"), "that they are deleted once stored", seconds=120
    )
    database = namespace.bed.url.rpartition("/")[2]
    stored = set(postgres.sql("SELECT uid FROM runs", database).split())
    tails = set(postgres.sql("SELECT uid FROM log_tails WHERE text LIKE 'the log of %'", database).split())
    record_trials(
        record_property,
        row=f"19: history, the database gone for {OUTAGE:g} s",
        bed="P",
        seeds=range(RUNS),
        failures=len(uids - stored),
    )
    assert uids <= stored
    assert len(stored) == 3 * (RUNS + 1)
    assert len(tails) == 2 * (RUNS + 1)
