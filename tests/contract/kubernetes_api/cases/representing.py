"""Tables, metadata only, media types, invalid bodies."""

from contract.kubernetes_api.objects import (
    CONFIG_MAPS,
    CRON_JOBS,
    GAUGES,
    JOBS,
    LEASES,
    PODS,
    SECRETS,
    WIDGETS,
    config_map,
    cron_job,
    gauge,
    job,
    lease,
    pod,
    secret,
    widget,
)
from contract.kubernetes_api.session import PARTIAL, PARTIAL_LIST, TABLE, Session

LIMIT = 3 * 1024 * 1024


def _account(s: Session) -> None:
    s.eventually(
        "/api/v1/namespaces/{ns}/serviceaccounts/default", lambda answer: answer.is_success, record=False
    )


def a_table_of_custom_resources_has_printer_columns(s: Session):
    spec = {"color": "red", "price": 2.5, "enabled": True, "ports": [{"name": "web"}]}
    with s.unrecorded():
        s.post(WIDGETS, widget("a", spec))
        s.post(WIDGETS, widget("b", {}))
        s.merge(f"{WIDGETS}/a/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    s.get(WIDGETS, accept=TABLE)
    s.get(f"{WIDGETS}/a", accept=TABLE)


def a_table_of_a_kind_without_columns_shows_name_and_age(s: Session):
    with s.unrecorded():
        s.post(GAUGES, gauge("a"))
    s.get(GAUGES, accept=TABLE)


def an_empty_table_has_columns(s: Session):
    s.get(WIDGETS, accept=TABLE)
    s.get(CONFIG_MAPS, accept=TABLE)


def a_table_can_carry_whole_objects_or_none(s: Session):
    with s.unrecorded():
        s.post(WIDGETS, widget("a"))
    s.get(f"{WIDGETS}?includeObject=Object", accept=TABLE)
    s.get(f"{WIDGETS}?includeObject=None", accept=TABLE)
    s.get(f"{WIDGETS}?includeObject=Some", accept=TABLE)


def a_table_has_pages(s: Session):
    with s.unrecorded():
        for name in ("a", "b", "c"):
            s.post(WIDGETS, widget(name))
    page = s.get(f"{WIDGETS}?limit=2", accept=TABLE).body
    s.get(f"{WIDGETS}?limit=2&continue={page['metadata']['continue']}", accept=TABLE)


def tables_of_config_maps_and_secrets(s: Session):
    with s.unrecorded():
        s.post(CONFIG_MAPS, config_map("a", {"a": "1", "b": "2"}))
        s.post(SECRETS, secret("a", stringData={"a": "b"}))
    s.get(f"{CONFIG_MAPS}/a", accept=TABLE)
    s.get(f"{SECRETS}/a", accept=TABLE)


def tables_of_jobs_and_cron_jobs(s: Session):
    with s.unrecorded():
        s.post(JOBS, job("a"))
        s.post(JOBS, job("b", suspend=True, parallelism=3, completions=5))
        s.post(CRON_JOBS, cron_job("a"))
    s.get(JOBS, accept=TABLE)
    s.get(CRON_JOBS, accept=TABLE)


def tables_of_pods(s: Session):
    _account(s)
    state = {"name": "main", "image": "busybox", "imageID": "", "ready": False, "restartCount": 2}
    with s.unrecorded():
        for name in ("a", "b", "c"):
            s.post(PODS, pod(name))
        running = {**state, "ready": True, "state": {"running": {"startedAt": "2024-01-01T00:00:00Z"}}}
        s.merge(
            f"{PODS}/b/status",
            {
                "status": {
                    "phase": "Running",
                    "podIP": "10.1.2.3",
                    "containerStatuses": [running],
                    "conditions": [{"type": "Ready", "status": "True"}],
                }
            },
        )
        ended = {**state, "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}
        s.merge(f"{PODS}/c/status", {"status": {"phase": "Failed", "containerStatuses": [ended]}})
    s.get(PODS, accept=TABLE)


def tables_of_namespaces_leases_and_accounts(s: Session):
    _account(s)
    with s.unrecorded():
        s.post(LEASES, lease("a", holderIdentity="me"))
    s.get("/api/v1/namespaces/{ns}", accept=TABLE)
    s.get(f"{LEASES}/a", accept=TABLE)
    s.get("/api/v1/namespaces/{ns}/serviceaccounts/default", accept=TABLE)


def tables_of_services_claims_and_events(s: Session):
    with s.unrecorded():
        s.post(
            "/api/v1/namespaces/{ns}/services",
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "a"},
                "spec": {"clusterIP": "None", "ports": [{"port": 80}], "selector": {"a": "b"}},
            },
        )
        s.post(
            "/api/v1/namespaces/{ns}/persistentvolumeclaims",
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "a"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            },
        )
        s.post(
            "/api/v1/namespaces/{ns}/events",
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": "a"},
                "reason": "Tested",
                "message": "it works",
                "type": "Normal",
                "involvedObject": {"kind": "Pod", "name": "p", "namespace": "{ns}"},
            },
        )
    for plural in ("services", "persistentvolumeclaims", "events"):
        s.get(f"/api/v1/namespaces/{{ns}}/{plural}/a", accept=TABLE)


