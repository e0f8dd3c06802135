"""A real API server that enforces Pod Security `restricted` accepts the pods of all attacker-made AgentRuns."""

import json
from collections import Counter

import pytest

from contract.engine.engine_api import Api
from support.api_servers import RealApiServer
from support.envtest import missing_parts
from support.hostile_agents import attacked, attacks
from support.proving import FULL, prove

TRIALS = 1000 if FULL else 100
PASSED_ON = (
    "nodeSelector", "tolerations", "topologySpreadConstraints", "affinity", "priorityClassName", "schedulerName",
    "resources", "runtimeClassName",
)  # fmt: skip
"""Pod fields of a run that are passed through: no server accepts a pod if they are malformed."""
ENFORCED = {f"pod-security.kubernetes.io/{what}": "restricted" for what in ("enforce", "warn", "audit")}


@pytest.fixture(scope="module")
def api():
    if missing := missing_parts():
        pytest.skip(f"no {', '.join(missing)} (make envtest)")
    server = RealApiServer()
    client = server.client()
    Api(client).create("Namespace", "ci", metadata={"name": "ci", "labels": ENFORCED})
    made = Api(client, "ci")
    for account in ("default", "agents-controllers"):
        made.create("ServiceAccount", account)
    yield made
    client.close()
    server.stop()


def well_formed(attack):
    """The same attack in a form that the server validates completely: otherwise it says nothing about security."""
    run = attack["run"]
    config = {key: value for key, value in run["runtime"]["config"].items() if key not in PASSED_ON}
    config |= {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"node": "any"}}
    if config.get("serviceAccount") != "agents-controllers":
        config.pop("serviceAccount", None)
        config.pop("serviceAccountName", None)
    config["imagePullSecrets"] = ["admin"]
    volumes = [
        item | {"name": f"v{number}", "mountPath": f"/mnt/{number}", "claimName": "claim", "medium": ""}
        for number, item in enumerate(run["workload"]["volumes"])
    ]
    if volumes:
        volumes[0]["mountPath"] = "/var/run/secrets/kubernetes.io/serviceaccount"
    provider = {key: value for key, value in attack["provider"].items() if key != "workload"}
    runtime, workload = {"type": "job", "config": config}, {"volumes": volumes, "image": "any"}
    return attack | {"run": run | {"runtime": runtime, "workload": workload}, "provider": provider}


def test_a_server_that_enforces_restricted_accepts_the_pod_of_every_attack(api, record_property):
    """Without warnings; the test verifies that the server rejects a pod with more privileges."""
    answers = Counter()

    def holds(attack):
        job = attacked(well_formed(attack)).job
        if job is None:
            answers["rejected by us"] += 1
            return
        status, message = dry_run(api, job["spec"]["template"])
        answers[status] += 1
        assert status == 201, message
        assert "PodSecurity" not in message

    prove(record_property, "security: Pod Security restricted", TRIALS, attacks, holds, bed="R")
    assert answers[201] > TRIALS / 2, answers


def test_the_server_rejects_unrestricted_pods(api):
    """Otherwise its acceptance would mean nothing."""
    container = {"name": "c", "image": "any"}
    status, message = dry_run(api, {"metadata": {}, "spec": {"containers": [container], "hostNetwork": True}})
    assert status == 403
    assert "violates PodSecurity" in message


def dry_run(api, template):
    """The server's response to a dry run of this pod, including warnings."""
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "attack", "labels": template["metadata"].get("labels") or {}},
        "spec": template["spec"],
    }
    path = "/api/v1/namespaces/ci/pods?dryRun=All"
    answer = api._client.request(
        "POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    return answer.status, f"{answer.headers.get('Warning', '')} {answer.content.decode()}"
