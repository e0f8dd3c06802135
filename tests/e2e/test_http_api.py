"""The HTTP API of the shipped process: authentication, responses, streams."""

import http.client
import json
import re
import ssl

import pytest
import yaml
from pydantic import TypeAdapter

from e2e.laptop_client import LaptopClient
from e2e.laptop_process import LaptopProcess, run, step, tool
from jangar.server.http.routes import ROUTES
from support.api_servers import wait_for
from support.every_route import GUARDED, PLACED, address, body_of, wanted

pytestmark = pytest.mark.xdist_group("laptop")

R = "/v1/namespaces/default/runs"


@pytest.fixture(scope="module")
def laptop(tmp_path_factory):
    process = LaptopProcess(tmp_path_factory.mktemp("http"))
    process.start()
    process.apply(
        tool("say", "echo hello; echo world"),
        tool("wait", "echo waiting; sleep 300"),
        {
            "apiVersion": "orchestration.proompteng.ai/v1alpha1",
            "kind": "Orchestration",
            "metadata": {"name": "greeting"},
            "spec": {"parameters": [{"name": "whom", "required": True}], "steps": [step("say", "say")]},
        },
        run("done", step("say", "say"), step("again", "say", "say")),
        run("slow", step("wait", "wait"), step("after", "say", "wait")),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}},
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "guest", "namespace": "elsewhere"},
        },
    )
    process.until(lambda: process.phase("done") == "Succeeded" and process.phase("slow") == "Running")
    yield process
    process.end()


@pytest.fixture(scope="module")
def client(laptop):
    return LaptopClient(laptop)


@pytest.fixture(scope="module")
def guest(laptop, client):
    """A user whom the Kubernetes API authenticates, without permissions."""
    known = yaml.safe_load((laptop.data / "kubeconfig").read_text())
    server, admin = known["clusters"][0]["cluster"]["server"], known["users"][0]["user"]["token"]
    # The certificate was created moments ago on this machine.
    trusting = ssl._create_unverified_context()  # noqa: S323
    connection = http.client.HTTPSConnection(server.removeprefix("https://"), context=trusting)
    wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}}
    connection.request(
        "POST",
        "/api/v1/namespaces/elsewhere/serviceaccounts/guest/token",
        json.dumps(wanted),
        {"Authorization": f"Bearer {admin}", "Content-Type": "application/json"},
    )
    made = json.load(connection.getresponse())
    connection.close()
    return made["status"]["token"]


@pytest.mark.parametrize("entry", GUARDED, ids=lambda item: item.operation)
def test_every_route_but_the_public_ones_needs_a_token(client, entry):
    """Unauthenticated requests are rejected; an invalid token counts as none."""
    for token in (None, "made-up"):
        answer = client.request(
            entry.method, address(entry, "default", "slow"), body_of(entry, "default"), token=token
        )
        assert answer.status == 401, answer.body
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("entry", PLACED, ids=lambda item: item.operation)
def test_a_caller_without_permission_gets_its_name(client, guest, entry):
    """A caller of another namespace is rejected by Kubernetes authorization, and the response names the missing
    permission.
    """
    path, body = address(entry, "default", "slow"), body_of(entry, "default")
    answer = client.request(entry.method, path, body, token=guest, Idempotency_Key="k")
    assert answer.status == 403, answer.body
    assert wanted(entry) in answer.json["detail"]


def test_lists_show_what_the_caller_may_read(client, guest):
    """Without the list permission the request is rejected, and a summary counts nothing."""
    assert client.request("GET", "/v1/runs", token=guest).status == 403
    assert client.request("GET", "/v1/runs?namespace=default", token=guest).status == 403
    assert client.request("GET", "/v1/watch", token=guest).status == 403
    assert client.get("/v1/summary", token=guest)["total"] == 0
    assert client.get("/v1/retention", token=guest)["items"] == []


@pytest.mark.parametrize(
    "entry",
    [route for route in ROUTES if route.method == "GET" and route.answers and "agent" not in route.path],
    ids=lambda item: item.operation,
)
def test_responses_match_the_document(client, entry):
    """Responses fit the model in the OpenAPI document."""
    path = address(entry, "default", "slow")
    if entry.path.startswith("/v1/orchestrations/") or "/orchestrations/" in entry.path:
        path = path.replace("slow", "greeting")
    TypeAdapter(entry.answers).validate_json(client.request("GET", path).body)


def test_the_document_contains_every_route(client):
    """/openapi.json is generated from the table."""
    document = client.get("/openapi.json", token=None)
    assert document["openapi"] == "3.1.0"
    reported = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert reported == {(entry.method, entry.path) for entry in ROUTES}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Host": "evil.example"}, 421, id="another-name"),
        pytest.param({"Origin": "https://evil.example"}, 403, id="page-of-another-site"),
        pytest.param({"Sec_Fetch_Site": "cross-site"}, 403, id="browser-says-so"),
    ],
)
def test_pages_of_other_sites_cannot_write(client, headers, status):
    """A page of another site cannot make the browser cancel a run, whatever its host name."""
    answer = client.request("POST", f"{R}/slow/cancel", **headers)
    assert answer.status == status
    assert client.get(f"{R}/slow")["cancelRequested"] is False


