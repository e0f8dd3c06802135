"""Discovery, classic and aggregated, and OpenAPI: only what both servers offer is compared."""

import json

from contract.kubernetes_api.session import DISCOVERY, Session
from contract.kubernetes_api.standard_kinds import CRDS, TEXT, a_crd, an_object

CORE = (
    "configmaps",
    "events",
    "namespaces",
    "namespaces/finalize",
    "namespaces/status",
    "nodes",
    "nodes/status",
    "persistentvolumeclaims",
    "persistentvolumeclaims/status",
    "pods",
    "pods/log",
    "pods/status",
    "secrets",
    "serviceaccounts",
    "services",
    "services/status",
)
GROUPS = (
    "apiextensions.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "batch",
    "conformance.example.com",
    "coordination.k8s.io",
    "events.k8s.io",
    "rbac.authorization.k8s.io",
    "scheduling.k8s.io",
)


def _resources(names):
    def kept(body):
        resources = {resource["name"]: resource for resource in body["resources"]}
        return {**body, "resources": [resources.get(name, f"{name} is missing") for name in names]}

    return kept


def _group(name: str):
    return lambda body: next((group for group in body["groups"] if group["name"] == name), None)


def _aggregated(name: str, only=None):
    def kept(body):
        group = next((item for item in body["items"] if item["metadata"].get("name", "") == name), None)
        if group and only:
            for version in group["versions"]:
                version["resources"] = [r for r in version["resources"] if r["resource"] in only]
        for version in group["versions"] if group and name.endswith("example.com") else ():
            version["resources"].sort(key=lambda resource: resource["resource"])
        return {"kind": body["kind"], "apiVersion": body["apiVersion"], "group": group}

    return kept


def the_core_versions(s: Session):
    s.get("/api")


def the_groups_that_clients_need_are_listed(s: Session):
    for name in GROUPS:
        s.get("/apis", select=_group(name))


def one_group(s: Session):
    for name in GROUPS:
        s.get(f"/apis/{name}")


def core_resources(s: Session):
    s.get("/api/v1", select=_resources(CORE))


def batch_resources(s: Session):
    s.get("/apis/batch/v1", select=_resources(("cronjobs", "cronjobs/status", "jobs", "jobs/status")))


def other_built_in_resources(s: Session):
    s.get("/apis/coordination.k8s.io/v1", select=_resources(("leases",)))
    s.get("/apis/events.k8s.io/v1")
    s.get("/apis/rbac.authorization.k8s.io/v1")
    s.get("/apis/scheduling.k8s.io/v1")
    s.get("/apis/authentication.k8s.io/v1")
    s.get("/apis/authorization.k8s.io/v1")
    s.get("/apis/apiextensions.k8s.io/v1")


def custom_resources_show_names_verbs_and_subresources(s: Session):
    s.get("/apis/conformance.example.com/v1", select=_in_order)
    s.get("/apis/conformance.example.com/v1beta1", select=_in_order)


def _in_order(body):
    """CRDs of a group are listed in the order in which a controller processed them."""
    return {**body, "resources": sorted(body["resources"], key=lambda resource: resource["name"])}


def a_version_that_is_not_served_is_not_found(s: Session):
    s.get("/apis/conformance.example.com/v1alpha1")


def aggregated_discovery_of_core(s: Session):
    s.get("/api", accept=DISCOVERY, select=_aggregated("", [name for name in CORE if "/" not in name]))


def aggregated_discovery_of_built_in_groups(s: Session):
    s.get("/apis", accept=DISCOVERY, select=_aggregated("batch"))
    s.get("/apis", accept=DISCOVERY, select=_aggregated("apiextensions.k8s.io"))
    s.get("/apis", accept=DISCOVERY, select=_aggregated("events.k8s.io"))
    s.get("/apis", accept=DISCOVERY, select=_aggregated("authorization.k8s.io"))


def aggregated_discovery_of_a_custom_group(s: Session):
    s.get("/apis", accept=DISCOVERY, select=_aggregated("conformance.example.com"))


def a_client_that_takes_both_gets_the_aggregated_form(s: Session):
    accept = f"{DISCOVERY},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
    s.get("/apis", accept=accept, select=lambda body: [body["kind"], body["apiVersion"]])
    s.get("/api", accept=accept, select=lambda body: [body["kind"], body["apiVersion"]])
    s.get("/apis/batch/v1", accept=accept, select=lambda body: [body["kind"], body["apiVersion"]])
    s.get("/apis", accept="application/json", select=lambda body: [body["kind"], body["apiVersion"]])


def a_new_crd_is_discovered_and_a_deleted_one_forgotten(s: Session):
    group = "{ns}.example.com"
    s.install(
        a_crd(
            "parts",
            "Part",
            {"spec": an_object(a=TEXT)},
            group=group,
            names={"shortNames": ["pt"], "categories": ["all"]},
        )
    )
    s.get("/apis/{ns}.example.com")
    s.get("/apis/{ns}.example.com/v1", select=_without_hash)
    s.get("/apis", accept=DISCOVERY, select=_aggregated(s.filled(group)))
    with s.unrecorded():
        s.delete(f"{CRDS}/parts.{{ns}}.example.com")
    s.gone("/apis/{ns}.example.com/v1")
    s.gone("/apis/{ns}.example.com")


