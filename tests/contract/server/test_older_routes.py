"""Routes of the older system about agent runs: repeated, marked, shown as objects, and told of when they end."""

import pytest

from contract.server.conftest import HERE

AGENTS = "agents.proompteng.ai/v1alpha1"
OBJECTS = f"/apis/{AGENTS}/namespaces/{HERE}"
ORDER = {
    "namespace": HERE,
    "agentRef": {"name": "codex"},
    "implementation": {"inline": {"text": "mend it", "summary": "mending"}},
    "runtime": {"type": "job"},
    "parameters": {"runId": "run-7"},
}


@pytest.fixture(scope="module")
def parent(plane):
    """An AgentRun that has ended."""
    agent = {
        "apiVersion": AGENTS,
        "kind": "Agent",
        "metadata": {"name": "codex"},
        "spec": {"providerRef": {"name": "p"}},
    }
    plane.api("POST", f"{OBJECTS}/agents", agent)
    made = plane.face.ask("POST", "/v1/agent-runs", ORDER, Idempotency_Key="parent")
    assert made.status == 201, made.body
    return made.json["resource"]


def end(plane, name, phase="Failed"):
    status = {"status": {"phase": phase, "finishedAt": "2026-01-01T00:00:00Z"}}
    path = f"{OBJECTS}/agentruns/{name}/status"
    return plane.api("PATCH", path, status, "application/merge-patch+json")


@pytest.mark.rule("DAG-16")
def test_a_rerun_is_a_new_run_made_once_for_each_attempt(plane, parent):
    """Of an ended run only; with the same task or another; the second request answers what the first one made."""
    meta = parent["metadata"]
    path = f"/v1/agent-runs/{meta['uid']}/reruns"
    early = plane.face.ask("POST", path, {"namespace": HERE, "attempt": 1})
    assert (early.status, early.json["ok"]) == (409, False)
    end(plane, meta["name"])
    first = plane.face.ask("POST", path, {"namespace": HERE, "attempt": 1})
    again = plane.face.ask("POST", path, {"namespace": HERE, "attempt": 1})
    assert (first.status, again.status, again.json["idempotent"]) == (201, 200, True)
    assert again.json["agentRun"]["id"] == first.json["agentRun"]["id"] != meta["uid"]
    made = first.json["resource"]
    assert made["spec"]["implementation"] == parent["spec"]["implementation"]
    assert made["spec"]["parameters"] == {"runId": "run-7"}
    assert made["metadata"]["annotations"]["jangar.proompteng.ai/rerun-of"] == meta["uid"]
    other = plane.face.ask("POST", path, {"namespace": HERE, "attempt": 2, "prompt": "mend it well"})
    assert other.json["resource"]["spec"]["implementation"]["inline"]["text"] == "mend it well"
    assert other.json["submission"]["attempt"] == 2
    clash = plane.face.ask("POST", path, {"namespace": HERE, "attempt": 2, "prompt": "something else"})
    assert clash.status == 422
    rows = plane.face.get(f"/v1/audit?namespace={HERE}")["items"]
    reported = [(row["action"], row["name"], row["status"]) for row in rows[:2]]
    assert reported == [("rerun-agent-run", meta["uid"], 422), ("rerun-agent-run", meta["uid"], 201)]


def test_labels_and_annotations_are_set_and_taken_away(plane, parent):
    """Those that the controllers work by are refused by name."""
    name = parent["metadata"]["name"]
    path = f"/v1/agent-runs/resources?namespace={HERE}&name={name}"
    body = {"metadata": {"labels": {"team": "a"}}, "annotations": {"note": "seen"}}
    done = plane.face.ask("PATCH", path, body)
    assert (done.status, done.json["kind"]) == (200, "AgentRun")
    assert done.json["resource"]["metadata"]["labels"]["team"] == "a"
    found = plane.face.get(f"/v1/agent-runs/resources?namespace={HERE}&labelSelector=team%3Da")
    assert (found["total"], found["items"][0]["metadata"]["annotations"]["note"]) == (1, "seen")
    gone = plane.face.ask("PATCH", path, {"annotations": {"note": None}})
    assert "note" not in gone.json["resource"]["metadata"]["annotations"]
    ours = plane.face.ask("PATCH", path, {"labels": {"jangar.proompteng.ai/child-uid": "x"}})
    assert (ours.status, "child-uid" in ours.json["detail"]) == (422, True)
    assert plane.face.ask("PATCH", path, {}).status == 400
    assert plane.face.get("/v1/audit")["items"][0]["action"] == "mark-agent-run"


def test_an_end_is_reported_until_its_consumer_has_acknowledged_it(plane, parent):
    """Each consumer for itself; an acknowledgement of something else is refused."""
    meta = end(plane, parent["metadata"]["name"])["metadata"]
    events = f"/v1/agent-runs/terminal-events?namespace={HERE}"
    event = f"{HERE}/{meta['name']}/{meta['uid']}/Failed"

    def reported(consumer, more=""):
        found = plane.face.get(f"{events}&consumer={consumer}{more}")["events"]
        return {item["eventId"]: item["acked"] for item in found}

    assert reported("one") == reported("two") == {event: False}
    ack = "/v1/agent-runs/terminal-events/ack"
    assert plane.face.ask("POST", ack, {"eventId": f"{event}ly", "consumer": "one"}).status == 409
    done = plane.face.ask("POST", ack, {"eventId": event, "consumer": "one", "outcome": "stored"})
    assert (done.status, done.json["consumer"]) == (200, "one")
    assert (reported("one"), reported("two")) == ({}, {event: False})
    assert reported("one", "&includeAcked=true") == {event: True}
    assert reported("two", "&runIdPrefix=run-8") == {}
    long = "Somebody with a name that is no part of an annotation"
    assert plane.face.ask("POST", ack, {"eventId": event, "consumer": long}).status == 200
    assert reported(long.replace(" ", "%20")) == {}


def test_runs_are_shown_as_objects_and_agents_listed(plane, parent):
    """With the envelopes of the older system; what is not built is refused by name."""
    found = plane.face.get(f"/v1/orchestration-runs/resources?namespace={HERE}&name=live")
    assert (found["kind"], found["resource"]["metadata"]["name"]) == ("OrchestrationRun", "live")
    listed = plane.face.get(f"/v1/agent-runs/resources?namespace={HERE}&phase=Failed&runtime=job&limit=1")
    assert [item["metadata"]["uid"] for item in listed["items"]] == [parent["metadata"]["uid"]]
    agents = plane.face.get(f"/v1/agents?namespace={HERE}")["agents"]
    assert [agent["metadata"]["name"] for agent in agents] == ["codex"]
    refused = plane.face.ask("GET", "/v1/agent-runs/projection-authority")
    assert refused.status == 404
    assert "not implemented" in refused.json["detail"]
