"""Admission with the shipped processes and one AgentRun at a time."""

import time

import pytest

from contract.agents.fresh_namespace import fresh_namespace
from contract.engine.engine_beds import JANGAR, QUICK_LEASE, LaptopBed
from contract.engine.engine_namespace import IMAGE
from support.child_processes import Child
from support.runner_availability import why_no_runner

ONE = {
    "JANGAR_AGENTS_CONTROLLER_CONCURRENCY_CLUSTER": "1",
    "JANGAR_AGENTS_CONTROLLER_BLOCKED_SECRETS": "root-token",
}


class OneAtATime(LaptopBed):
    name = "admission"

    def start_controllers(self):
        command = [JANGAR, "controllers", "--kubeconfig", self.server.kubeconfig, "-n", "*"]
        command += ["--data-dir", self.directory / "controllers"]
        self._controllers = Child("controllers", command, self.directory, env={**QUICK_LEASE, **ONE})


@pytest.fixture(scope="module")
def bed():
    if (obstacle := why_no_runner()) is not None:
        pytest.skip(obstacle)
    made = OneAtATime()
    made.start()
    yield made
    made.stop()


@pytest.fixture
def namespaces(bed):
    with fresh_namespace(bed) as one, fresh_namespace(bed) as other:
        for namespace in (one, other):
            for name, script in (("slow", "sleep 4"), ("quick", "true")):
                provider = {"binary": "sh", "argsTemplate": ["-c", script], "workload": {"image": IMAGE}}
                namespace.api.create("AgentProvider", name, provider)
                namespace.api.create("Agent", name, {"providerRef": {"name": name}})
        yield one, other


def start(namespace, name, agent="quick", **spec):
    given = {
        "agentRef": {"name": agent},
        "implementation": {"inline": {"text": "work"}},
        "runtime": {"type": "job"},
        **spec,
    }
    namespace.api.create("AgentRun", name, given)


def status(namespace, name):
    return namespace.api.get("AgentRun", name).get("status") or {}


def blocked(namespace, name):
    conditions = status(namespace, name).get("conditions") or ()
    return next((condition for condition in conditions if condition["type"] == "Blocked"), {})


@pytest.mark.rule("RUN-3", "ST-5")
def test_a_run_over_the_limit_is_blocked_with_its_queue_position_and_continues_by_itself(namespaces):
    """Across namespaces and a restart of the controllers; the Blocked condition becomes False afterwards."""
    here, there = namespaces
    start(here, "first", "slow")
    here.await_(lambda: status(here, "first").get("phase") == "Running", "the first one")
    start(there, "second")
    there.await_(lambda: blocked(there, "second").get("status") == "True", "that the second is Blocked")
    held = status(there, "second")
    assert (held["phase"], held["reason"]) == ("Pending", "ConcurrencyLimit")
    assert held["admission"]["position"] == 1
    assert blocked(there, "second")["message"].endswith("at position 1 or earlier in its namespace's queue")
    there.bed.kill_controllers()
    there.bed.start_controllers()
    there.await_(lambda: status(there, "second").get("phase") == "Succeeded", "its turn", seconds=40)
    ended = status(there, "second")
    assert ended["admission"]["phase"] == "Admitted"
    assert blocked(there, "second")["status"] == "False"
    assert ended["startedAt"] >= status(here, "first")["finishedAt"]


def test_a_denied_run_fails_at_once_with_the_reason_and_takes_no_slot(namespaces):
    """Nothing is created for it, and others continue."""
    here, _ = namespaces
    start(here, "greedy", secrets=["root-token"])
    here.await_(lambda: status(here, "greedy").get("phase") == "Failed", "that it is denied")
    assert status(here, "greedy")["reason"] == "SecretBlocked"
    assert here.api.all("Job") == []
    start(here, "unbound", secrets=["mine"])
    here.await_(lambda: status(here, "unbound").get("phase") == "Failed", "that it is denied, too")
    assert status(here, "unbound")["reason"] == "SecretNotBound"
    start(here, "good")
    here.await_(lambda: status(here, "good").get("phase") == "Succeeded", "that a valid one continues")


def test_a_secret_that_a_provider_references_after_admission_is_not_mounted(namespaces):
    """A second attempt waits for the SecretBinding and continues when it exists."""
    here, _ = namespaces
    script = 'echo "got ${KEY:-nothing}"; [ -n "$KEY" ]'
    provider = {"binary": "sh", "argsTemplate": ["-c", script], "workload": {"image": IMAGE}}
    here.api.create("AgentProvider", "shifty", provider | {"argsTemplate": ["-c", "sleep 3; exit 1"]})
    here.api.create("Agent", "shifty", {"providerRef": {"name": "shifty"}, "defaults": {"retryLimit": 1}})
    here.api.create("Secret", "not-mine", data={"key": "czNjcmV0LW9uZQ=="})
    start(here, "run", "shifty")
    here.await_(lambda: status(here, "run").get("phase") == "Running", "the first attempt")
    stolen = [{"name": "KEY", "secretName": "not-mine", "key": "key"}]
    here.api.merge("AgentProvider", "shifty", {"spec": provider | {"secretEnv": stolen}})
    here.await_(
        lambda: status(here, "run").get("reason") == "SecretNotBound", "that the next one is held back"
    )
    assert len(here.api.all("Job")) == 1
    subject = {"kind": "Agent", "name": "shifty"}
    here.api.create("SecretBinding", "late", {"subjects": [subject], "allowedSecrets": ["not-mine"]})
    here.await_(lambda: status(here, "run").get("phase") == "Succeeded", "that it continues", seconds=60)


def test_a_namespace_does_not_wait_behind_another_namespaces_queue(namespaces):
    """Ten wait in one namespace; the run of the other starts second or third, not eleventh."""
    flooded, quiet = namespaces
    for number in range(10):
        start(flooded, f"flood-{number}")
    start(quiet, "lone")
    quiet.await_(lambda: status(quiet, "lone").get("phase") == "Succeeded", "the lone one", seconds=60)
    time.sleep(0.1)
    ended = [item for item in flooded.api.all("AgentRun") if (item["status"].get("phase")) == "Succeeded"]
    assert len(ended) <= 5
