"""Minimal valid objects for the cases, and their paths."""

from typing import Any

from contract.kubernetes_api.standard_kinds import GROUP

CORE = "/api/v1/namespaces/{ns}"
BATCH = "/apis/batch/v1/namespaces/{ns}"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
CUSTOM = f"/apis/{GROUP}/v1/namespaces/{{ns}}"

CONFIG_MAPS = f"{CORE}/configmaps"
SECRETS = f"{CORE}/secrets"
PODS = f"{CORE}/pods"
SERVICES = f"{CORE}/services"
ACCOUNTS = f"{CORE}/serviceaccounts"
CLAIMS = f"{CORE}/persistentvolumeclaims"
EVENTS = f"{CORE}/events"
JOBS = f"{BATCH}/jobs"
CRON_JOBS = f"{BATCH}/cronjobs"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
WIDGETS = f"{CUSTOM}/widgets"
GAUGES = f"{CUSTOM}/gauges"
RULES = f"{CUSTOM}/rules"
GADGETS = f"{CUSTOM}/gadgets"
ZONES = f"/apis/{GROUP}/v1/zones"


def meta(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, **more}


def config_map(name: str, data: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta(name, **more),
        "data": data or {"a": "1"},
    }


def secret(name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta(name), **fields}


def widget(name: str, spec: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return custom("Widget", name, spec, **more)


def gauge(name: str, **spec: Any) -> dict[str, Any]:
    return custom("Gauge", name, {"whole": 5, **spec})


def rule(name: str, **spec: Any) -> dict[str, Any]:
    return custom("Rule", name, {"limit": 1, **spec})


def custom(
    kind: str, name: str, spec: dict[str, Any] | None = None, *, version: str = "v1", **more: Any
) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": kind,
        "metadata": meta(name, **more),
        "spec": {"color": "red"} if spec is None else spec,
    }


CONTAINER: dict[str, Any] = {"name": "main", "image": "busybox", "command": ["true"]}


def pod_spec(**more: Any) -> dict[str, Any]:
    return {"automountServiceAccountToken": False, "containers": [dict(CONTAINER)], **more}


def pod(name: str, *, spec: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta(name, **more), "spec": spec or pod_spec()}


def job(
    name: str, *, template: dict[str, Any] | None = None, labels: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    inner = template or {"containers": [dict(CONTAINER)], "restartPolicy": "Never"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta(name, **({"labels": labels} if labels else {})),
        "spec": {"template": {"spec": inner}, **spec},
    }


def cron_job(name: str, schedule: str = "*/5 * * * *", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": meta(name),
        "spec": {"schedule": schedule, "jobTemplate": {"spec": job("x")["spec"]}, **spec},
    }


def lease(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta(name), "spec": spec}


def namespace(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta(name, **more)}


def owner_of(obj: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An owner reference to this object."""
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"],
        **more,
    }
