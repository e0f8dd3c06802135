"""Deployments and their kin. Stored with their defaults; nobody runs them here, and creating one says so."""

from typing import Any, ClassVar, Final

from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    immutable,
    invalid,
    label_selector,
    labels_match,
    non_negative,
    not_supported,
    required,
)
from picokube.apiserver.strategies.kind import Kind
from picokube.apiserver.strategies.pods.defaults import default_pod_spec
from picokube.apiserver.strategies.pods.spec import template_problems
from picokube.apiserver.strategies.printing import containers_and_images, created, pairs, selector
from picokube.schema import FieldError

_DAEMON_COUNTS: Final = (
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
)


class Workload(Kind):
    """What they have in common: a template, and a selector of the pods that come of it."""

    plural: ClassVar = "Workloads"
    counted: ClassVar = True

    def default(self, obj: JsonObject) -> None:
        spec = obj["spec"]
        default_pod_spec(spec["template"].setdefault("spec", {}))
        if self.counted and spec.get("replicas") is None:
            spec["replicas"] = 1
        self.default_rollout(spec)

    def default_rollout(self, spec: JsonObject) -> None:
        """How changes are rolled out."""

    def problems(self, obj: Json) -> list[FieldError]:
        spec = obj["spec"]
        problems = non_negative("spec.replicas", spec.get("replicas"))
        chosen, template = spec.get("selector"), spec["template"]
        if chosen is None:
            problems.append(required("spec.selector"))
        else:
            problems += label_selector("spec.selector", chosen)
            if not chosen:
                problems.append(invalid("spec.selector", chosen, "empty selector is invalid for deployment"))
        found = (template.get("metadata") or {}).get("labels")
        if not labels_match(chosen, found or {}):
            detail = "`selector` does not match template `labels`"
            problems.append(invalid("spec.template.metadata.labels", found, detail))
        problems += template_problems("spec.template", template)
        policy = (template.get("spec") or {}).get("restartPolicy")
        if policy != "Always":
            problems.append(not_supported("spec.template.spec.restartPolicy", policy, ("Always",)))
        return problems

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        kept = immutable("spec.selector", obj["spec"].get("selector"), old["spec"].get("selector"))
        return [*self.problems(obj), *kept]

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        del obj
        return [f"nobody runs {self.plural} on this server; it is stored only"] if old is None else []


class Deployment(Workload):
    """A deployment."""

    plural: ClassVar = "Deployments"

    def default_rollout(self, spec: JsonObject) -> None:
        strategy = spec.setdefault("strategy", {})
        strategy.setdefault("type", "RollingUpdate")
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", "25%")
            rolling.setdefault("maxSurge", "25%")
        spec.setdefault("revisionHistoryLimit", 10)
        spec.setdefault("progressDeadlineSeconds", 600)

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        return [
            f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
            status.get("updatedReplicas", 0),
            status.get("availableReplicas", 0),
            created(obj),
            *containers_and_images(spec.get("template") or {}),
            selector(spec.get("selector")),
        ]


class ReplicaSet(Workload):
    """A replica set."""

    plural: ClassVar = "ReplicaSets"

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        return [
            spec.get("replicas", 0),
            status.get("replicas", 0),
            status.get("readyReplicas", 0),
            created(obj),
            *containers_and_images(spec.get("template") or {}),
            selector(spec.get("selector")),
        ]


class ReplicationController(Workload):
    """The older replica set: its selector is a map of labels."""

    plural: ClassVar = "ReplicationControllers"

    def default(self, obj: JsonObject) -> None:
        spec = obj["spec"]
        template = spec.get("template")
        if template is not None:
            labels = (template.get("metadata") or {}).get("labels")
            if labels and not spec.get("selector"):
                spec["selector"] = dict(labels)
            if labels and not obj["metadata"].get("labels"):
                obj["metadata"]["labels"] = dict(labels)
            default_pod_spec(template.setdefault("spec", {}))
        if spec.get("replicas") is None:
            spec["replicas"] = 1

    def problems(self, obj: Json) -> list[FieldError]:
        spec = obj["spec"]
        chosen, template = spec.get("selector") or {}, spec.get("template")
        problems = non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
        if not chosen:
            problems.append(required("spec.selector"))
        problems += non_negative("spec.replicas", spec.get("replicas"))
        if template is None:
            return [*problems, required("spec.template")]
        found = (template.get("metadata") or {}).get("labels")
        if chosen and not labels_match({"matchLabels": chosen}, found or {}):
            detail = "`selector` does not match template `labels`"
            problems.append(invalid("spec.template.metadata.labels", found, detail))
        problems += template_problems("spec.template", template)
        policy = (template.get("spec") or {}).get("restartPolicy")
        if policy != "Always":
            problems.append(not_supported("spec.template.spec.restartPolicy", policy, ("Always",)))
        return problems

    def update_problems(self, obj: Json, old: Json) -> list[FieldError]:
        del old
        return self.problems(obj)

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        return [
            spec.get("replicas", 0),
            status.get("replicas", 0),
            status.get("readyReplicas", 0),
            created(obj),
            *containers_and_images(spec.get("template") or {}),
            pairs(spec.get("selector")),
        ]


class StatefulSet(Workload):
    """A stateful set."""

    plural: ClassVar = "StatefulSets"

    def default_rollout(self, spec: JsonObject) -> None:
        spec.setdefault("podManagementPolicy", "OrderedReady")
        strategy = spec.setdefault("updateStrategy", {})
        strategy.setdefault("type", "RollingUpdate")
        if strategy["type"] == "RollingUpdate":
            strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)
        policy = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
        policy.setdefault("whenDeleted", "Retain")
        policy.setdefault("whenScaled", "Retain")
        spec.setdefault("revisionHistoryLimit", 10)
        for claim in spec.get("volumeClaimTemplates") or ():
            claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"
            claim["spec"].setdefault("volumeMode", "Filesystem")
            claim["status"].setdefault("phase", "Pending")

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
        return [ready, created(obj), *containers_and_images(spec.get("template") or {})]


class DaemonSet(Workload):
    """A daemon set."""

    plural: ClassVar = "DaemonSets"
    counted: ClassVar = False

    def default_rollout(self, spec: JsonObject) -> None:
        strategy = spec.setdefault("updateStrategy", {})
        strategy.setdefault("type", "RollingUpdate")
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", 1)
            rolling.setdefault("maxSurge", 0)
        spec.setdefault("revisionHistoryLimit", 10)

    def reset(self, obj: JsonObject) -> None:
        notes = obj["metadata"].get("annotations") or {}
        obj["metadata"]["annotations"] = notes | {"deprecated.daemonset.template.generation": "1"}

    def table_cells(self, obj: JsonObject) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        template = spec.get("template") or {}
        return [
            *(status.get(name, 0) for name in _DAEMON_COUNTS),
            pairs((template.get("spec") or {}).get("nodeSelector")),
            created(obj),
            *containers_and_images(template),
            selector(spec.get("selector")),
        ]
