"""The agent is killed at random moments: no exit code is lost, nothing runs twice."""

import json
import random
import time

import pytest

from e2e.node_agent_process import AgentProcess
from support.api_servers import EmbeddedApiServer, wait_for

JOBS = 40
KILLS = 8


@pytest.fixture(scope="module")
def server():
    server = EmbeddedApiServer()
    yield server
    server.stop()


@pytest.fixture
def client(server):
    client = server.client()
    yield client
    client.close()


def post(client, path, body):
    answer = client.request("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    assert answer.is_success, answer.content


def items(client, path):
    return client.request("GET", path).body["items"]


def a_job(name, script):
    container = {"name": "main", "image": "ignored", "command": ["sh", "-c", script]}
    pod = {"restartPolicy": "Never", "containers": [container], "terminationGracePeriodSeconds": 1}
    spec = {"backoffLimit": 0, "podReplacementPolicy": "Failed", "template": {"spec": pod}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def _is_reported(status):
    """Whether the job's status reflects its latest spec."""
    return bool(status.get("conditions")) and not status.get("terminating")


def verdict(job):
    for condition in job.get("status", {}).get("conditions") or ():
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            return condition["type"]
    return None


@pytest.mark.rule("RUN-3", "GC-1")
@pytest.mark.parametrize("seed", range(3))
def test_a_killed_agent_loses_no_exit_code_and_starts_nothing_twice(server, client, tmp_path, seed):
    """Work counts itself; exit codes are known in advance; kills happen while pods are created, run and end."""
    rng = random.Random(seed)  # noqa: S311
    namespace = f"crash-{seed}"
    post(client, "/api/v1/namespaces", {"metadata": {"name": namespace}})
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    agent = AgentProcess(server.directory, server.directory / "data", server.kubeconfig).start()
    expected = {f"job-{n}": rng.choice([0, 0, 3, 77]) for n in range(JOBS)}
    names = list(expected)
    try:
        for _ in range(KILLS):
            for name in names[: JOBS // KILLS]:
                script = (
                    f"echo ran >> {tmp_path}/{name}; sleep {rng.random() * 0.6:.2f}; exit {expected[name]}"
                )
                post(client, path, a_job(name, script))
            del names[: JOBS // KILLS]
            time.sleep(0.6 + rng.random() * 0.8)
            agent.kill()
            time.sleep(rng.random() * 0.2)
            agent.start()
        wait_for(
            lambda: all(verdict(job) for job in items(client, path)), seconds=60, what="the end of every job"
        )
    finally:
        agent.stop()
        agent.end_containers()
    verdicts = {job["metadata"]["name"]: verdict(job) for job in items(client, path)}
    assert verdicts == {name: "Failed" if code else "Complete" for name, code in expected.items()}
    pods = items(client, f"/api/v1/namespaces/{namespace}/pods")
    codes = {
        pod["metadata"]["labels"]["job-name"]: pod["status"]["containerStatuses"][0]["state"]["terminated"][
            "exitCode"
        ]
        for pod in pods
    }
    assert len(pods) == JOBS
    assert codes == expected
    assert {name: (tmp_path / name).read_text() for name in expected} == dict.fromkeys(expected, "ran\n")


@pytest.mark.rule("RUN-3")
def test_a_killed_supervisor_fails_what_ran_with_a_reason(server, client, tmp_path):
    """Its pods end as Failed, reported by the surviving agent; their work is not repeated."""
    namespace = "supervisor-crash"
    post(client, "/api/v1/namespaces", {"metadata": {"name": namespace}})
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    agent = AgentProcess(server.directory, server.directory / "data", server.kubeconfig).start()
    try:
        for n in range(5):
            post(client, path, a_job(f"job-{n}", f"echo ran >> {tmp_path}/{n}; sleep 100"))
        wait_for(lambda: len(list(tmp_path.iterdir())) == 5, what="the start of all")
        agent.kill_supervisor()
        wait_for(lambda: all(verdict(job) for job in items(client, path)), what="the end of every job")
        pods = items(client, f"/api/v1/namespaces/{namespace}/pods")
        assert {(pod["status"]["phase"], pod["status"]["reason"]) for pod in pods} == {
            ("Failed", "SupervisorLost")
        }
        assert [item.read_text() for item in tmp_path.iterdir()] == ["ran\n"] * 5
        assert agent.container_processes() == []
    finally:
        agent.stop()
        agent.end_containers()


@pytest.mark.rule("CAN-4", "RUN-3")
def test_the_grace_period_of_a_deleted_pod_ends_without_the_agent(server, client, tmp_path):
    """SIGTERM was sent, the agent is killed: SIGKILL follows on time, and the next agent finishes the deletion."""
    path = "/api/v1/namespaces/default/pods"
    agent = AgentProcess(server.directory, server.directory / "data", server.kubeconfig).start()
    script = (
        f"trap 'echo term >> {tmp_path}/told' TERM; echo up > {tmp_path}/up; while :; do sleep 0.05; done"
    )
    pod = a_job("x", script)["spec"]["template"]["spec"] | {"terminationGracePeriodSeconds": 2}
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    wait_for(lambda: client.request("GET", account).is_success, what="the default account")
    try:
        post(client, path, {"metadata": {"name": "stubborn"}, "spec": pod})
        wait_for((tmp_path / "up").exists, what="its start")
        client.request("DELETE", f"{path}/stubborn")
        wait_for((tmp_path / "told").exists, what="the signal")
        agent.kill()
        wait_for(lambda: agent.container_processes() == [], seconds=10, what="the end of its processes")
        assert client.request("GET", f"{path}/stubborn").is_success
        agent.start()
        wait_for(lambda: client.request("GET", f"{path}/stubborn").status == 404, what="that the pod is gone")
        assert (tmp_path / "told").read_text() == "term\n"
    finally:
        agent.stop()
        agent.end_containers()


def test_a_pod_deleted_without_an_agent_is_ended_by_the_next_agent(server, client, tmp_path):
    """Deleted by force while the agent was down: its process must not run forever."""
    path = "/api/v1/namespaces/default/pods"
    agent = AgentProcess(server.directory, server.directory / "data", server.kubeconfig).start()
    pod = a_job("x", f"echo up > {tmp_path}/up; sleep 1000")["spec"]["template"]["spec"]
    try:
        post(client, path, {"metadata": {"name": "forgotten"}, "spec": pod})
        wait_for((tmp_path / "up").exists, what="its start")
        agent.kill()
        client.request("DELETE", f"{path}/forgotten?gracePeriodSeconds=0")
        assert client.request("GET", f"{path}/forgotten").status == 404
        agent.start()
        wait_for(lambda: agent.container_processes() == [], what="the end of its process")
    finally:
        agent.stop()
        agent.end_containers()


@pytest.mark.rule("RUN-3")
@pytest.mark.parametrize("seed", range(2))
def test_an_agent_killed_while_jobs_are_suspended_counts_none_of_them_as_failed(
    server, client, tmp_path, seed
):
    """Work gets SIGTERM before its pod is deleted, and its job must not count that as a failure."""
    rng = random.Random(seed)  # noqa: S311
    namespace = f"suspended-{seed}"
    post(client, "/api/v1/namespaces", {"metadata": {"name": namespace}})
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    agent = AgentProcess(server.directory, server.directory / "data", server.kubeconfig).start()
    names = [f"job-{n}" for n in range(16)]
    try:
        for name in names:
            post(client, path, a_job(name, f"echo ran >> {tmp_path}/{name}; sleep 600"))
        wait_for(lambda: all((tmp_path / name).exists() for name in names), seconds=60)
        kill_after = rng.randrange(len(names))
        for number, name in enumerate(names):
            patch = {"Content-Type": "application/merge-patch+json"}
            answer = client.request("PATCH", f"{path}/{name}", b'{"spec":{"suspend":true}}', patch)
            assert answer.is_success, answer.content
            if number == kill_after:
                time.sleep(rng.random() * 0.1)
                agent.kill()
        agent.start()
        pods = f"/api/v1/namespaces/{namespace}/pods"
        wait_for(lambda: not items(client, pods), seconds=60)
        wait_for(lambda: all(_is_reported(job["status"]) for job in items(client, path)), seconds=30)
        for job in items(client, path):
            status = job["status"]
            assert [condition["type"] for condition in status["conditions"]] == ["Suspended"], status
            assert not status.get("failed"), status
            assert not status.get("uncountedTerminatedPods"), status
        assert all((tmp_path / name).read_text() == "ran\n" for name in names)
    finally:
        agent.stop()