def _without_hash(body):
    """The hash depends on the group's name, which differs in every run."""
    return {**body, "resources": [{**resource, "storageVersionHash": None} for resource in body["resources"]]}


def openapi_has_an_index_by_group(s: Session):
    wanted = ("api/v1", "apis/batch/v1", "apis/conformance.example.com/v1", "apis/apiextensions.k8s.io/v1")

    def reported(text):
        paths = json.loads(text)["paths"]
        starts = {name: f"/openapi/v3/{name}?hash=" for name in wanted}
        return {name: paths[name]["serverRelativeURL"].startswith(start) for name, start in starts.items()}

    s.get("/openapi/v3", select=reported)


def openapi_describes_a_custom_kind(s: Session):
    name = "com.example.conformance.v1.Gadget"

    def shape(body):
        path = body["paths"]["/apis/conformance.example.com/v1/namespaces/{namespace}/gadgets/{name}"]
        return {
            "openapi": body["openapi"],
            "schema": body["components"]["schemas"][name],
            "list": body["components"]["schemas"][f"{name}List"],
            "methods": sorted(path),
            "patch": sorted(p["name"] for p in path["patch"]["parameters"]),
            "kind": path["patch"]["x-kubernetes-group-version-kind"],
            "action": path["patch"]["x-kubernetes-action"],
            "media": sorted(path["patch"]["requestBody"]["content"]),
        }

    s.eventually(
        "/openapi/v3/apis/conformance.example.com/v1",
        lambda a: a.is_success and name in a.body["components"]["schemas"],
        record=False,
    )
    s.get("/openapi/v3/apis/conformance.example.com/v1", select=shape)


def openapi_lists_the_paths_of_a_custom_kind(s: Session):
    s.get(
        "/openapi/v3/apis/conformance.example.com/v1",
        select=lambda body: sorted(path for path in body["paths"] if "widgets" in path),
    )


def openapi_of_an_unknown_group_is_not_found(s: Session):
    s.get("/openapi/v3/apis/nonsense.example.com/v1")


def openapi_of_built_ins_knows_merge_keys(s: Session):
    def merge_keys(body):
        schemas = body["components"]["schemas"]
        reported = {}
        for name in (
            "io.k8s.api.core.v1.PodSpec",
            "io.k8s.api.core.v1.Container",
            "io.k8s.api.core.v1.ServiceSpec",
        ):
            for field, schema in schemas[name]["properties"].items():
                keys = {key: value for key, value in schema.items() if key.startswith("x-kubernetes-")}
                if keys:
                    reported[f"{name}.{field}"] = keys
        return reported

    s.get("/openapi/v3/api/v1", select=merge_keys)


def scaled_kinds_are_discovered(s: Session):
    """D1: ReplicationControllers, autoscalers of both versions, and scale of workloads."""
    s.get("/api/v1", select=_resources(["replicationcontrollers"]))
    s.get("/apis/autoscaling/v1")
    s.get("/apis/autoscaling")
    s.get("/apis/apps/v1", select=_resources(["deployments", "replicasets", "statefulsets"]))


def openapi_v2_describes_kinds(s: Session):
    """D4: definitions and operations for clients that do not know OpenAPI v3."""
    gadget, widget = "com.example.conformance.v1.Gadget", "com.example.conformance.v1.Widget"
    names = (
        gadget,
        f"{gadget}List",
        widget,
        "io.k8s.api.core.v1.ConfigMap",
        "io.k8s.api.autoscaling.v1.Scale",
    )
    paths = {
        "gadget": "/apis/conformance.example.com/v1/namespaces/{namespace}/gadgets/{name}",
        "config map": "/api/v1/namespaces/{namespace}/configmaps/{name}",
        "config maps": "/api/v1/namespaces/{namespace}/configmaps",
        "scale": "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale",
    }

    def shape(body):
        return {
            "swagger": [body["swagger"], body["info"]],
            "definitions": {name: body["definitions"][name] for name in names},
            "merge keys": {
                name: {key: value for key, value in field.items() if key.startswith("x-kubernetes-")}
                for name, field in body["definitions"]["io.k8s.api.core.v1.PodSpec"]["properties"].items()
            },
            "operations": {
                name: {
                    method: _operation(operation)
                    for method, operation in sorted(body["paths"][path].items())
                    if method != "parameters"
                }
                for name, path in paths.items()
            },
        }

    s.eventually("/openapi/v2", lambda a: a.is_success and widget in a.body["definitions"], record=False)
    s.get("/openapi/v2", select=shape)


def _operation(operation):
    return {
        "id": operation["operationId"],
        "kind": operation["x-kubernetes-group-version-kind"],
        "action": operation["x-kubernetes-action"],
        "consumes": sorted(operation.get("consumes") or ()),
        "produces": sorted(operation.get("produces") or ()),
        "dry run": any(parameter.get("name") == "dryRun" for parameter in operation.get("parameters", ())),
        "body": [
            parameter.get("schema")
            for parameter in operation.get("parameters", ())
            if parameter.get("in") == "body"
        ],
        "answers": {code: answer.get("schema") for code, answer in sorted(operation["responses"].items())},
    }