def tables_of_roles_and_crds(s: Session):
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}"
    with s.unrecorded():
        s.post(
            f"{rbac}/roles",
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "Role",
                "metadata": {"name": "a"},
                "rules": [],
            },
        )
        s.post(
            f"{rbac}/rolebindings",
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": {"name": "a"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"},
                "subjects": [
                    {"kind": "ServiceAccount", "name": "x", "namespace": "{ns}"},
                    {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"},
                ],
            },
        )
    s.get(f"{rbac}/roles/a", accept=TABLE)
    s.get(f"{rbac}/rolebindings/a", accept=TABLE)
    s.get(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.conformance.example.com",
        accept=TABLE,
        select=lambda body: {**body, "rows": [{**row, "object": None} for row in body["rows"]]},
    )


def a_table_of_a_refusal_is_a_status(s: Session):
    s.get(f"{WIDGETS}/none", accept=TABLE)


def the_first_acceptable_type_wins(s: Session):
    with s.unrecorded():
        s.post(WIDGETS, widget("a"))
    s.get(f"{WIDGETS}/a", accept=f"{TABLE},application/json", select=lambda body: body["kind"])
    s.get(
        f"{WIDGETS}/a",
        accept=f"application/json;as=Table;v=v9;g=meta.k8s.io,{TABLE}",
        select=lambda body: body["kind"],
    )
    s.get(f"{WIDGETS}/a", accept=f"text/html,{TABLE},application/json", select=lambda body: body["kind"])
    s.get(f"{WIDGETS}/a", accept="text/html,*/*", select=lambda body: body["kind"])


def metadata_alone_of_an_object_and_of_a_list(s: Session):
    with s.unrecorded():
        s.post(WIDGETS, widget("a"))
        s.post(CONFIG_MAPS, config_map("a"))
    for path in (WIDGETS, CONFIG_MAPS):
        s.get(f"{path}/a", accept=PARTIAL)
        s.get(path, accept=PARTIAL_LIST)


def metadata_of_a_list_needs_the_list_kind(s: Session):
    s.get(WIDGETS, accept=PARTIAL)
    s.get(CONFIG_MAPS, accept=PARTIAL)
    with s.unrecorded():
        s.post(WIDGETS, widget("a"))
    s.get(f"{WIDGETS}/a", accept=PARTIAL_LIST)


def writes_can_be_answered_with_metadata_or_a_table(s: Session):
    s.post(WIDGETS, widget("a"), accept=PARTIAL)
    s.merge(f"{WIDGETS}/a", {"spec": {"title": "x"}}, accept=TABLE)


def an_unknown_media_type_is_not_acceptable(s: Session):
    with s.unrecorded():
        s.post(WIDGETS, widget("a"))
        s.post(CONFIG_MAPS, config_map("a"))
    for accept in ("text/html", "application/xml", "application/json;as=Nonsense;v=v1;g=meta.k8s.io"):
        s.get(f"{WIDGETS}/a", accept=accept)
        s.get(f"{CONFIG_MAPS}/a", accept=accept)


