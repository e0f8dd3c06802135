"""The control plane of a cluster: the Kubernetes API authenticates and authorizes callers."""

import json
import time

import pytest

from contract.server.conftest import GROUP, HERE, SECRET, THERE
from support.every_route import GUARDED, PLACED, address, body_of, wanted

R = f"/v1/namespaces/{HERE}/runs"


@pytest.mark.parametrize("entry", GUARDED, ids=lambda item: item.operation)
def test_a_token_is_required(control_plane, entry):
    """Requests without a token, with an unknown token, or with only a proxy's header are rejected."""
    path, body = address(entry, HERE, "live"), body_of(entry, HERE)
    for headers in (
        {},
        {"Authorization": "Bearer made-up"},
        {"Authorization": "Basic YTpi"},
        {"X_Forwarded_User": "admin"},
        {"X_Forwarded_User": "admin", "X_Jangar_Proxy_Secret": "guessed"},
        {"X_Forwarded_User": "system:admin", "X_Jangar_Proxy_Secret": SECRET},
    ):
        answer = control_plane.http.request(entry.method, path, body, token=None, **headers)
        assert answer.status == 401, (headers, answer.body)
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("entry", PLACED, ids=lambda item: item.operation)
def test_callers_cannot_access_other_namespaces(control_plane, entry):
    """A user with all permissions in one namespace gets the missing permission for the other."""
    path, body = address(entry, THERE, "live"), body_of(entry, THERE)
    answer = control_plane.http.request(
        entry.method, path, body, token=control_plane.tokens["ann"], Idempotency_Key="k"
    )
    assert answer.status == 403, answer.body
    assert wanted(entry) in answer.json["detail"]


def test_lists_show_live_and_past_runs_that_the_caller_may_read(control_plane):
    """All for the administrator, the team's runs for a member, and an error without permissions."""

    def names(token):
        items = control_plane.http.get("/v1/runs", token=token)["items"]
        return {
            (item["namespace"], item["name"], item["live"])
            for item in items
            if item["name"] in {"live", "old"}
        }

    own = {(HERE, "live", True), (HERE, "old", False)}
    assert names(control_plane.server.token) == own | {(THERE, "live", True), (THERE, "old", False)}
    assert names(control_plane.tokens["ann"]) == own
    assert control_plane.http.request("GET", "/v1/runs", token=control_plane.tokens["eve"]).status == 403
    assert control_plane.http.get("/v1/summary", token=control_plane.tokens["eve"])["total"] == 0
    me = control_plane.http.get("/v1/me", token=control_plane.tokens["ann"])
    assert me["name"] == f"system:serviceaccount:{HERE}:ann"


def test_a_change_is_made_with_the_callers_own_token(control_plane):
    """The API's field managers and the audit trail record it."""
    ann = control_plane.tokens["ann"]
    order = {"definition": {"steps": [{"name": "a", "kind": "ToolRun", "toolRef": {"name": "x"}}]}}
    made = control_plane.http.request("POST", R, order, token=ann, Idempotency_Key="of-ann")
    assert made.status == 201, made.body
    run = made.json["run"]
    assert run["createdBy"] == f"system:serviceaccount:{HERE}:ann"
    assert control_plane.http.request("POST", R, order, token=ann, Idempotency_Key="of-ann").status == 200
    name = run["name"]
    assert control_plane.http.request("POST", f"{R}/{name}/suspend", token=ann).json["changed"] is True
    control_plane.http.request("POST", f"{R}/{name}/cancel", token=control_plane.tokens["eve"])
    rows = control_plane.http.get("/v1/audit", token=ann)["items"]
    reported = [(row["action"], row["actor"].rpartition(":")[2], row["status"]) for row in rows[:4]]
    assert reported == [
        ("cancel-run", "eve", 403),
        ("suspend-run", "ann", 200),
        ("submit-run", "ann", 200),
        ("submit-run", "ann", 201),
    ]


def test_revoked_permissions_take_effect_within_seconds(control_plane):
    """Authorization results are cached for at most ten seconds."""
    token = control_plane.tokens["ann"]
    bound = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{HERE}/rolebindings"
    assert control_plane.http.request("GET", f"{R}/live", token=token).status == 200
    kept = control_plane.api("GET", f"{bound}/runs")
    control_plane.api("DELETE", f"{bound}/runs")
    try:
        deadline = time.monotonic() + 15
        while control_plane.http.request("GET", f"{R}/live", token=token).status != 403:
            assert time.monotonic() < deadline
            time.sleep(0.5)
    finally:
        again = {name: kept[name] for name in ("roleRef", "subjects")} | {"metadata": {"name": "runs"}}
        control_plane.api("POST", bound, again)
        deadline = time.monotonic() + 15
        while control_plane.http.request("GET", f"{R}/live", token=token).status != 200:
            assert time.monotonic() < deadline
            time.sleep(0.5)