def test_a_session_needs_a_header_that_only_our_page_sends(client):
    """With the cookie alone, reads work and writes do not."""
    opened = client.request("GET", f"/?token={client.token}", token=None)
    assert (opened.status, opened.headers["location"]) == (303, "/")
    cookie = opened.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    session = cookie.partition(";")[0]
    assert client.request("GET", "/v1/runs", token=None, Cookie=session).status == 200
    assert client.request("POST", f"{R}/slow/suspend", token=None, Cookie=session).status == 403
    again = client.request("POST", f"{R}/slow/suspend", token=None, Cookie=session, X_Jangar_Request="1")
    assert again.json["changed"] is True
    assert client.request("POST", f"{R}/slow/resume").json["changed"] is True
    assert client.request("GET", "/v1/runs", token=None, Cookie=session + "0").status == 401


def test_the_token_url_redirects_only_to_this_host(client):
    """A path that starts with two slashes is not taken for another host."""
    answer = client.request("GET", f"//evil.example/?token={client.token}", token=None)
    assert answer.headers["location"] == "/evil.example/"


def test_a_body_that_is_too_large_is_not_read(client):
    """413, and 415 for a body that is not JSON."""
    assert client.request("POST", R, b" " * (1024 * 1024 + 1)).status == 413
    assert client.request("POST", R, b"a: b", Content_Type="application/yaml").status == 415
    assert client.request("POST", R, b"{").status == 400


def test_all_mistakes_are_reported_at_once(client):
    """An error names everything that is wrong with a body, and what to do."""
    answer = client.request("POST", R, {"orchestration": "UPPER", "wrong": 1})
    assert answer.status == 422
    assert len(answer.json["problems"]) == 2
    assert answer.json["fix"]


def test_one_key_creates_one_run(client):
    """Two requests with one Idempotency-Key return the same run; a different request with it is rejected."""
    order = {"orchestration": "greeting", "parameters": {"whom": "you"}}
    first = client.request("POST", R, order, Idempotency_Key="order-1")
    second = client.request("POST", R, order, Idempotency_Key="order-1")
    other = client.request("POST", R, order | {"parameters": {"whom": "me"}}, Idempotency_Key="order-1")
    assert (first.status, second.status, other.status) == (201, 200, 422)
    assert first.json["run"]["uid"] == second.json["run"]["uid"]
    assert second.json["repeated"] is True


def test_parameters_are_checked_before_anything_is_created(client):
    """Invalid parameters are rejected with the definition's messages."""
    answer = client.request("POST", R, {"orchestration": "greeting"})
    assert answer.status == 422
    assert "whom" in answer.json["detail"]
    assert client.request("POST", R, {"orchestration": "gone"}).status == 404


def test_pages_of_a_list_have_no_gap_or_overlap(client):
    """Following `next` returns every run once, newest first."""
    whole = [item["uid"] for item in client.get("/v1/runs?limit=1000")["items"]]
    uids, cursor = [], ""
    while cursor is not None:
        page = client.get(f"/v1/runs?limit=1{f'&cursor={cursor}' if cursor else ''}")
        uids += [item["uid"] for item in page["items"]]
        cursor = page["next"]
    assert uids == whole
    assert client.request("GET", "/v1/runs?cursor=nonsense").status == 400


def test_filters_apply_to_the_list(client):
    """By phase, orchestration and text."""
    assert {item["name"] for item in client.get("/v1/runs?phase=Running&q=slow")["items"]} == {"slow"}
    assert [item["name"] for item in client.get("/v1/runs?q=DON")["items"]] == ["done"]
    assert client.request("GET", "/v1/runs?phase=Asleep").status == 400
    assert client.request("GET", "/v1/runs?fase=Running").status == 400


@pytest.mark.rule("RUN-4")
def test_a_step_is_explained_by_the_rules(client):
    """HTTP returns the text of `jangar explain`."""
    uids = client.get(f"{R}/slow/explain?step=after")
    assert uids["steps"][0]["sentence"].startswith("waits for wait (")
    assert client.request("GET", f"{R}/slow/explain?step=wiat").json["detail"].endswith("did you mean wait?")