def protobuf_falls_back_to_json_for_custom_resources(s: Session):
    with s.unrecorded():
        s.post(WIDGETS, widget("a"))
    s.get(
        f"{WIDGETS}/a",
        accept="application/vnd.kubernetes.protobuf,application/json",
        select=lambda body: body["kind"],
    )


def yaml_can_be_answered(s: Session):
    with s.unrecorded():
        s.post(CONFIG_MAPS, config_map("a"))
    s.get(f"{CONFIG_MAPS}/a", accept="application/yaml", select=lambda text: text.splitlines()[:6])


def yaml_can_be_sent(s: Session):
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: '1'\n"
    s.post(CONFIG_MAPS, text, media="application/yaml")
    text = "apiVersion: conformance.example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {color: red}\n"
    s.post(WIDGETS, text, media="application/yaml")
    s.post(CONFIG_MAPS, "a: [b", media="application/yaml")


def a_missing_content_type_is_json(s: Session):
    s.post(CONFIG_MAPS, config_map("a"), media=None)
    s.post(WIDGETS, widget("a"), media=None)


def an_unknown_content_type_is_unsupported(s: Session):
    s.post(CONFIG_MAPS, config_map("a"), media="text/plain")
    s.post(WIDGETS, widget("a"), media="text/plain")
    s.put(f"{CONFIG_MAPS}/a", config_map("a"), media="application/xml")


def content_type_parameters_are_accepted(s: Session):
    s.post(
        CONFIG_MAPS,
        config_map("a"),
        media="application/json; charset=utf-8",
        select=lambda body: body["kind"],
    )
    s.post(CONFIG_MAPS, config_map("b"), media="nonsense/;;")


def bad_json_is_a_bad_request(s: Session):
    for path in (CONFIG_MAPS, WIDGETS):
        for text in ("{bad", "", "[]", "null", '"text"', "{}", '{"kind": 5}'):
            s.post(path, text.encode())


def trailing_content_is_refused(s: Session):
    text = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}} x'
    s.post(CONFIG_MAPS, text)
    s.post(CONFIG_MAPS, text.replace(" x", "{}"))


def wrong_types_of_known_fields_are_bad_requests(s: Session):
    s.post(CONFIG_MAPS, {**config_map("a"), "data": ["x"]})
    s.post(CONFIG_MAPS, {**config_map("a"), "data": {"a": 5}})
    s.post(CONFIG_MAPS, {**config_map("a"), "metadata": "x"})
    s.post(CONFIG_MAPS, config_map(5))  # type: ignore[arg-type]
    s.post(WIDGETS, {**widget("a"), "metadata": {"name": 5}})
    s.post(WIDGETS, {**widget("a"), "metadata": "x"})
    s.post(JOBS, job("a", parallelism="two"))
    s.post(JOBS, job("a", parallelism=1.5))
    s.post(JOBS, job("a", parallelism=99999999999))


def a_body_over_three_mebibytes_is_too_large(s: Session):
    s.post(CONFIG_MAPS, config_map("a", {"a": "x" * LIMIT}), shown="<3 MiB and more>")


def data_over_one_mebibyte_is_refused(s: Session):
    short = lambda body: body.get("message", body["kind"])[:200]  # noqa: E731
    s.post(
        CONFIG_MAPS, config_map("a", {"a": "x" * (1024 * 1024 + 1)}), shown="<1 MiB and more>", select=short
    )
    s.post(
        SECRETS,
        secret("a", stringData={"a": "x" * (1024 * 1024 + 1)}),
        shown="<1 MiB and more>",
        select=short,
    )


def compression_is_only_for_clients_that_accept_it(s: Session):
    with s.unrecorded():
        s.post(CONFIG_MAPS, config_map("a", {"a": "x" * 200_000}))
    s.get(f"{CONFIG_MAPS}/a", select=lambda body: len(body["data"]["a"]))
