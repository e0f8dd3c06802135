"""Scale of built-in workloads, ReplicationControllers, and autoscalers in both their versions."""

from contract.kubernetes_api.objects import CORE
from contract.kubernetes_api.session import APPLY, JSON_PATCH, STRATEGIC, TABLE, Session

APPS = "/apis/apps/v1/namespaces/{ns}"
DEPLOYMENTS = f"{APPS}/deployments"
CONTROLLERS = f"{CORE}/replicationcontrollers"
AUTOSCALERS_V1 = "/apis/autoscaling/v1/namespaces/{ns}/horizontalpodautoscalers"
AUTOSCALERS_V2 = "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers"
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "main", "image": "busybox"}]},
}
SELECTOR = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}


def _workload(kind, name="web", **spec):
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"selector": SELECTOR, "template": TEMPLATE, **spec},
    }


def _controller(name="web", **spec):
    return {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {"name": name},
        "spec": {"selector": {"app": "web"}, "template": TEMPLATE, **spec},
    }


def _scale(name="web", **spec):
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name}, "spec": spec}


def _autoscaler(version="v1", name="web", **spec):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "apiVersion": f"autoscaling/{version}",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name},
        "spec": {"scaleTargetRef": target, "maxReplicas": 3, **spec},
    }


def _replicas(body):
    """An error, or the relevant fields."""
    return (
        body if body["kind"] == "Status" else [body["metadata"].get("generation"), body["spec"]["replicas"]]
    )


def a_deployment_is_scaled_by_its_scale(s: Session):
    with s.unrecorded():
        s.post(DEPLOYMENTS, _workload("Deployment", replicas=2))
    s.get(f"{DEPLOYMENTS}/web/scale")
    s.merge(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 3}})
    s.get(f"{DEPLOYMENTS}/web", select=_replicas)
    s.patch(f"{DEPLOYMENTS}/web/scale", [{"op": "replace", "path": "/spec/replicas", "value": 4}], JSON_PATCH)
    s.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 5}}, STRATEGIC)
    s.put(f"{DEPLOYMENTS}/web/scale", _scale(replicas=0))
    s.put(f"{DEPLOYMENTS}/web/scale", _scale(replicas=6))
    s.get(f"{DEPLOYMENTS}/web", select=_replicas)


def every_workload_with_replicas_has_a_scale(s: Session):
    for kind, plural in (("ReplicaSet", "replicasets"), ("StatefulSet", "statefulsets")):
        with s.unrecorded():
            s.post(f"{APPS}/{plural}", _workload(kind, replicas=1))
        s.get(f"{APPS}/{plural}/web/scale")
        s.merge(f"{APPS}/{plural}/web/scale", {"spec": {"replicas": 2}})
        s.get(f"{APPS}/{plural}/web", select=_replicas)
    with s.unrecorded():
        s.post(CONTROLLERS, _controller(replicas=1))
    s.get(f"{CONTROLLERS}/web/scale")
    s.merge(f"{CONTROLLERS}/web/scale", {"spec": {"replicas": 2}})
    s.get(f"{CONTROLLERS}/web", select=_replicas)


def a_daemon_set_has_no_scale(s: Session):
    s.get(f"{APPS}/daemonsets/web/scale")


