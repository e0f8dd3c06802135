"""kopf and the official Python client, each in its own process and environment."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from contract.kubernetes_api.session import await_kind
from contract.kubernetes_api.standard_kinds import CRDS, TEXT, a_crd, an_object
from support.api_servers import wait_for
from support.client_environment import clients

pytestmark = pytest.mark.rule("RUN-2")

PROGRAMS = Path(__file__).parent / "programs"
GREETINGS = "/apis/greetings.example.com/v1/namespaces/default/greetings"
EVENTS = "/api/v1/namespaces/default/events"
SECONDS = 180
JSON = {"Content-Type": "application/json"}


def _environment(server):
    return {"PATH": os.environ["PATH"], "HOME": str(server.directory), "KUBECONFIG": str(server.kubeconfig)}


def test_the_official_client_does_its_normal_work(server):
    """Typed calls, conflicts, scale, autoscalers, watches, server-side apply, Jobs, namespaces."""
    ran = subprocess.run(
        [clients() / "bin" / "python", PROGRAMS / "official_client.py", "official"],
        env=_environment(server),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.splitlines() == [
        "typed objects", "conflicts", "scale", "autoscalers", "watches", "the dynamic client", "jobs", "deletion",
    ]  # fmt: skip


@pytest.fixture
def operator(server, tmp_path):
    """`kopf run`, with its kind installed."""
    client = server.client()
    schema = {
        "spec": an_object(name=TEXT),
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    }
    crd = a_crd(
        "greetings",
        "Greeting",
        schema,
        group="greetings.example.com",
        version={"subresources": {"status": {}}},
    )
    assert client.request("POST", CRDS, json.dumps(crd).encode(), JSON).status == 201
    await_kind(client, crd, "v1")
    log_file = tmp_path / "kopf.log"
    with log_file.open("w") as log:
        running = subprocess.Popen(
            [
                clients() / "bin" / "kopf",
                "run",
                "--standalone",
                "-n",
                "default",
                PROGRAMS / "operator_program.py",
            ],
            env=_environment(server),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    yield client, log_file
    running.terminate()
    running.wait(timeout=60)
    client.close()


def test_a_kopf_operator_handles_changes_and_delays_deletion(operator):
    """It watches, patches the status, adds and removes its finalizer, and records Events."""
    client, log_file = operator

    def status():
        return client.request("GET", f"{GREETINGS}/one").body.get("status") or {}

    body = {
        "apiVersion": "greetings.example.com/v1",
        "kind": "Greeting",
        "metadata": {"name": "one"},
        "spec": {"name": "ada"},
    }
    assert client.request("POST", GREETINGS, json.dumps(body).encode(), JSON).status == 201
    wait_for(
        lambda: status().get("answer") == "hello ada", seconds=60, what=f"the answer: {log_file.read_text()}"
    )
    greeting = client.request("GET", f"{GREETINGS}/one").body
    assert greeting["metadata"]["finalizers"] == ["greetings.example.com/kopf"]
    merge = {"Content-Type": "application/merge-patch+json"}
    client.request("PATCH", f"{GREETINGS}/one", json.dumps({"spec": {"name": "bob"}}).encode(), merge)
    wait_for(lambda: status().get("answer") == "hello bob", seconds=60, what="the second answer")
    client.request("DELETE", f"{GREETINGS}/one")
    wait_for(
        lambda: client.request("GET", f"{GREETINGS}/one").status == 404,
        seconds=60,
        what="that the finalizer is removed",
    )
    assert "goodbye bob" in log_file.read_text()
    wait_for(
        lambda: "Answered" in {item["reason"] for item in client.request("GET", EVENTS).body["items"]},
        what="the Event",
    )
