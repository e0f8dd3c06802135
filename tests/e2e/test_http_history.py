"""Deleted runs over HTTP: in the same list with all their data; audit rows; keys that stay."""

import pytest

from e2e.laptop_client import LaptopClient
from e2e.laptop_process import LaptopProcess, run, step, tool

pytestmark = pytest.mark.xdist_group("laptop")

R = "/v1/namespaces/default/runs"


@pytest.fixture(scope="module")
def laptop(tmp_path_factory):
    """Two runs that are deleted as soon as they have ended, and one that stays."""
    process = LaptopProcess(tmp_path_factory.mktemp("past"))
    process.start()
    outer = run("outer", step("say", "say"), step("fails", "fail", "say"), step("never", "say", "fails"))
    outer["spec"]["ttlSecondsAfterFinished"] = 0
    process.apply(
        tool("say", "echo hello; echo world"),
        tool("fail", "echo oh no; exit 3"),
        {
            "apiVersion": "orchestration.proompteng.ai/v1alpha1",
            "kind": "Orchestration",
            "metadata": {"name": "greeting"},
            "spec": {"steps": [step("say", "say")]},
        },
        outer,
        run("stays", step("say", "say")),
    )
    process.until(lambda: process.jangar("get", "run", "outer").returncode == 4)
    process.until(lambda: process.phase("stays") == "Succeeded")
    yield process
    process.end()


@pytest.fixture(scope="module")
def http(laptop):
    return LaptopClient(laptop)


def test_live_and_past_runs_are_one_list(http):
    """Every run once with its outcome, page by page; filters and text match both."""
    items = {item["name"]: item for item in http.get("/v1/runs")["items"]}
    assert (items["stays"]["live"], items["outer"]["live"]) == (True, False)
    assert (items["outer"]["phase"], items["outer"]["stepsEnded"], items["outer"]["stepsTotal"]) == (
        "Failed",
        3,
        3,
    )
    assert items["outer"]["counts"]["failed"] == 1
    names, cursor = [], ""
    while cursor is not None:
        page = http.get(f"/v1/runs?limit=1{f'&cursor={cursor}' if cursor else ''}")
        assert page["history"] == "well"
        names += [item["name"] for item in page["items"]]
        cursor = page["next"]
    assert sorted(names) == ["outer", "stays"]
    assert [item["name"] for item in http.get("/v1/runs?phase=Failed")["items"]] == ["outer"]
    assert [item["name"] for item in http.get("/v1/runs?q=NONZEROEXIT")["items"]] == ["outer"]
    assert http.get("/v1/runs?namespace=elsewhere")["items"] == []


def test_a_past_run_is_shown_completely(http):
    """Explained steps, graph, timeline, explanation and object, as before its deletion."""
    reported = http.get(f"{R}/outer")
    assert (reported["live"], reported["phase"]) == (False, "Failed")
    steps = {item["name"]: item for item in reported["steps"]}
    assert steps["fails"]["exitCode"] == 3
    assert steps["never"]["sentence"].startswith("skipped: it depends on fails")
    assert [edge["target"] for edge in http.get(f"{R}/outer/graph")["edges"]] == ["fails", "never"]
    assert [bar["step"] for bar in http.get(f"{R}/outer/timeline")["bars"]] == ["say", "fails"]
    assert http.get(f"{R}/outer/explain?step=never")["steps"][0]["reason"] == "DependencyFailed"
    assert http.get(f"{R}/outer/object")["status"]["phase"] == "Failed"
    with http.events(f"{R}/outer/watch") as events:
        assert [name for name, _, _ in events] == ["run", "gone"]


@pytest.mark.rule("GC-6")
def test_logs_and_events_of_a_past_run_are_kept(http, laptop):
    """Also if the files of the tails are gone: the database has them."""
    for path in (laptop.data / "log-tails").rglob("*.log"):
        path.unlink()
    log = http.get(f"{R}/outer/logs?step=fails")
    assert (log["lines"], log["note"]) == (
        ["oh no"],
        "the pod no longer exists; this is the stored tail of its log",
    )
    with http.events(f"{R}/outer/logs?step=say&follow=true") as events:
        assert [data.get("line") for name, _, data in events if name == "line"] == ["hello", "world"]
    reasons = {item["reason"] for item in http.get(f"{R}/outer/events")["items"]}
    assert {"StepFailed", "NonZeroExit"} & reasons


def test_a_past_run_can_be_resubmitted_and_not_retried(http, laptop):
    """Its definition is stored; the results of its steps cannot be reused."""
    refused = http.request("POST", f"{R}/outer/retry", {})
    assert (refused.status, "resubmit" in refused.json["detail"]) == (409, True)
    made = http.request("POST", f"{R}/outer/resubmit", {"name": "once-more"})
    assert (made.status, made.json["run"]["createdBy"]) == (201, "owner")
    assert http.request("POST", f"{R}/outer/cancel").status == 404


def test_a_reused_name_refers_to_two_runs(http, laptop):
    """The live run by its name, the deleted one by its uid."""
    old = http.get(f"{R}/outer")["uid"]
    laptop.apply(run("outer", step("say", "say")))
    laptop.until(lambda: laptop.phase("outer") == "Succeeded")
    laptop.until(lambda: http.get(f"{R}/outer")["phase"] == "Succeeded")
    assert http.get(f"{R}/outer?uid={old}")["phase"] == "Failed"
    assert [item["uid"] for item in http.get("/v1/runs?q=outer")["items"]][-1] == old
    assert http.request("GET", f"{R}/outer?uid=no-such").status == 404


def test_a_key_outlives_its_run(http, laptop):
    """After the run is deleted the same request returns its final state, and a different request is rejected."""
    order = {"orchestration": "greeting"}
    made = http.request("POST", R, order, Idempotency_Key="once")
    name = made.json["run"]["name"]
    laptop.until(lambda: laptop.phase(name) == "Succeeded")
    laptop.done("delete", "run", name, "--wait")
    again = http.request("POST", R, order, Idempotency_Key="once")
    assert (again.status, again.json["repeated"]) == (200, True)
    assert again.json["run"]["uid"] == made.json["run"]["uid"]
    assert http.request("POST", R, order | {"labels": {"a": "b"}}, Idempotency_Key="once").status == 200
    assert (
        http.request("POST", R, order | {"policies": {"failFast": True}}, Idempotency_Key="once").status
        == 422
    )


def test_every_change_leaves_an_audit_row(http):
    """Who, what, on which object, and the response; errors too; newest first."""
    http.request("POST", f"{R}/stays/cancel")
    http.request("DELETE", f"{R}/nothing")
    rows = http.get("/v1/audit?limit=2")
    first, second = rows["items"]
    assert (first["action"], first["name"], first["status"]) == ("delete-run", "nothing", 404)
    assert (second["action"], second["name"], second["status"]) == ("cancel-run", "stays", 200)
    assert second["actor"] == "owner"
    assert second["kind"] == "orchestrationruns"
    earlier = http.get(f"/v1/audit?limit=2&before={rows['next']}")["items"]
    assert all(item["number"] < second["number"] for item in earlier)
    assert http.get("/v1/audit?namespace=elsewhere")["items"] == []
