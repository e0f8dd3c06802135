"""The official Python client: typed calls, watches, patches, scale, the dynamic client. Prints what it has verified."""

import sys

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

NAMESPACE = sys.argv[1]


def shown(name: str, *, holds: bool) -> None:
    if not holds:
        sys.exit(f"{name} does not hold")
    print(name)  # noqa: T201 - its report


config.load_kube_config()
core, apps, batch = client.CoreV1Api(), client.AppsV1Api(), client.BatchV1Api()
meta = client.V1ObjectMeta

core.create_namespace(client.V1Namespace(metadata=meta(name=NAMESPACE)))
core.create_namespaced_config_map(NAMESPACE, client.V1ConfigMap(metadata=meta(name="a"), data={"x": "1"}))
core.patch_namespaced_config_map("a", NAMESPACE, {"data": {"y": "2"}})
current = core.read_namespaced_config_map("a", NAMESPACE)
shown("typed objects", holds=current.data == {"x": "1", "y": "2"})

current.metadata.resource_version = "1"
try:
    core.replace_namespaced_config_map("a", NAMESPACE, current)
except ApiException as error:
    shown("conflicts", holds=error.status == 409)

container = client.V1Container(name="main", image="busybox")
template = client.V1PodTemplateSpec(
    metadata=meta(labels={"app": "web"}), spec=client.V1PodSpec(containers=[container])
)
spec = client.V1DeploymentSpec(
    selector=client.V1LabelSelector(match_labels={"app": "web"}), template=template
)
apps.create_namespaced_deployment(NAMESPACE, client.V1Deployment(metadata=meta(name="web"), spec=spec))
apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 4}})
scale = apps.read_namespaced_deployment_scale("web", NAMESPACE)
shown("scale", holds=scale.spec.replicas == 4 and scale.status.selector == "app=web")

target = client.V1CrossVersionObjectReference(api_version="apps/v1", kind="Deployment", name="web")
wanted = client.V1HorizontalPodAutoscaler(
    metadata=meta(name="web"),
    spec=client.V1HorizontalPodAutoscalerSpec(scale_target_ref=target, max_replicas=5, min_replicas=2),
)
client.AutoscalingV1Api().create_namespaced_horizontal_pod_autoscaler(NAMESPACE, wanted)
newer = client.AutoscalingV2Api().read_namespaced_horizontal_pod_autoscaler("web", NAMESPACE)
shown("autoscalers", holds=newer.spec.metrics[0].resource.target.average_utilization == 80)

events = []
for event in watch.Watch().stream(core.list_namespaced_config_map, NAMESPACE, timeout_seconds=20):
    events.append((event["type"], event["object"].metadata.name))
    if ("ADDED", "b") in events:
        break
    if events[-1] == ("ADDED", "a"):
        core.create_namespaced_config_map(NAMESPACE, client.V1ConfigMap(metadata=meta(name="b")))
shown("watches", holds=("ADDED", "b") in events)

anything = dynamic.DynamicClient(client.ApiClient())
maps = anything.resources.get(api_version="v1", kind="ConfigMap")
applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"z": "3"}}
maps.server_side_apply(applied, namespace=NAMESPACE, field_manager="official", force_conflicts=True)
shown("the dynamic client", holds=maps.get("c", namespace=NAMESPACE).data["z"] == "3")

job = client.V1Job(
    metadata=meta(name="work"),
    spec=client.V1JobSpec(
        template=client.V1PodTemplateSpec(
            spec=client.V1PodSpec(restart_policy="Never", containers=[container])
        )
    ),
)
batch.create_namespaced_job(NAMESPACE, job)
shown("jobs", holds=batch.read_namespaced_job("work", NAMESPACE).spec.backoff_limit == 6)

core.delete_namespace(NAMESPACE)
shown("deletion", holds=core.read_namespace(NAMESPACE).status.phase == "Terminating")