def test_logs_are_kept_and_followed(client):
    """The whole log, its tail, and line by line; an interrupted reader resumes."""
    assert client.get(f"{R}/done/logs?step=say")["lines"] == ["hello", "world"]
    assert client.get(f"{R}/done/logs?step=say&tail=1")["lines"] == ["world"]
    with client.events(f"{R}/done/logs?step=say&follow=true", Last_Event_ID="1") as events:
        assert [(name, number) for name, number, _ in events] == [("line", "2"), ("end", "2")]
    with client.events(f"{R}/slow/logs?step=wait&follow=true") as events:
        assert next(events) == ("line", "1", {"line": "waiting"})


def test_no_change_is_missed_between_a_list_and_its_watch(client, laptop):
    """A watch from the list's position reports all later changes; a position from before a restart starts again."""
    position = client.get("/v1/runs")["position"]
    client.request("POST", f"{R}/done/resubmit", {"name": "made-between"})
    with client.events("/v1/watch", Last_Event_ID=position) as events:
        reported, number = [], ""
        for event in events:
            name, number, row = event
            reported.append((name, row.get("name")))
            if row.get("name") == "made-between" and row["phase"] == "Succeeded":
                break
    assert ("run", "made-between") in reported
    with client.events("/v1/watch", Last_Event_ID=number) as events:
        assert next(events)[0] == "hello"
    with client.events("/v1/watch", Last_Event_ID="another-7") as events:
        assert [next(events)[0], next(events)[0]] == ["hello", "reset"]


@pytest.mark.rule("GC-4")
def test_planned_deletions_are_reported(client):
    """Ended runs show when they are deleted, and the deciding setting."""
    uids = {item["name"]: item["retention"] for item in client.get("/v1/retention")["items"]}
    assert uids["done"]["runExpiresAt"] > "2026"


def test_the_legacy_routes_keep_their_envelopes(client):
    """`{ok, orchestrationRun, resource}`, 200 and `idempotent` the second time, errors as `{ok: false, error}`."""
    order = {"orchestrationRef": {"name": "greeting"}, "parameters": {"whom": "all"}}
    assert client.request("POST", "/v1/orchestration-runs", order).json["ok"] is False
    made = client.request("POST", "/v1/orchestration-runs", order, Idempotency_Key="older")
    again = client.request("POST", "/v1/orchestration-runs", order, Idempotency_Key="older")
    assert (made.status, again.status, again.json["idempotent"]) == (201, 200, True)
    row = made.json["orchestrationRun"]
    assert row["deliveryId"] == "older"
    assert client.get(f"/v1/runs/{row['id']}")["kind"] == "orchestration"
    listed = client.get("/v1/orchestration-runs?orchestrationId=greeting")["runs"]
    assert row["id"] in {item["id"] for item in listed}
    missing = client.request("GET", "/v1/agents/nobody")
    assert (missing.status, missing.json["ok"]) == (404, False)


def metrics_of(client):
    return client.request("GET", "/metrics", token=None).body.decode()


def test_a_cancel_is_streamed_as_it_happens(client, laptop):
    """The last test: it stops the run that the other tests used, and a stream of the run reports it."""
    with client.events(f"{R}/slow/watch") as events:
        assert next(events)[2]["steps"][0]["phase"] == "Running"
        assert client.request("POST", f"{R}/slow/cancel").json["changed"] is True
        for _, _, reported in events:
            if reported["phase"] == "Cancelled":
                break
    steps = {item["name"]: item["phase"] for item in client.get(f"{R}/slow")["steps"]}
    assert steps["wait"] == "Cancelled"
    assert client.request("POST", f"{R}/slow/cancel").json["changed"] is False
    assert client.request("POST", f"{R}/slow/suspend").status == 409
    # The counter of ended runs is updated slightly after the stream of the run.
    cancelled = 'jangar_runs_ended_total{phase="Cancelled"} 1'
    wait_for(lambda: cancelled in metrics_of(client), seconds=10, what="that the end is counted")
    metrics = metrics_of(client)
    assert 'jangar_runs{phase="Cancelled"}' in metrics
    for name in (
        "jangar_reconcile_duration_seconds_bucket",
        "jangar_workqueue_depth",
        "jangar_workqueue_oldest_age_seconds",
        'jangar_step_duration_seconds_count{kind="ToolRun",phase="Succeeded"}',
        "jangar_cancels_accepted_total 1",
        "jangar_workflow_job_missing_total 0",
        "jangar_informer_watches_total",
        "jangar_runs_watches_total 1",
        "jangar_api_requests_total",
        'jangar_http_requests_total{code="200",method="GET",route="/v1/namespaces/{namespace}/runs/{name}"}',
    ):
        assert name in metrics, name
    assert len(set(helps := re.findall(r"^# HELP (\S+)", metrics, re.MULTILINE))) == len(helps)
    # Only now: deleting a run is also a cancel and would be counted.
    retried = client.request("POST", f"{R}/slow/retry", {"name": "slow-2"})
    assert retried.json["run"]["retryOf"] == "slow"
    assert client.request("DELETE", f"{R}/slow-2").status == 200
