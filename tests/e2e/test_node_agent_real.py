"""The agent's jobs on a real kube-apiserver, which validates every status that the agent writes."""

import json

import pytest

from e2e.node_agent_process import AgentProcess
from support.api_servers import RealApiServer, wait_for
from support.envtest import missing_parts

JOBS = "/apis/batch/v1/namespaces/default/jobs"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    if missing := missing_parts():
        pytest.skip(f"no real API server ({', '.join(missing)} missing): run scripts/envtest/build")
    server = RealApiServer()
    try:
        server.start_controllers()
        directory = tmp_path_factory.mktemp("agent")
        agent = AgentProcess(directory, directory / "data", server.kubeconfig).start()
        client = server.client()
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        wait_for(lambda: client.request("GET", account).is_success, what="the default account")
        yield client
        client.close()
        agent.stop()
        agent.end_containers()
    finally:
        server.stop()


def make(client, name, script, *, policy="Never", **spec):
    container = {"name": "main", "image": "ignored", "command": ["sh", "-c", script]}
    pod = {"restartPolicy": policy, "terminationGracePeriodSeconds": 1, "containers": [container]}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": {"spec": pod}, **spec},
    }
    answer = client.request("POST", JOBS, json.dumps(job).encode(), {"Content-Type": "application/json"})
    assert answer.is_success, answer.content


def patch(client, name, body):
    media = {"Content-Type": "application/merge-patch+json"}
    answer = client.request("PATCH", f"{JOBS}/{name}", json.dumps(body).encode(), media)
    assert answer.is_success, answer.content


def condition(client, name, kind):
    status = client.request("GET", f"{JOBS}/{name}").body["status"]
    conditions = [
        item for item in status.get("conditions") or () if item["type"] == kind and item["status"] == "True"
    ]
    return (conditions[0]["reason"], status) if conditions else None


ENDS = [
    ("ok", "true", {}, "Complete", "CompletionsReached", {"succeeded": 1}),
    (
        "many",
        "true",
        {"completions": 5, "parallelism": 2},
        "Complete",
        "CompletionsReached",
        {"succeeded": 5},
    ),
    (
        "parts",
        "true",
        {"completions": 3, "parallelism": 3, "completionMode": "Indexed"},
        "Complete",
        "CompletionsReached",
        {"succeeded": 3, "completedIndexes": "0-2"},
    ),
    ("bad", "exit 3", {"backoffLimit": 0}, "Failed", "BackoffLimitExceeded", {"failed": 1}),
    ("late", "sleep 100", {"activeDeadlineSeconds": 1}, "Failed", "DeadlineExceeded", {"failed": 1}),
    (
        "restarts",
        "exit 1",
        {"backoffLimit": 1, "policy": "OnFailure"},
        "Failed",
        "BackoffLimitExceeded",
        {"failed": 1},
    ),
]


@pytest.mark.parametrize(
    ("name", "script", "spec", "kind", "reason", "counts"), ENDS, ids=[row[0] for row in ENDS]
)
def test_jobs_end_with_a_status_that_a_real_server_accepts(client, name, script, spec, kind, reason, counts):
    make(client, name, script, **spec)
    conditions, status = wait_for(lambda: condition(client, name, kind), what=f"{name} {kind}")
    assert conditions == reason
    assert {key: status.get(key) for key in counts} == counts


def test_a_job_is_suspended_and_resumed(client):
    make(client, "pause", "trap 'exit 0' TERM; while :; do sleep 0.1; done")

    def active():
        return client.request("GET", f"{JOBS}/pause").body["status"].get("active")

    wait_for(active, what="its pod")
    patch(client, "pause", {"spec": {"suspend": True}})
    wait_for(lambda: condition(client, "pause", "Suspended") and not active(), what="its other events")
    patch(client, "pause", {"spec": {"suspend": False}})
    wait_for(active, what="its next pod")
    patch(client, "pause", {"spec": {"suspend": True}})
    wait_for(lambda: not active(), what="its end")


def test_a_finished_job_is_deleted_after_its_ttl(client):
    make(client, "brief", "true", ttlSecondsAfterFinished=1)
    wait_for(lambda: client.request("GET", f"{JOBS}/brief").status == 404, what="that it is gone")