def a_scale_is_checked(s: Session):
    with s.unrecorded():
        made = s.post(DEPLOYMENTS, _workload("Deployment", replicas=2)).body
        s.merge(f"{DEPLOYMENTS}/web", {"metadata": {"labels": {"a": "b"}}})
    s.merge(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": -1}})
    s.put(f"{DEPLOYMENTS}/web/scale", _scale(replicas=-1))
    s.put(f"{DEPLOYMENTS}/web/scale", _scale("other", replicas=1))
    s.merge(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": "many"}})
    old = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "spec": {"replicas": 9}}
    s.merge(f"{DEPLOYMENTS}/web/scale", old)
    s.get(f"{DEPLOYMENTS}/other/scale")
    s.merge(f"{DEPLOYMENTS}/other/scale", {"spec": {"replicas": 1}})
    s.put(f"{DEPLOYMENTS}/other/scale", _scale("other", replicas=1))
    s.post(f"{DEPLOYMENTS}/web/scale", _scale(replicas=1))
    s.delete(f"{DEPLOYMENTS}/web/scale")
    s.put(f"{DEPLOYMENTS}/web/scale", _workload("Deployment"))


def the_client_that_scales_owns_the_replicas(s: Session):
    config = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": SELECTOR, "template": TEMPLATE},
    }
    with s.unrecorded():
        s.apply(f"{DEPLOYMENTS}/web", config)

    def owned(body):
        if body["kind"] == "Status":
            return body
        return [
            {name: entry.get(name) for name in ("manager", "operation", "subresource", "apiVersion")}
            | {"replicas": "f:replicas" in entry["fieldsV1"].get("f:spec", {})}
            for entry in body["metadata"].get("managedFields", ())
        ]

    s.merge(f"{DEPLOYMENTS}/web/scale?fieldManager=autoscaler", {"spec": {"replicas": 3}})
    s.get(f"{DEPLOYMENTS}/web", select=owned)
    s.apply(f"{DEPLOYMENTS}/web", config)
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}}
    s.patch(
        f"{DEPLOYMENTS}/web/scale?fieldManager=two", {**scale, "spec": {"replicas": 4}}, APPLY, select=owned
    )
    s.patch(
        f"{DEPLOYMENTS}/web/scale?fieldManager=two&force=true",
        {**scale, "spec": {"replicas": 4}},
        APPLY,
        select=owned,
    )


def a_dry_run_scales_nothing(s: Session):
    with s.unrecorded():
        s.post(DEPLOYMENTS, _workload("Deployment", replicas=2))
    s.merge(f"{DEPLOYMENTS}/web/scale?dryRun=All", {"spec": {"replicas": 3}})
    s.get(f"{DEPLOYMENTS}/web", select=_replicas)


def a_replication_controller_is_filled_with_defaults(s: Session):
    with s.unrecorded():
        s.post(CONTROLLERS, _controller())
        made = {k: v for k, v in _controller("bare").items() if k != "spec"}
        s.post(CONTROLLERS, {**made, "spec": {"template": TEMPLATE}})
    s.get(f"{CONTROLLERS}/web")
    s.get(f"{CONTROLLERS}/bare")
    s.get(CONTROLLERS, accept=TABLE)


def a_replication_controller_is_checked(s: Session):
    s.post(CONTROLLERS, _controller(replicas=-1))
    s.post(CONTROLLERS, _controller(selector={"app": "other"}))
    s.post(CONTROLLERS, _controller(minReadySeconds=-1))
    s.post(CONTROLLERS, {**_controller(), "spec": {"selector": {"app": "web"}}})
    never = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
    s.post(CONTROLLERS, _controller(template=never))


def an_autoscaler_is_one_object_in_both_versions(s: Session):
    with s.unrecorded():
        s.post(AUTOSCALERS_V1, _autoscaler(targetCPUUtilizationPercentage=60, minReplicas=2))
    s.get(f"{AUTOSCALERS_V1}/web")
    s.get(f"{AUTOSCALERS_V2}/web")
    s.merge(f"{AUTOSCALERS_V1}/web", {"spec": {"targetCPUUtilizationPercentage": 70}})
    s.get(f"{AUTOSCALERS_V2}/web", select=lambda body: body["spec"])
    s.merge(f"{AUTOSCALERS_V2}/web", {"spec": {"maxReplicas": 9}}, select=lambda body: body["spec"])
    s.get(f"{AUTOSCALERS_V1}/web", select=lambda body: body["spec"])
    s.get(AUTOSCALERS_V1, accept=TABLE)
    s.get(AUTOSCALERS_V2, accept=TABLE)