def test_a_user_of_a_trusted_proxy_is_impersonated(control_plane):
    """With exactly the permissions of their groups; a page of another site cannot use the session."""
    pat = {
        "token": None,
        "X_Forwarded_User": "pat@example.com",
        "X_Forwarded_Groups": "team-a-people",
        "X_Jangar_Proxy_Secret": SECRET,
    }
    assert control_plane.http.get("/v1/me", **pat)["name"] == "pat@example.com"
    assert {item["namespace"] for item in control_plane.http.get("/v1/runs", **pat)["items"]} == {HERE}
    assert control_plane.http.request("GET", f"/v1/namespaces/{THERE}/runs/live", **pat).status == 403
    assert control_plane.http.request("POST", f"{R}/live/suspend", **pat).status == 403
    done = control_plane.http.request("POST", f"{R}/live/suspend", X_Jangar_Request="1", **pat)
    assert (done.status, done.json["changed"]) == (200, True)
    without_groups = pat | {"X_Forwarded_Groups": ""}
    assert control_plane.http.request("GET", "/v1/runs", **without_groups).status == 403


def test_a_token_is_reviewed_for_users_who_may_not_review_themselves(control_plane):
    """Some clusters forbid self reviews: then the control plane reviews the token if it has the permission."""
    role = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:basic-user"
    client = control_plane.server.client()
    kept = client.request("GET", role)
    if not kept.is_success:
        pytest.skip("this API server has no such binding")
    control_plane.api("DELETE", role)
    try:
        accounts = f"/api/v1/namespaces/{HERE}/serviceaccounts"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        fresh = control_plane.api("POST", f"{accounts}/ann/token", body)["status"]["token"]
        deadline = time.monotonic() + 10
        while client_may_review(control_plane, fresh):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert control_plane.http.request("GET", "/v1/me", token=fresh).json["name"].endswith(":ann")
        assert control_plane.http.request("GET", "/v1/me", token=fresh + "x").status == 401
    finally:
        binding = {name: kept.body[name] for name in ("roleRef", "subjects")}
        control_plane.api(
            "POST", role.rpartition("/")[0], binding | {"metadata": {"name": "system:basic-user"}}
        )
        client.close()


def client_may_review(control_plane, token):
    client = control_plane.server.client(token=token)
    try:
        body = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).encode()
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        return client.request("POST", path, body, {"Content-Type": "application/json"}).is_success
    finally:
        client.close()


def test_the_log_contains_no_secret(control_plane):
    """Requests are logged without query and headers; tokens and the proxy's secret appear nowhere."""
    control_plane.http.request("GET", "/v1/runs?q=a-secret-question", token=control_plane.tokens["ann"])
    log = control_plane.process.log.read_text()
    assert "path=/v1/runs status=200" in log
    for secret in (*control_plane.tokens.values(), control_plane.server.token, SECRET, "a-secret-question"):
        assert secret not in log


def test_the_environment_is_reported(control_plane):
    """Served kinds, runtimes, history."""
    reported = control_plane.http.get("/v1/control-plane/status", token=control_plane.tokens["ann"])
    assert reported["history"] == "well"
    assert all(crd["served"] for crd in reported["crds"])
    assert {runtime["name"] for runtime in reported["runtimes"] if runtime["available"]} == {
        "job",
        "workflow",
    }


def test_a_stream_interrupted_by_a_restart_starts_again(control_plane):
    """The last test: the restarted process does not know earlier positions, and reports that."""
    position = control_plane.http.get("/v1/runs")["position"]
    control_plane.restart()
    with control_plane.http.events(
        "/v1/watch", token=control_plane.server.token, Last_Event_ID=position
    ) as events:
        assert [next(events)[0], next(events)[0]] == ["hello", "reset"]
    patch = {"spec": {"suspend": True}}
    with control_plane.http.events("/v1/watch", token=control_plane.server.token) as events:
        assert next(events)[0] == "hello"
        path = f"/apis/{GROUP}/v1alpha1/namespaces/{THERE}/orchestrationruns/live"
        control_plane.api("PATCH", path, patch, "application/merge-patch+json")
        name, _, row = next(events)
        assert (name, row["name"], row["suspended"]) == ("run", "live", True)