def an_autoscaler_has_defaults_in_each_version(s: Session):
    with s.unrecorded():
        s.post(AUTOSCALERS_V1, _autoscaler(name="one"))
        s.post(AUTOSCALERS_V2, _autoscaler("v2", name="two"))
    for name in ("one", "two"):
        s.get(f"{AUTOSCALERS_V1}/{name}", select=lambda body: body["spec"])
        s.get(f"{AUTOSCALERS_V2}/{name}", select=lambda body: body["spec"])


def the_legacy_version_keeps_newer_fields_in_annotations(s: Session):
    memory = {
        "type": "Resource",
        "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "100Mi"}},
    }
    pods = {
        "type": "Pods",
        "pods": {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "5"}},
    }
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 60}}
    with s.unrecorded():
        s.post(AUTOSCALERS_V2, _autoscaler("v2", metrics=[memory, pods], behavior=behavior))
    s.get(f"{AUTOSCALERS_V2}/web")
    s.get(f"{AUTOSCALERS_V1}/web")
    s.merge(f"{AUTOSCALERS_V1}/web", {"spec": {"maxReplicas": 5}})
    s.get(f"{AUTOSCALERS_V2}/web", select=lambda body: [body["spec"], body["metadata"].get("annotations")])


def an_autoscaler_is_checked(s: Session):
    s.post(AUTOSCALERS_V2, _autoscaler("v2", maxReplicas=0))
    s.post(AUTOSCALERS_V2, _autoscaler("v2", minReplicas=5))
    s.post(AUTOSCALERS_V2, _autoscaler("v2", minReplicas=0))
    s.post(AUTOSCALERS_V2, _autoscaler("v2", scaleTargetRef={}))
    s.post(
        AUTOSCALERS_V2, _autoscaler("v2", scaleTargetRef={"kind": "a/b", "name": "..", "apiVersion": "a/b/c"})
    )
    s.post(AUTOSCALERS_V1, _autoscaler(minReplicas=-1, maxReplicas=-2))
    s.post(AUTOSCALERS_V1, _autoscaler(targetCPUUtilizationPercentage=-2))


def metrics_of_an_autoscaler_are_checked(s: Session):
    def tried(*metrics):
        s.post(AUTOSCALERS_V2, _autoscaler("v2", metrics=list(metrics)))

    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    tried({"type": "Resource"})
    tried({"type": "Nonsense"})
    tried({"resource": cpu})
    tried({"type": "Resource", "resource": {"target": {"type": "Utilization"}}})
    tried(
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Much", "averageUtilization": 0}}}
    )
    both = {"type": "Utilization", "averageUtilization": 50, "averageValue": "-1"}
    tried({"type": "Resource", "resource": {"name": "cpu", "target": both}})
    tried(
        {"type": "Resource", "resource": cpu, "pods": {"metric": {"name": "a"}, "target": {"type": "Value"}}}
    )
    tried({"type": "Pods", "pods": {"metric": {}, "target": {"type": "AverageValue"}}})
    tried(
        {
            "type": "Object",
            "object": {"describedObject": {}, "metric": {"name": "a"}, "target": {"type": "Value"}},
        }
    )
    tried(
        {
            "type": "External",
            "external": {
                "metric": {"name": "a"},
                "target": {"type": "Value", "value": "1", "averageValue": "1"},
            },
        }
    )
    tried(
        {"type": "ContainerResource", "containerResource": {"name": "cpu", "target": {"type": "Utilization"}}}
    )


def behavior_of_an_autoscaler_is_checked(s: Session):
    def tried(**behavior):
        s.post(AUTOSCALERS_V2, _autoscaler("v2", behavior=behavior))

    tried(scaleUp={"stabilizationWindowSeconds": -1})
    tried(scaleUp={"stabilizationWindowSeconds": 3601, "selectPolicy": "Some"})
    tried(scaleDown={"policies": [{"type": "Pigs", "value": 0, "periodSeconds": 0}]})
    tried(scaleDown={"policies": [{"type": "Pods", "value": 1, "periodSeconds": 1801}]})
